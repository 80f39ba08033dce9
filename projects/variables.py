"""Names of environment variables that are not free to be chosen."""

from __future__ import annotations

# What a host gives each command, and what shells, the linker and Python obey before the command's own first line. A launch may
# set these in `environment`, where they can be seen; as a secret they would break or take over whatever runs.
OBEYED = """
    PATH HOME USER LOGNAME SHELL PWD LANG TZ TMPDIR IFS ENV BASH_ENV BASHOPTS SHELLOPTS
    PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONSAFEPATH PYTHONUNBUFFERED PYTHONWARNINGS
    PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONBREAKPOINT PYTHONIOENCODING PYTHONHASHSEED PYTHONMALLOC
"""
OBEYED_BEGINNINGS = ("LD_", "LC_", "GLIBC_", "MALLOC_")


def is_panels(name: str) -> bool:
    """The panel sets it itself, over whatever was chosen (agent/launching.py)."""
    return name.startswith("PANEL_") or name == "VIRTUAL_ENV"


def is_obeyed(name: str) -> bool:
    """Something on the host takes it for an order."""
    return name in OBEYED.split() or name.startswith(OBEYED_BEGINNINGS)
