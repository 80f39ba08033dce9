"""What a rank needs before its command can start: its source in its folder, its runtime built, its output folders there."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent import notes, sources
from agent.checkouts import Checkouts, digest_of
from agent.folders import WorkloadFolder
from agent.makings import Build, Makings
from agent.protocol import AREA_CHECKPOINTS, AREA_OUTPUT, PART_PREPARE, PREPARING, RankReport, Start
from agent.runtimes import Runtimes
from agent.spool_writer import SpoolWriter, now_ms

PREPARE_CAP_BYTES = 64 * 1024**2
COPY_BYTES = 1024**2


class NotReady(Exception):
    """Something is still being made; says what."""


class Failed(Exception):
    """It cannot be made; says why, in the words of who tried."""


class Preparer:
    """Of one host. What takes long is a supervised process (agent/makings.py); nothing here waits for one."""

    def __init__(
        self,
        files: Path,
        source_root: Path,
        runtimes: Runtimes,
        checkouts: Checkouts,
        *,
        fetch_source: Callable[[str], bytes],
    ) -> None:
        self._files = files
        self._source_root = source_root
        self._runtimes = runtimes
        self._checkouts = checkouts
        self._fetch_source = fetch_source

    def claimed(self, folder: WorkloadFolder, start: Start) -> None:
        """Keep what the claim said, without its secrets; the first claim's moment stays."""
        runtime = start.runtime["digest"] if start.runtime else ""
        source = start.source
        checkout = digest_of(source["address"], source["commit"]) if source.get("kind") == "git" else ""
        at_ms = (folder.claim() or {}).get("at_ms", now_ms()[0])
        folders = {AREA_OUTPUT: start.output, AREA_CHECKPOINTS: start.checkpoints}
        places = {area: os.fspath(self._place(start, below)) for area, below in folders.items() if below}
        folder.note_claim(
            {
                "rank": start.rank,
                "runtime": runtime,
                "checkout": checkout,
                "output": places.get(AREA_OUTPUT, ""),
                "files": places if start.lists_files else {},
                "at_ms": at_ms,
            }
        )

    def prepare(self, folder: WorkloadFolder, start: Start) -> tuple[Path | None, Path, Path]:
        """(the runtime's programs, the folder for output, the one for checkpoints), all there.

        Raises NotReady while a commit is fetched or the runtime built, Failed, OSError, and what asking the panel raises.
        """
        folder.make_rank_folder()
        output = self._place(start, start.output) if start.output else folder.work / "output"
        checkpoints = self._place(start, start.checkpoints) if start.checkpoints else folder.work / "checkpoints"
        for place in (output, checkpoints):
            place.mkdir(parents=True, exist_ok=True)
        if not folder.has_source():
            self._provide_source(folder, start.source)
            folder.note_source()
        if start.runtime is None:
            return None, output, checkpoints
        programs = self._runtimes.find(start.runtime["digest"])
        if programs is None:
            _note_build(folder, self._runtimes.want(start.runtime["digest"]))
            raise NotReady(f"Building runtime {start.runtime['name']}.")
        return programs, output, checkpoints

    def look(self, folder: WorkloadFolder, claim: dict[str, object]) -> bool:
        """Whether a rank that was claimed can go on to ask for its start again. Raises Failed.

        Brings the words of what is made for it into the rank's `prepare` part. True also when there is nothing to wait for.
        """
        for makings, digest in self._awaited(claim):
            _copy_words(folder)
            build = makings.last_build(digest)
            if makings.is_ready(digest) or build is None or build.folder not in _builds(folder):
                continue
            if build.is_running or build.is_beginning:
                return False
            end = build.end()
            if end is not None and not end["stopped"]:
                _copy_words(folder)
                raise Failed(build.last_words() or f"preparing ended with exit code {end['exit_code']}")
            return True  # it was lost, or stopped as nobody seemed to want it: again
        return True

    def tend(self, claims: list[dict[str, object]], *, drop: bool) -> None:
        """End what nobody waits for any more; with `drop`, delete what was not used for long."""
        for makings, name in ((self._runtimes, "runtime"), (self._checkouts, "checkout")):
            wanted = {str(claim.get(name) or "") for claim in claims} - {""}
            makings.end_unwanted(wanted)
            if drop:
                makings.drop_old(wanted)
        if drop:
            sources.drop_unused(self._source_root, now_s=time.time())

    def _awaited(self, claim: dict[str, object]) -> Iterator[tuple[Makings, str]]:
        """In the order in which they are made: one after the other, so that their words stand in the log like that."""
        for makings, name in ((self._checkouts, "checkout"), (self._runtimes, "runtime")):
            if digest := str(claim.get(name) or ""):
                yield makings, digest

    def _provide_source(self, folder: WorkloadFolder, source: dict[str, str]) -> None:
        if source.get("kind") in ("archive", "git"):  # what a copy that was broken off has left cannot be written over
            shutil.rmtree(folder.work, ignore_errors=True)
            folder.make_rank_folder()
        if source.get("kind") == "archive":
            try:
                sources.provide(self._source_root, source["digest"], self._fetch_source, folder.work)
            except sources.BadArchive as error:
                raise Failed(str(error)) from error
        elif source.get("kind") == "git":
            address, commit = source["address"], source["commit"]
            tree = self._checkouts.find(digest_of(address, commit))
            if tree is None:
                _note_build(folder, self._checkouts.want(address, commit))
                raise NotReady(f"Fetching commit {commit[:12]} of {address}.")
            shutil.copytree(tree, folder.work, symlinks=True, dirs_exist_ok=True)

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


def _note_build(folder: WorkloadFolder, build: Build) -> None:
    """The rank waits for it: its words are the rank's."""
    known = _builds(folder)
    if build.folder not in known:
        notes.write(os.fspath(folder.path / "builds"), {"folders": [*map(os.fspath, known), os.fspath(build.folder)]})


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
