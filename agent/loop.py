"""The agent: one lock, one loop over the folders on its disk, threads for session and shipping, one child for orders."""

from __future__ import annotations

import logging
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from agent import launching
from agent.checkouts import Checkouts
from agent.fetching import Fetching
from agent.folders import WorkloadFolder, all_folders
from agent.home import Home, Identity
from agent.listing import Listing
from agent.metering import Metering
from agent.output import NEW_BYTES
from agent.panel import Panel, Refused, Unreachable
from agent.preparing import Preparer
from agent.protocol import REPORT_AGENT, REPORT_SAMPLES, Samples, Start
from agent.ranks import Ranks
from agent.runtimes import Runtimes
from agent.self_account import SelfAccount, keep_log
from agent.session import Session, enrol
from agent.shipper import Shipper
from agent.worker_process import WorkerProcess

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0  # behind the bytes that wake it
DROP_EVERY_S = 60.0
TELL_EVERY_S = 5.0
DEAF_BEATS = 3  # heartbeats in a row at which orders lay in the queue: the worker has lost its connection and does not know


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    state: Path
    panel: str
    enrolment_token: str
    name: str
    chips: int
    machine_id: str
    runtimes: Path | None = None  # a folder of runtimes to share with other agents; None: in the state folder


def run(settings: Settings) -> int:
    """Run until SIGTERM or SIGINT; what runs on this host goes on without the agent. Raises InUse, NotEnrolled.

    When the panel no longer knows this host, it enrols anew and begins again as the host that it then is.
    """
    home = Home(settings.state)
    home.lock()
    keep_log(home.log)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    panel = Panel(settings.panel)
    identity = home.identity()
    while not stop.is_set():
        if identity is None:
            identity = enrol(
                home,
                panel,
                token=settings.enrolment_token,
                machine_id=settings.machine_id,
                name=settings.name,
                chips=settings.chips,
                stop=stop,
            )
        if identity is not None and not Agent(
            home, panel, identity, machine_id=settings.machine_id, runtimes=settings.runtimes
        ).run(stop):
            identity = None
    return 0


