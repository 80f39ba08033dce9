"""What a rank needs before its command can start: its source in its folder, its runtime built, its output folders there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from agent import notes, sources
from agent.folders import WorkloadFolder
from agent.protocol import AREA_CHECKPOINTS, AREA_OUTPUT, PART_PREPARE, PREPARING, RankReport, Start
from agent.runtimes import Build, Runtimes
from agent.spool_writer import SpoolWriter, now_ms

PREPARE_CAP_BYTES = 64 * 1024**2
COPY_BYTES = 1024**2


class NotReady(Exception):
    """Something is still being made; says what."""


class Failed(Exception):
    """It cannot be made; says why, in the words of who tried."""


class Preparer:
    """Of one host. What takes long is a supervised build (agent/runtimes.py); nothing here waits for one."""

    def __init__(self, files: Path, source_root: Path, runtimes: Runtimes, *, fetch_source: Callable[[str], bytes]) -> None:
        self._files = files
        self._source_root = source_root
        self._runtimes = runtimes
        self._fetch_source = fetch_source

    def claimed(self, folder: WorkloadFolder, start: Start) -> None:
        """Keep what the claim said, without its secrets; the first claim's moment stays."""
        digest = start.runtime["digest"] if start.runtime else ""
        at_ms = (folder.claim() or {}).get("at_ms", now_ms()[0])
        folders = {AREA_OUTPUT: start.output, AREA_CHECKPOINTS: start.checkpoints}
        places = {area: os.fspath(self._place(start, below)) for area, below in folders.items() if below}
        folder.note_claim(
            {
                "rank": start.rank,
                "runtime": digest,
                "output": places.get(AREA_OUTPUT, ""),
                "files": places if start.lists_files else {},
                "at_ms": at_ms,
            }
        )

    def prepare(self, folder: WorkloadFolder, start: Start) -> tuple[Path | None, Path, Path]:
        """(the runtime's programs, the folder for output, the one for checkpoints), all there.

        Raises NotReady while the runtime is built, Failed, OSError, and what asking the panel raises.
        """
        folder.make_rank_folder()
        output = self._place(start, start.output) if start.output else folder.work / "output"
        checkpoints = self._place(start, start.checkpoints) if start.checkpoints else folder.work / "checkpoints"
        for place in (output, checkpoints):
            place.mkdir(parents=True, exist_ok=True)
        if start.source.get("kind") == "archive" and not folder.has_source():
            try:
                sources.provide(self._source_root, start.source["digest"], self._fetch_source, folder.work)
            except sources.BadArchive as error:
                raise Failed(str(error)) from error
            folder.note_source()
        if start.runtime is None:
            return None, output, checkpoints
        programs = self._runtimes.find(start.runtime["digest"])
        if programs is None:
            self._want(folder, start.runtime["digest"])
            raise NotReady(f"Building runtime {start.runtime['name']}.")
        return programs, output, checkpoints

    def look(self, folder: WorkloadFolder, claim: dict[str, object]) -> bool:
        """Whether a rank that was claimed can go on to ask for its start again. Raises Failed.

        Brings the build's words into the rank's `prepare` part. True also when there is no build to wait for.
        """
        digest = str(claim.get("runtime") or "")
        if not digest:
            return True
        _copy_words(folder)
        if self._runtimes.find(digest) is not None:
            return True
        build = self._runtimes.last_build(digest)
        if build is None or not _is_of(folder, build):
            return True
        if build.is_running:
            return False
        end = build.end()
        if end is not None and not end["stopped"]:
            _copy_words(folder)
            raise Failed(build.last_words() or f"building the runtime ended with exit code {end['exit_code']}")
        return not build.is_beginning  # it was lost, or stopped as nobody seemed to want it: build again

    def _want(self, folder: WorkloadFolder, digest: str) -> None:
        build = self._runtimes.want(digest)
        known = _builds(folder)
        if build.folder not in known:
            notes.write(os.fspath(folder.path / "builds"), {"folders": [*map(os.fspath, known), os.fspath(build.folder)]})

    def _place(self, start: Start, below: str) -> Path:
        root = Path(start.files_root) if start.files_root else self._files
        place = (root / below).resolve()
        if not place.is_relative_to(root.resolve()):
            raise Failed(f"{below} is no folder below {root}")
        return place


def report_preparing(folder: WorkloadFolder, sentence: str) -> None:
    """Once a step."""
    last = folder.last_report()
    if last is None or last.detail != sentence:
        folder.report(RankReport(state=PREPARING, at_ms=now_ms()[0], detail=sentence))


def _is_of(folder: WorkloadFolder, build: Build) -> bool:
    return build.folder in _builds(folder)


def _builds(folder: WorkloadFolder) -> list[Path]:
    known = notes.read(os.fspath(folder.path / "builds")) or {"folders": []}
    return [Path(path) for path in known["folders"]]  # type: ignore[attr-defined]


def _copy_words(folder: WorkloadFolder) -> None:
    """What the builds that this rank waited for have printed since the last look; the part's own length says up to where."""
    builds = _builds(folder)
    if not builds:
        return
    outputs = [Build(path).output() for path in builds]
    place = folder.spool(PART_PREPARE).end()
    for output in outputs:
        end = output.end()
        if place < end:
            writer = SpoolWriter(folder.path / "prepare", cap_bytes=PREPARE_CAP_BYTES)
            writer.write(output.read(place, COPY_BYTES))
            writer.close()
            return
        place -= end
