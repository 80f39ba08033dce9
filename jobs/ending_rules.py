"""Why jobs end, in words, and what to do next: one table, first to last, the first row that fits speaks.

A row is for the reason codes of clusters/reasons.py that it names. It may want more: an exit code, a signal, or one of the
last lines of the log to match `said`, whose named groups are words for `cause`. The last rows want nothing, and the very last
says that it does not know. Pure.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

RAN = ("exit-code", "signal")  # the command ran, and ended by itself or by somebody else's doing
SHELL_SIGNALS = 128  # a shell says so of a command that a signal ended: 137 is KILL


@dataclass(frozen=True)
class Rule:
    """`again`: the same, launched once more, may well succeed."""

    name: str
    cause: str | Promise
    advice: str | Promise
    codes: tuple[str, ...] = RAN
    said: str = ""
    exit_codes: tuple[int, ...] = ()
    signals: tuple[int, ...] = ()
    again: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.said)


@dataclass(frozen=True)
class Verdict:
    """A rule that fits, with its words filled; `line` is the place of the line that told, among those that were given."""

    rule: Rule
    cause: str
    advice: str
    line: int | None = None


RULES = (
    # What the program said itself
    Rule(
        "chip-memory",
        _("The chips ran out of memory."),
        _(
            "Take a smaller batch or shorter sequences, bfloat16 or rematerialisation, or spread the model over more chips;"
            " then edit and relaunch."
        ),
        said=r"Ran out of memory (?:in memory space|on HBM)|\bRESOURCE_EXHAUSTED\b|\bResourceExhaustedError\b"
        r"|Attempting to (?:reserve|allocate) [\d.]+[KMG]",
    ),
    Rule(
        "chips-held",
        _("The chips were held by another process on its host."),
        _("Somebody runs a program there that the panel did not start. Ask the host's admin to end it; then relaunch."),
        said=r"The TPU is already in use by|libtpu multi-process lockfile|Couldn't open iommu group",
        again=True,
    ),
    Rule(
        "no-chip",
        _("The program found no TPU on its host."),
        _(
            "On hosts of the accelerator cpu it must be told to use the CPU (PJRT_DEVICE=CPU, JAX_PLATFORMS=cpu). On a TPU host"
            " its runtime needs libtpu, of the release that its framework wants."
        ),
        said=r"TPU initialization failed: No .{0,80} device found|\blibtpu not found|Unable to initialize backend 'tpu'"
        r"|TPUs not found in the cluster",
    ),
    Rule(
        "no-module",
        _("Python found no module %(module)s."),
        _("Add it to the requirements of the definition's runtime, or ship it with the source; then edit and relaunch."),
        said=r"No module named '?(?P<module>[\w.-]{1,200})",
    ),
    Rule(
        "disk-full",
        _("A disk of its host was full."),
        _("Free some space there, keep fewer checkpoints, or write caches and dumps elsewhere; then relaunch."),
        said=r"No space left on device|Disk quota exceeded",
    ),
    Rule(
        "shared-memory",
        _("A worker that loads data died, mostly for want of memory."),
        _("Take fewer loader workers, or none to see its own error; then edit and relaunch."),
        said=r"insufficient shared memory|Unexpected bus error encountered in worker|DataLoader worker \(pid",
    ),
    Rule(
        "host-memory",
        _("The program got no more memory from its host."),
        _("Take a smaller batch or fewer loader workers, or do not hold all data in memory; then edit and relaunch."),
        said=r"^MemoryError\b|\bstd::bad_alloc\b|Cannot allocate memory|OOM when allocating tensor|DefaultCPUAllocator",
    ),
    Rule(
        "not-a-number",
        _("Its loss became NaN or infinite."),
        _(
            "Launch it anew with a lower learning rate or clipped gradients, from a checkpoint of before if its program takes"
            " one, and keep losses and norms in float32."
        ),
        said=r"(?i:\bloss\b\W{0,20}(?:is |became |was )?(?:nan|not finite)\b)|Tensor had (?:NaN|Inf) values",
    ),
    Rule(
        "indivisible",
        _("A size does not divide evenly among the chips or processes."),
        _("Choose a batch (or dimension) that is a multiple of their number; then edit and relaunch."),
        said=r"(?:is not|must be|should be) (?:evenly )?divisible by",
    ),
    Rule(
        "port-taken",
        _("A port that it wanted was taken on its host."),
        _("Let it choose a free one (port 0), or wait for the other program to end; then relaunch."),
        said=r"\bEADDRINUSE\b|Address already in use",
        again=True,
    ),
    Rule(
        "no-access",
        _("It was refused access to something that it fetched."),
        _("Give the launch a secret with a token that may read it, and accept the licence where there is one; then relaunch."),
        said=r"gated repo|\b40[13] (?:Client Error|Unauthorized|Forbidden)|HTTP Error 40[13]|does not have storage\.objects"
        r"|Anonymous caller",
    ),
    Rule(
        "no-network",
        _("It could not reach something over the network."),
        _("See the address in its last words: is it right, and may the host reach it? If it was a moment's trouble, relaunch."),
        said=r"Could not resolve host|Temporary failure in name resolution|Name or service not known|Network is unreachable"
        r"|Connection refused|Connection timed out|Max retries exceeded with url",
        again=True,
    ),
    Rule(
        "checkpoint-unfit",
        _("The checkpoint is not of this model."),
        _("Launch with the parameters that wrote it, or begin without it."),
        said=r"size mismatch for |Missing key\(s\) in state_dict|Unexpected key\(s\) in state_dict",
    ),
    Rule(
        "no-file",
        _("It found no file %(path)s."),
        _("Is it part of the source, and is the path right as seen from the source's folder? Then edit and relaunch."),
        said=r"No such file or directory: '(?P<path>[^']{1,300})'|can't open file '(?P<script>[^']{1,300})'",
    ),
    Rule(
        "no-permission",
        _("Its host's file system refused it something."),
        _("Write to $PANEL_OUTPUT, $PANEL_CHECKPOINTS or the folder that it starts in; those are the job's own."),
        said=r"\bPermissionError\b|Permission denied",
    ),
    Rule(
        "wrong-arguments",
        _("The program did not understand its arguments."),
        _("Compare the command of the launch with the usage that it printed; then edit and relaunch."),
        said=r"unrecognized arguments|the following arguments are required|error: argument |invalid choice|(?i:\bno such option)",
    ),
    Rule(
        "syntax",
        _("Python could not read the program: %(what)s"),
        _("Mend the line that its last words name; then relaunch with the new source."),
        said=r"^(?P<what>(?:SyntaxError|IndentationError|TabError): .{1,200})",
    ),
    Rule(
        "unfit-library",
        _("Libraries of its runtime do not fit one another."),
        _("Pin releases that belong together in the definition's runtime (torch and torch_xla of the same release, say)."),
        said=r"undefined symbol|cannot open shared object file|^ImportError: ",
    ),
    # Signals, which a shell tells as exit codes
    Rule(
        "killed",
        _("Something killed it, and it was not the panel."),
        _(
            "Mostly that is a limit of memory, of a container or a group of processes; sometimes a person on the host. See in the"
            " charts how its memory ended; take a smaller batch or fewer loader workers, or a host with more."
        ),
        signals=(signal.SIGKILL,),
    ),
    Rule(
        "crashed",
        _("It crashed in native code (%(signal_name)s)."),
        _(
            "A library did that, not Python: its last words may name it. Set PYTHONFAULTHANDLER=1 in the environment to see where"
            " Python was, and check that the runtime's releases belong together."
        ),
        signals=(signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE),
    ),
    Rule(
        "asked-to-end",
        _("Something on its host asked it to end (%(signal_name)s), and it was not the panel."),
        _("The host may have been shut down or preempted, or a person did it. If it was neither, look for it in the program."),
        signals=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
        again=True,
    ),
    Rule(
        "no-such-command",
        _("A program that its command names is not there."),
        _("Its last words name it. Is it installed in the definition's runtime, or part of the source?"),
        exit_codes=(127,),
    ),
    Rule(
        "not-executable",
        _("A file that its command names cannot be executed."),
        _("Name its interpreter (python train.py), or give it the right to be executed in the source."),
        exit_codes=(126,),
    ),
    Rule(
        "raised",
        _("It raised %(raised)s"),
        _("The trace above that line says where. Mend it, then relaunch with the new source."),
        said=r"^(?P<raised>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception|Interrupt)(?:: .{1,300}|:?$))",
    ),
    # What the host or the panel said of it
    Rule(
        "out-of-memory",
        _("Its host ran out of memory, and the kernel killed it."),
        _(
            "Take a smaller batch or fewer loader workers, hold less data in memory, or ask for fewer neighbours (more slots of"
            " the host); then edit and relaunch."
        ),
        codes=("out-of-memory",),
    ),
    Rule(
        "command-not-found",
        _("Its command could not be started."),
        _("Is the program part of the source, or installed in the runtime? Is the path right? Then edit and relaunch."),
        codes=("command-not-found",),
    ),
    Rule(
        "runtime-unsolvable",
        _("Its runtime could not be built: packages were not found, or do not fit one another."),
        _("The log of its preparing names them. Mend the requirements of the definition's runtime; then edit and relaunch."),
        codes=("prepare-failed",),
        said=r"No solution found|was not found in the package registry|No matching distribution|no version of|unsatisfiable",
    ),
    Rule(
        "prepare-unreachable",
        _("Its host could not fetch what the job needs."),
        _("Can the host reach the address in its last words, and does that answer? If it was a moment's trouble, relaunch."),
        codes=("prepare-failed", "source-failed"),
        said=r"(?i:could not resolve|failed to fetch|connection (?:refused|reset|timed out)|error sending request|dns error)",
        again=True,
    ),
    Rule(
        "disk-full",
        _("A disk of its host was full."),
        _("Its page says how full its disk is and which runtimes stand there. Make room on it, or ask its admin; then relaunch."),
        codes=("prepare-failed",),
        said=r"No space left on device|Disk quota exceeded",
        again=True,
    ),
    Rule(
        "prepare-failed",
        _("Its source or its runtime could not be made ready."),
        _("The log of its preparing says why. Mend the definition's source or runtime; then edit and relaunch."),
        codes=("prepare-failed",),
    ),
    Rule(
        "source-failed",
        _("Its source could not be had."),
        _("Are the address and the ref right, and may the panel read them? Then edit and relaunch."),
        codes=("source-failed", "source-unresolved"),
        again=True,
    ),
    Rule(
        "timed-out",
        _("It ran longer than its definition allows, so the panel ended it."),
        _(
            "If it was still going well, allow more time or let it do less; if its last step was long before, it hung: see its"
            " last words."
        ),
        codes=("timed-out",),
    ),
    Rule(
        "prepare-deadline",
        _("Preparing took too long, so the panel ended it."),
        _("See in the log of its preparing where it stood. What was fetched stays on the host, so a relaunch gets further."),
        codes=("prepare-deadline",),
        again=True,
    ),
    Rule(
        "barrier-deadline",
        _("Not all hosts were ready in time, so all were ended."),
        _("One of them is slow or cannot be reached by the others: see its page. Relaunch, if need be without it."),
        codes=("barrier-deadline",),
        again=True,
    ),
    Rule(
        "folder-gone",
        _("Its folder on the host was deleted while it ran."),
        _("Does the command itself delete what is above its folder? If not, ask who cleans up on that host; then relaunch."),
        codes=("folder-gone",),
        again=True,
    ),
    Rule(
        "host-lost",
        _("Its host fell silent and was not heard again in time."),
        _(
            "Relaunch: it goes to other chips. The old processes may run until the host is heard; each attempt has its own output"
            " folder. With retries for a lost host in the launch this happens by itself."
        ),
        codes=("host-lost",),
        again=True,
    ),
    Rule(
        "host-restarted",
        _("Its host was restarted, and everything that ran there ended."),
        _(
            "Relaunch: it begins anew. With retries for a lost host it is tried again by itself, and goes on at its last"
            " checkpoint."
        ),
        codes=("host-rebooted", "host-state-lost", "supervisor-lost"),
        again=True,
    ),
    Rule(
        "preempted",
        _("Work of a higher priority took its chips."),
        _("Relaunch: it waits for free chips and begins anew."),
        codes=("preempted",),
        again=True,
    ),
    Rule(
        "panel-stopped",
        _("Whoever runs the panel stopped all that ran."),
        _("Nothing is wrong with the job. Relaunch when the panel is to run jobs again."),
        codes=("panel-stopped",),
        again=True,
    ),
    Rule(
        "abandoned",
        _("An admin ended it without its host, which does not answer."),
        _("Its processes may run there until the host is heard. Relaunch: it goes to other chips."),
        codes=("abandoned",),
        again=True,
    ),
    Rule(
        "canceled",
        _("Canceled by %(by)s."),
        _("Nothing is wrong with it as far as the panel knows. Relaunch to do it again from the beginning."),
        codes=("canceled",),
        again=True,
    ),
    Rule(
        "stopped",
        _("It was stopped before it was through."),
        _("Its events say when and by whom. Relaunch to do it again."),
        codes=("stopped", "stopped-while-waiting", "not-started", "rank-ended"),
        again=True,
    ),
    Rule("succeeded", _("The command ended with exit code 0."), "", codes=("succeeded",)),
    Rule(
        "unknown",
        _("It ended badly, and nothing that the panel knows says why."),
        _(
            "Its own words are all there is: read the log from its last lines upwards. What its exit code means, the program's"
            " author knows."
        ),
        codes=(),
    ),
)


def judge(code: str, data: Mapping[str, Any], said: Sequence[str]) -> Verdict:
    """Of an end with this reason, whose log ended with the lines `said`: of those that would fit a row the last counts."""
    signal_number = _signal_of(data)
    for rule in RULES[:-1]:
        if code not in rule.codes:
            continue
        if rule.exit_codes and data.get("exit_code") not in rule.exit_codes:
            continue
        if rule.signals and signal_number not in rule.signals:
            continue
        if not rule.said:
            return _verdict(rule, data, signal_number)
        for place in reversed(range(len(said))):
            if match := rule.pattern.search(said[place]):
                return _verdict(rule, data, signal_number, match, place)
    return _verdict(RULES[-1], data, signal_number)


def _signal_of(data: Mapping[str, Any]) -> int | None:
    exit_code = data.get("exit_code")
    if data.get("signal") is None and isinstance(exit_code, int) and exit_code > SHELL_SIGNALS:
        return exit_code - SHELL_SIGNALS
    return data.get("signal")


def _verdict(
    rule: Rule, data: Mapping[str, Any], signal_number: int | None, match: re.Match[str] | None = None, line: int | None = None
) -> Verdict:
    words = _Words(data, signal_name=_signal_name(signal_number))
    words |= {name: found.strip() for name, found in (match.groupdict() if match else {}).items() if found}
    if "script" in words:
        words["path"] = words["script"]
    return Verdict(rule, str(rule.cause) % words, str(rule.advice), line)


def _signal_name(number: int | None) -> str:
    try:
        return signal.Signals(number).name if number else ""
    except ValueError:
        return str(number)


class _Words(dict[str, Any]):
    """A row written by an older panel may lack one."""

    def __missing__(self, name: str) -> str:
        return "?"