class Agent:
    """One identity's life. Keeps no memory: what it does next is what the disk says."""

    def __init__(self, home: Home, panel: Panel, identity: Identity, *, machine_id: str, runtimes: Path | None = None) -> None:
        self._home = home
        self._panel = panel
        self._identity = identity
        self._over = threading.Event()  # for the threads of this life
        self._waker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._waker.bind(home.wake_address())
        self._waker.setblocking(False)
        self._session = Session(home, panel, identity, machine_id=machine_id, on_change=self._wake)
        self._shipper = Shipper(
            home,
            host_id=identity.host_id,
            redis_url=identity.redis_url,
            session=lambda: self._session.number,
            on_locked_out=self._session.ask_again,
        )
        self._nursery = launching.Nursery(identity.host_id)
        runtimes_here = Runtimes(
            runtimes or home.path / "runtimes",
            fetch=partial(panel.requirements, identity),
            launch=self._nursery.launch,
            wake=home.wake_address(),
        )
        self._preparer = Preparer(
            home.path / "files",
            home.path / "sources",
            runtimes_here,
            Checkouts(home.path / "checkouts", launch=self._nursery.launch, wake=home.wake_address()),
            fetch_source=partial(panel.source, identity),
        )
        self._ranks = Ranks(self._claim, self._preparer, self._launch)
        self._account = SelfAccount(home.log, runtimes=runtimes_here.built)
        self._metering = Metering(home, offer=self._offer_samples, wake=self._shipper.woken.set)
        self._listing = Listing(home, wake=self._shipper.woken.set)
        self._fetching = Fetching(home, bring=self._bring, refuse=self._refuse)
        self._worker = WorkerProcess(home)
        self._done: set[UUID] = set()  # folders that nothing happens in any more
        self._drop_at = self._tend_at = self._tell_at = 0.0

    def run(self, stop: threading.Event) -> bool:
        """True: told to stop. False: the panel does not know this host any more."""
        parts = (self._session, self._shipper, self._metering, self._listing, self._fetching)
        threads = [threading.Thread(target=part.run, args=(self._over,)) for part in parts]
        for thread in threads:
            thread.start()
        try:
            while not stop.is_set() and not self._session.is_unknown:
                self.tick()
                self._wait()
        finally:
            self._end(threads)
        return not self._session.is_unknown

    def tick(self) -> None:
        """Take each rank one step on, and see to the worker."""
        if self._session.number is None:
            self._worker.end()  # orders are for the agent that has the session
        else:
            for folder in all_folders(self._home.workloads):
                if folder.workload_id not in self._done:
                    self._step(folder)
            self._worker.tend(is_deaf=self._shipper.orders_waiting >= DEAF_BEATS)
        if time.monotonic() >= self._tend_at:
            self._tend_at = time.monotonic() + LOOK_EVERY_S
            try:
                self._tend_makings()
            except (OSError, ValueError):  # as in a step
                logger.exception("cannot tend what is made")
        if time.monotonic() >= self._tell_at:
            self._tell_at = time.monotonic() + TELL_EVERY_S
            self._tell_of_itself()
        if time.monotonic() >= self._drop_at:
            self._drop_at = time.monotonic() + DROP_EVERY_S
            self._drop_old()

    def _launch(self, folder: WorkloadFolder, start: Start, programs: Path | None, output: Path, checkpoints: Path) -> None:
        spec = launching.spec_of(
            folder,
            start,
            host_id=self._identity.host_id,
            wake=self._home.wake_address(),
            programs=programs,
            output=output,
            checkpoints=checkpoints,
        )
        self._nursery.launch(spec)

    def _tend_makings(self) -> None:
        """What is made for ranks that have left is ended; what was not used for long is dropped."""
        living = [f for f in all_folders(self._home.workloads) if f.workload_id not in self._done]
        self._preparer.tend([folder.claim() or {} for folder in living], drop=time.monotonic() >= self._drop_at)

    def _offer_samples(self, samples: Samples) -> None:
        self._shipper.offer(REPORT_SAMPLES, samples.data())

    def _tell_of_itself(self) -> None:
        try:
            report = self._account.report()
        except (OSError, ValueError):  # as in a step
            logger.exception("cannot tell of itself")
        else:
            if report is not None:
                self._shipper.offer(REPORT_AGENT, report.data())

    def _step(self, folder: WorkloadFolder) -> None:
        try:
            if folder.has_ended():
                self._done.add(folder.workload_id)
                self._ranks.forget(folder)
                return
            self._ranks.step(folder)
        except (OSError, ValueError):  # a full disk, a broken note: its own trouble, and again at the next look
            logger.exception("cannot step workload=%s", folder)
        else:
            self._shipper.woken.set()

    def _drop_old(self) -> None:
        for folder in list(all_folders(self._home.workloads)):
            if folder.workload_id in self._done and folder.drop_if_old(time.time()):
                self._done.discard(folder.workload_id)

    # -- What asks the panel within the session ------------------------------------------------------------------

    def _claim(self, workload_id: UUID, rank: int) -> Start:
        with self._in_session() as session:
            return self._panel.claim(self._identity, session, workload_id, rank)

    def _bring(self, fetch_id: int, data: bytes, offset: int, size_bytes: int) -> int | None:
        with self._in_session() as session:
            return self._panel.put_piece(self._identity, session, fetch_id, data, offset=offset, size_bytes=size_bytes)

    def _refuse(self, fetch_id: int, sentence: str, is_gone: bool) -> None:
        with self._in_session() as session:
            self._panel.fetch_failed(self._identity, session, fetch_id, sentence, is_gone=is_gone)

    @contextmanager
    def _in_session(self) -> Iterator[int]:
        """Raises Unreachable while there is none; one that is over is asked for again."""
        if self._session.number is None:
            raise Unreachable("the panel has given this host no session")
        try:
            yield self._session.number
        except Refused as refusal:
            if refusal.code in ("session-over", "host-unknown"):
                self._session.ask_again()
            raise

    # -- Waking ------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Until something has happened that a folder tells of. New bytes of a log are the shipper's alone."""
        deadline = time.monotonic() + LOOK_EVERY_S
        while (left := deadline - time.monotonic()) > 0:
            select.select([self._waker], [], [], left)
            words = self._words()
            if words:
                self._shipper.woken.set()
            if words - {NEW_BYTES}:
                self._fetching.woken.set()
                return

    def _words(self) -> set[bytes]:
        words = set()
        with suppress(BlockingIOError):
            while True:
                words.add(self._waker.recv(16))
        return words

    def _wake(self) -> None:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            own.sendto(b"!", self._home.wake_address())
        self._shipper.woken.set()

    def _end(self, threads: list[threading.Thread]) -> None:
        self._over.set()
        self._session.ask_again()
        self._shipper.woken.set()
        self._fetching.woken.set()
        self._worker.end()
        self._ranks.close()
        self._nursery.close()
        for thread in threads:
            thread.join(timeout=15)
        self._waker.close()
