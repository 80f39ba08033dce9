"""How each field of the form that edits a definition is drawn."""

from __future__ import annotations

from django.utils.translation import gettext as _

from jobs.schema_form import Choice, Kind
from jobs.template_rules import SOURCES

Drawn = tuple[Kind, str, str, str]  # kind, title, help, unit


def drawn() -> dict[str, Drawn]:
    """By path, in the order of the page; parameters come before the last."""
    return {**_what(), **_how(), **_where(), **_when(), "rest": _rest()}


def _what() -> dict[str, Drawn]:
    return {
        "title": (Kind.LINE, _("Title"), "", ""),
        "description": (Kind.LINES, _("Description"), _("What it does, and what whoever launches it should know."), ""),
    }


def _how() -> dict[str, Drawn]:
    command = _("As arguments: the program, and each argument on a line of its own. ${name} becomes a parameter's value.")
    ref = _("Becomes an exact commit at each launch; ${ref} leaves it to a parameter.")
    return {
        "source.kind": (Kind.CHOICE, _("Source"), "", ""),
        "recipe.name": (Kind.CHOICE, _("Recipe"), "", ""),
        "script.name": (Kind.LINE, _("File"), _("The script is this file, where the command runs."), ""),
        "script.text": (Kind.TEXT, _("Script"), "", ""),
        "archive.digest": (Kind.ARCHIVE, _("Archive"), _("Unpacked where the command runs."), ""),
        "git.address": (Kind.LINE, _("Repository"), _("Such as https://github.com/team/code or git@host:team/code.git."), ""),
        "git.ref": (Kind.LINE, _("Branch, tag or commit"), ref, ""),
        "command.kind": (Kind.CHOICE, _("Written as"), "", ""),
        "command": (Kind.TEXT, _("Command"), command, ""),
        "runtime": (Kind.LINE, _("Runtime"), _("The Python environment; left empty: the host's own python3."), ""),
        "environment": (Kind.LINES, _("Environment"), _("NAME=value, one a line. What is secret belongs into secrets."), ""),
        "secrets": (Kind.CHOICE, _("Secrets"), _("Each is set as the variable of its name."), ""),
    }


def _where() -> dict[str, Drawn]:
    return {
        "resources.accelerator": (Kind.CHOICE, _("Accelerator"), "", ""),
        "resources.chips": (Kind.WHOLE, _("Chips"), _("On one host."), ""),
        "resources.cluster": (Kind.CHOICE, _("Cluster"), "", ""),
    }


def _when() -> dict[str, Drawn]:
    return {
        "stop_grace_s": (Kind.WHOLE, _("Time to stop"), _("From TERM to KILL. Left empty: 30 s."), "s"),
        "timeout_s": (Kind.WHOLE, _("Longest run"), _("It is stopped then. Left empty: it may run for ever."), "s"),
        "retries.user_code.times": (Kind.WHOLE, _("After a failure of the command"), "", _("more tries")),
        "retries.user_code.delay_s": (Kind.WHOLE, _("each after"), "", "s"),
        "retries.host_lost.times": (Kind.WHOLE, _("After a loss of its host"), "", _("more tries")),
        "retries.host_lost.delay_s": (Kind.WHOLE, _("each after"), "", "s"),
    }


def _rest() -> Drawn:
    return Kind.JSON, _("More of the schema"), _("What holds for all parameters together, as a JSON object."), ""


def source_kinds() -> list[Choice]:
    words = {"none": _("none"), "recipe": _("recipe"), "script": _("script"), "archive": _("archive"), "git": _("git")}
    return [Choice(kind, words[kind]) for kind in SOURCES]
