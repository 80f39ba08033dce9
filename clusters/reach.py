"""What a remote host will use: the addresses it is given, tried from here, and what to set where they lead nowhere.

That the panel gets to an address does not say that a host does; that the panel does not, or that it is this machine's own
loopback, says that no host will.
"""

from __future__ import annotations

import ipaddress
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import redis
from django.conf import settings
from django.utils.translation import gettext as _
from redis.backoff import NoBackoff
from redis.retry import Retry

TRY_S = 2.0  # for one address
OK, WARN, BAD = "ok", "warn", "bad"


@dataclass(frozen=True)
class Tried:
    """An address without name and password in it; `state` is OK, WARN (works here, perhaps not there) or BAD."""

    title: str
    address: str
    setting: str  # the names of what it comes from
    state: str
    sentence: str
    advice: str = ""


def try_all() -> list[Tried]:
    """All at once, each for TRY_S at most."""
    tries = [_try_panel, _try_redis]
    pool = ThreadPoolExecutor(max_workers=len(tries))
    try:
        running = [pool.submit(one) for one in tries]
        return [one.result() for one in running]
    finally:
        pool.shutdown(wait=False)


# -- The panel ---------------------------------------------------------------------------------------------
def _try_panel() -> Tried:
    url = urlsplit(settings.PUBLIC_URL)
    made = {"title": _("The panel"), "address": settings.PUBLIC_URL, "setting": "PUBLIC_URL"}
    local = _("Start the panel with --host 0.0.0.0 and PUBLIC_URL=http://<name of this machine>:%(port)s, or behind a proxy.") % {
        "port": url.port or 8000
    }
    if trouble := _within(lambda: _panel_trouble(settings.PUBLIC_URL)):
        return Tried(
            **made, state=BAD, sentence=trouble, advice=_("Set PUBLIC_URL to the address at which hosts find the panel.")
        )
    return _reached(made, url, local, _("The panel answers here."), is_plain=url.scheme == "http")


def _panel_trouble(address: str) -> str:
    """What is wrong, in a sentence; "": the panel answered."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/agent/v1/install", timeout=TRY_S) as answer:
            is_ours = answer.headers.get_content_type() == "text/x-shellscript"
            return "" if is_ours else _("Something else than the panel answers here.")
    except urllib.error.HTTPError as error:
        return _("What answers here says HTTP %(status)s, as the panel would not.") % {"status": error.code}
    except (OSError, ValueError) as error:
        return _no_answer(error)


# -- Redis -------------------------------------------------------------------------------------------------
def _try_redis() -> Tried:
    given = settings.HOSTS_REDIS_URL or settings.REDIS_URL
    url = urlsplit(given)
    shown = f"{url.scheme}://{url.hostname}:{url.port or 6379}"
    made = {
        "title": _("Redis"),
        "address": shown,
        "setting": "HOSTS_REDIS_URL" if settings.HOSTS_REDIS_URL else "REDIS_URL",
    }
    if is_embedded():
        local = _(
            "The Redis that comes with the panel listens on this machine only. Set REDIS_URL to a server of your own that hosts"
            " reach (Redis 6.2 or newer, or Valkey, with ACLs), and start the panel again."
        )
    else:
        local = _("Set REDIS_URL, or HOSTS_REDIS_URL where hosts reach the same server at another address.")
    if trouble := _within(lambda: _redis_trouble(url)):
        return Tried(**made, state=BAD, sentence=trouble, advice=local)
    return _reached(made, url, local, _("Redis answers here."), is_plain=url.scheme == "redis")


def is_embedded() -> bool:
    """Whether hosts get the address of the Valkey that `manage.py up` started."""
    file = settings.VAR_DIR / "redis_url"
    return not settings.HOSTS_REDIS_URL and file.exists() and file.read_text().strip() == settings.REDIS_URL


def _redis_trouble(url: SplitResult) -> str:
    """As a stranger: that a password is asked for is an answer."""
    try:
        connection = redis.Redis(
            host=url.hostname or "",
            port=url.port or 6379,
            ssl=url.scheme == "rediss",
            socket_connect_timeout=TRY_S,
            socket_timeout=TRY_S,
            retry=Retry(NoBackoff(), 0),
        )
        connection.ping()
    except (redis.exceptions.AuthenticationError, redis.exceptions.ResponseError):
        return ""
    except redis.exceptions.InvalidResponse:
        return _("Something else than Redis answers here.")
    except (redis.exceptions.RedisError, OSError, ValueError) as error:
        return _no_answer(error)
    return ""


# -- Both --------------------------------------------------------------------------------------------------
def _reached(made: dict[str, str], url: SplitResult, local: str, well: str, *, is_plain: bool) -> Tried:
    if _within(lambda: "loopback" if is_loopback(url.hostname or "") else "") == "loopback":
        sentence = _("This address is the machine's own: a host on this machine gets there, one elsewhere does not.")
        return Tried(**made, state=WARN, sentence=sentence, advice=local)
    if is_plain:
        sentence = well + " " + _("What goes over it is not encrypted, tokens included.")
        advice = _("On a network that others share use %(scheme)s.") % {"scheme": "https" if url.scheme == "http" else "rediss"}
        return Tried(**made, state=WARN, sentence=sentence, advice=advice)
    return Tried(**made, state=OK, sentence=well)


def is_loopback(name: str) -> bool:
    """Whether the name leads a machine to itself alone, whichever it is asked on."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(name, None)}
    except (OSError, UnicodeError):
        return False
    addresses = [ipaddress.ip_address(str(text).partition("%")[0]) for text in found]
    return bool(addresses) and all(address.is_loopback or address.is_unspecified for address in addresses)


def _within(ask: Any) -> str:
    """Names that nobody resolves may take much longer than a connection that nobody takes."""
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        return str(pool.submit(ask).result(timeout=TRY_S + 0.5))
    except NotInTime:
        return _no_answer(TimeoutError())
    finally:
        pool.shutdown(wait=False)


def _no_answer(error: BaseException) -> str:
    reason = getattr(error, "reason", error)
    text = str(reason)
    if isinstance(reason, TimeoutError) or "timed out" in text.lower() or "timeout" in text.lower():
        return _("Nothing answers here within %(seconds)d s.") % {"seconds": TRY_S}
    return _("Nothing answers here: %(why)s.") % {"why": text.rstrip(".") or type(reason).__name__}
