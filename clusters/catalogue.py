"""The accelerators that the panel knows: what one is called, what its chips are, how a host carries them.

A table in code and not in the database: its rows are facts of hardware that change with a release, and nothing
that a person may edit. Clusters store an accelerator's name.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import ngettext


@dataclass(frozen=True)
class Accelerator:
    """A generation of chips. Sizes are per chip; None where the thing does not exist.

    `chips_per_host`: the numbers of chips that one host may carry; empty: any number.
    `environment`: variables that every rank on it gets.
    """

    name: str
    title: str
    unit: str  # what one "chip" is called to people
    chips_per_host: tuple[int, ...] = ()
    cores_per_chip: int | None = None
    devices_per_chip: int | None = None
    hbm_gib_per_chip: float | None = None
    peak_bf16_tflops_per_chip: float | None = None
    environment: tuple[tuple[str, str], ...] = ()


CATALOGUE: dict[str, Accelerator] = {
    accelerator.name: accelerator
    for accelerator in (
        Accelerator(
            name="cpu",
            title="CPU",
            unit="slot",
            environment=(
                ("PJRT_DEVICE", "CPU"),
                ("TPU_SKIP_MDS_QUERY", "1"),  # without it libtpu asks a metadata server for 30 s a key
            ),
        ),
    )
}


def find(name: str) -> Accelerator | None:
    return CATALOGUE.get(name)


def amount(count: int, accelerator: str) -> str:
    """ "4 chips", "1 slot": in the word that the accelerator's chips have."""
    found = find(accelerator)
    if found and found.unit == "slot":
        return ngettext("%(count)s slot", "%(count)s slots", count) % {"count": count}
    return ngettext("%(count)s chip", "%(count)s chips", count) % {"count": count}
