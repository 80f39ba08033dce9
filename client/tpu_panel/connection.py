"""HTTP to one panel: asks again where that is safe, and turns every other answer into an error with the panel's words.

Everything that is asked here is safe to ask again: what is read changes nothing, and what makes something carries a key by
which the panel knows it again.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from tpu_panel import errors
from tpu_panel.backoff import Backoff
from tpu_panel.errors import NotSignedIn, PanelError, TooManyRequests, Unreachable
from tpu_panel.version import VERSION

PATIENCE_S = 15.0  # for a panel that does not answer: it may be restarted
CONNECT_S, READ_S = 10.0, 30.0
STREAM_READ_S = 45.0  # a stream says something each 15 s
LONGEST_RETRY_AFTER_S = 60.0
TRY_AGAIN = {502, 503, 504}  # a proxy's word that the panel is away
HERE = ["all://localhost", "all://127.0.0.1", "all://[::1]"]  # reached without a proxy, whatever the environment says
Query = Mapping[str, Any]


class Connection:
    """`notice` is told, once an outage, that the panel does not answer and is asked again."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience_s: float = PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
        notice: Callable[[str], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = checked_url(url)
        self.patience_s = patience_s
        self.notice = notice or (lambda sentence: None)
        self.sleep = sleep
        self._client = httpx.Client(
            base_url=f"{self.url}/api/v1/",
            headers={"Authorization": f"Bearer {token}", "User-Agent": f"tpu-panel-client/{VERSION}"} if token else {},
            timeout=_timeout(READ_S),
            transport=transport,
            mounts=None if transport else dict.fromkeys(HERE),
        )
        self._has_token = bool(token)

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, query: Query | None = None, *, patience_s: float | None = None) -> Any:
        """The JSON at this address. Raises PanelError."""
        return self._json(self.get_bytes(path, query, patience_s=patience_s))

    def get_bytes(
        self, path: str, query: Query | None = None, *, patience_s: float | None = None, read_s: float = READ_S
    ) -> httpx.Response:
        """The answer with its bytes, whatever they are. Raises PanelError."""
        return self._ask("GET", path, patience_s=patience_s, params=_plain(query), timeout=_timeout(read_s))

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, key: str = "", **request: Any) -> Any:
        """Make something: once, however often it takes to be heard. Raises PanelError."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        content = {} if body is None else {"json": dict(body)}
        return self._json(self._ask("POST", path, patience_s=None, headers=headers, **content, **request))

    @contextmanager
    def stream(self, path: str, query: Query | None = None, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """An answer that is read as it comes. Tried once: who reads knows where to go on. Raises PanelError."""
        self._check_token()
        try:
            asked = self._client.build_request(
                "GET", path, params=_plain(query), headers=dict(headers or {}), timeout=_timeout(STREAM_READ_S)
            )
            answer = self._client.send(asked, stream=True)
            with closing(answer):
                if answer.status_code != 200:
                    answer.read()
                    raise self._error(answer)
                yield answer
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def _ask(self, method: str, path: str, *, patience_s: float | None, **request: Any) -> httpx.Response:
        self._check_token()
        backoff, deadline = Backoff(), time.monotonic() + (self.patience_s if patience_s is None else patience_s)
        while True:
            try:
                answer = self._client.request(method, path, **request)
            except httpx.TransportError as error:
                problem: PanelError = self._unreachable(error)
                is_final = isinstance(error, httpx.UnsupportedProtocol) or "CERTIFICATE_VERIFY_FAILED" in str(error)
            else:
                if answer.status_code < 300:
                    return answer
                problem = self._error(answer)
                is_final = answer.status_code != 429 and answer.status_code not in TRY_AGAIN
            wait_s = backoff.next_s()
            if isinstance(problem, TooManyRequests):
                wait_s = max(wait_s, problem.retry_after_s)
                is_final = wait_s > LONGEST_RETRY_AFTER_S or backoff.failures > 5
            elif time.monotonic() + wait_s > deadline:
                is_final = True
            if is_final:
                raise problem
            if backoff.failures == 1:
                self.notice(f"{problem.message} Trying again.")
            self.sleep(wait_s)

    def _check_token(self) -> None:
        if not self._has_token:
            raise NotSignedIn("no-token", f"There is no token for {self.url}. Sign in with: tpu-panel login {self.url}")

    def _json(self, answer: httpx.Response) -> Any:
        try:
            found = answer.json()
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):  # as all that a panel says is
            raise self._not_a_panel(answer)
        return found

    def _error(self, answer: httpx.Response) -> PanelError:
        if answer.is_redirect:
            place = answer.headers.get("Location", "elsewhere")
            return PanelError("redirected", f"{self.url} points to {place}: use that address.", status=answer.status_code)
        try:
            found = errors.of_answer(answer.status_code, answer.json(), retry_after_s=_retry_after_s(answer))
        except (ValueError, RecursionError):
            found = None
        if found is not None:
            return found
        if answer.status_code == 429:
            details = {"retry_after_s": _retry_after_s(answer) or 1.0}
            return TooManyRequests("throttled", f"{self.url} is asked too often.", status=429, details=details)
        if answer.status_code in TRY_AGAIN:
            sentence = f"The panel at {self.url} is away: a proxy answers with status {answer.status_code}."
            return Unreachable("away", sentence, status=answer.status_code)
        return self._not_a_panel(answer)

    def _not_a_panel(self, answer: httpx.Response) -> PanelError:
        sentence = f"{self.url} gave an answer that is not a panel's (status {answer.status_code}). Is the address right?"
        return Unreachable("not-a-panel", sentence, status=answer.status_code)

    def _unreachable(self, error: httpx.TransportError) -> Unreachable:
        if isinstance(error, httpx.TimeoutException):
            why = "it takes too long"
        else:
            why = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        return Unreachable("unreachable", f"The panel at {self.url} does not answer: {why.rstrip('.')}.")


def checked_url(text: str) -> str:
    """An address as it is used. Raises PanelError for what is none."""
    url = text.strip()
    if "://" not in url:
        url = f"http://{url}"
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_one = False
    if not is_one or any(mark.isspace() for mark in url):
        raise PanelError("not-an-address", f"{text!r} is no address of a panel, such as https://panel.example.")
    return url.rstrip("/")


def _timeout(read_s: float) -> httpx.Timeout:
    return httpx.Timeout(READ_S, connect=CONNECT_S, read=read_s)


def _plain(query: Query | None) -> httpx.QueryParams:
    """Without what is not asked for; a list is several of the same name."""
    found: list[tuple[str, str | int | float | bool | None]] = []
    for name, value in (query or {}).items():
        values = value if isinstance(value, (list, tuple)) else [value]
        found += [(name, str(one)) for one in values if one is not None and one != ""]
    return httpx.QueryParams(found)


def _retry_after_s(answer: httpx.Response) -> float | None:
    """Seconds, whichever of its two forms the header has."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(timezone.utc)).total_seconds()) if text else None
    except (TypeError, ValueError):
        return None
