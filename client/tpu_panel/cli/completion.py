"""Shell completion: the shells ask `tpu-panel complete`, which knows the commands from their own parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence

from tpu_panel.errors import STRANGE, PanelError
from tpu_panel.panel import Panel

PATIENCE_S = 1.0  # whoever presses Tab does not wait for long
MOST = 200

SCRIPTS = {
    "bash": """\
# tpu-panel completion bash >> ~/.bashrc, or: source <(tpu-panel completion bash)
_tpu_panel() {
    local IFS=$'\\n'
    local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=($(tpu-panel complete -- "${words[@]}" 2>/dev/null))
    if [ "${#COMPREPLY[@]}" -eq 1 ] && [ "${COMPREPLY[0]}" = "::files" ]; then
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
complete -o filenames -o nosort -F _tpu_panel tpu-panel 2>/dev/null || complete -F _tpu_panel tpu-panel
""",
    "zsh": """\
#compdef tpu-panel
# tpu-panel completion zsh > a folder of your $fpath/_tpu-panel, or: source <(tpu-panel completion zsh)
_tpu_panel() {
    local -a found
    found=("${(@f)$(tpu-panel complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ "${found[1]}" == "::files" ]]; then
        _files
    else
        compadd -Q -a found
    fi
}
compdef _tpu_panel tpu-panel
""",
    "fish": """\
# tpu-panel completion fish > ~/.config/fish/completions/tpu-panel.fish
function __tpu_panel_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (tpu-panel complete -- $words[2..-1] 2>/dev/null)
    if test "$found" = "::files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c tpu-panel -f -a '(__tpu_panel_complete)'
""",
}


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """What may stand in the place of the last of these words; `::files`: a file's name."""
    *before, last = list(words) or [""]
    command, rest = _command(parser, before)
    if command is None:
        return _starting(last, [*_commands(parser), *_options(parser)])
    option = _option_that_waits(command, rest)
    if option is not None:
        return _values(option, last, rest)
    if last.startswith("-"):
        return _starting(last, _options(command))
    positional = next((a for a in reversed(command._actions) if not a.option_strings), None)
    return [] if positional is None else _values(positional, last, rest)


def _command(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[argparse.ArgumentParser | None, list[str]]:
    known = _commands(parser)
    for place, word in enumerate(words):
        if word in known:
            return known[word], list(words[place + 1 :])
    return None, []


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Those that help tells of."""
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    shown = {choice.dest for action in actions for choice in action._choices_actions}
    return {name: found for action in actions for name, found in action.choices.items() if name in shown}


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings if name.startswith("--")]


def _option_that_waits(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Action | None:
    """The option before the last word that has no value yet."""
    name = words[-1] if words else ""
    return next((a for a in parser._actions if name in a.option_strings and a.nargs != 0), None)


def _values(action: argparse.Action, last: str, words: Sequence[str]) -> list[str]:
    if action.choices:
        return _starting(last, map(str, action.choices))
    if action.dest == "parameters" and "=@" in last:
        return ["::files"]
    if action.dest in ("file", "token_file"):
        return ["::files"]
    source = SOURCES.get(action.dest)
    if source is None:
        return []
    try:
        with Panel(patience_s=PATIENCE_S) as panel:
            return _starting(last, source(panel, words))
    except (PanelError, *STRANGE):
        return []


def _numbers(panel: Panel, words: Sequence[str]) -> Iterable[str]:
    return (str(job.number) for job in panel.jobs(limit=MOST, fields="number"))


def _definitions(panel: Panel, words: Sequence[str]) -> Iterable[str]:
    return sorted({str(one["slug"]) for one in panel.definitions()})


def _parameters(panel: Panel, words: Sequence[str]) -> Iterable[str]:
    """Of the definition that stands before."""
    of = {str(one["slug"]): one["parameters"].get("properties", {}) for one in panel.definitions()}
    return [f"{name}=" for slug in words if slug in of for name in of[slug]]


SOURCES: dict[str, Callable[[Panel, Sequence[str]], Iterable[str]]] = {
    "number": _numbers,
    "numbers": _numbers,
    "definition": _definitions,
    "parameters": _parameters,
    "project": lambda panel, words: (str(one["slug"]) for one in panel.projects()),
    "cluster": lambda panel, words: sorted({host.cluster for host in panel.hosts()}),
    "name": lambda panel, words: [],
}


def _starting(start: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(start)]
