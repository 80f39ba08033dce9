"""What the panel asks of a git server: which commit a branch or a tag stands for at this moment.

Hosts fetch that commit themselves (agent/checkouts.py). Both use git with the settings and keys of the user that they run
as, so that a private repository needs them there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from projects.errors import Invalid

COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
SHORT = re.compile(r"([\w.-]+@)?([a-zA-Z0-9][\w.-]*):(?![:/\d])([^\s@]+)", re.ASCII)  # git@host:path, as git itself takes it
HOST = re.compile(r"[a-zA-Z0-9\[][\w.:\]-]*", re.ASCII)
REF = re.compile(r"[^-\s~^:?*\[\\][^\s~^:?*\[\\]*")  # what git check-ref-format forbids is not in it; no option
MOST_CHARACTERS = 500
LAST_WORDS = 400


class Unresolved(Exception):
    """Why there is no commit to be had, in a sentence; git's own words where it has some."""


def check(address: str, ref: str) -> None:
    """Raises Invalid with what is wrong, before anybody is asked."""
    wrong = {}
    if sentence := _wrong_address(address):
        wrong["source.address"] = sentence
    if not REF.fullmatch(ref) or ".." in ref or "@{" in ref or len(ref) > MOST_CHARACTERS:
        wrong["source.ref"] = _("a branch, a tag or a full commit is needed")
    if wrong:
        raise Invalid(wrong)


def plain(address: str) -> str:
    """The address in the one spelling that git takes: `HTTPS://` names a helper that it does not have."""
    scheme, colon, rest = address.partition("://")
    return f"{scheme.lower()}{colon}{rest}" if colon else address


def resolve(address: str, ref: str) -> str:
    """The commit that `ref` is at now: a branch, else a tag, else itself when it is a whole commit. Asks the network.

    Raises Unresolved.
    """
    try:
        check(address, ref)
    except Invalid as error:
        raise Unresolved("; ".join(error.fields.values())) from error
    if COMMIT.fullmatch(ref):
        return ref
    whole = ref == "HEAD" or ref.startswith("refs/")
    # `^{}` is what an annotated tag is of: it comes first, and only tags have it.
    names = [f"{ref}^{{}}", ref] if whole else [f"refs/heads/{ref}", f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}"]
    found = {name: commit for commit, name in _ls_remote(address, *names)}
    for name in names:
        if name in found:
            return found[name]
    raise Unresolved(_("%(address)s has neither a branch nor a tag %(ref)s") % {"address": address, "ref": ref})


def _wrong_address(address: str) -> str:
    """What is wrong with it; empty: nothing."""
    if len(address) > MOST_CHARACTERS or not address.isprintable() or " " in address:
        return _("not an address")
    try:
        parts = urlsplit(SHORT.sub(r"ssh://\1\2/\3", address) if SHORT.fullmatch(address) else address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return _("not an address: its host or its port cannot be")
    if parts.scheme not in settings.GIT_SCHEMES:
        return _("an address of one of these kinds is needed: %(known)s") % {"known": _kinds()}
    is_login = parts.password is not None or (parts.username is not None and parts.scheme != "ssh")
    if is_login or "?" in address or "#" in address:
        return _(
            "a password or token in an address can be read by all, so neither user:password@ nor ? nor # may be in it;"
            " let the git settings of panel and hosts hold it"
        )
    if port == 0 or not HOST.fullmatch(host) or (parts.username or "").startswith("-") or len(parts.path) < 2:
        return _("the address names no host or no repository")
    return ""


def _kinds() -> str:
    """ "https://, ssh:// or git@host:path": the last is short for ssh."""
    known = [f"{scheme}://" for scheme in settings.GIT_SCHEMES] + (["git@host:path"] if "ssh" in settings.GIT_SCHEMES else [])
    return _(" or ").join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)


def _ls_remote(address: str, *names: str) -> list[tuple[str, str]]:
    """(commit, name) of what the server has of these. Raises Unresolved."""
    try:
        process = subprocess.Popen(
            ["git", "ls-remote", "--", address, *names],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(_scheme(address)),
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise Unresolved(_("git is not installed on the panel's machine")) from None
    try:
        said, complaint = process.communicate(timeout=settings.GIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # git leaves the talking to a child
        process.communicate()
        raise Unresolved(
            _("%(address)s did not answer within %(seconds)s s") % {"address": address, "seconds": int(settings.GIT_TIMEOUT_S)}
        ) from None
    if process.returncode:
        raise Unresolved(" ".join(complaint.split())[-LAST_WORDS:] or f"git ls-remote: {process.returncode}")
    return [(commit, name) for commit, _tab, name in (line.partition("\t") for line in said.splitlines())]


def _scheme(address: str) -> str:
    """git@host:path is ssh, too."""
    return "ssh" if SHORT.fullmatch(address) else urlsplit(address).scheme


def _environment(scheme: str) -> dict[str, str]:
    """git asks nobody anything, and speaks nothing but `scheme`, wherever an answer may send it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PANEL_", "DATABASE_URL", "REDIS_URL"))}
    return own | {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": scheme,
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=10"),
    }
