"""A signed POST to an address that a person has named: Standard Webhooks (standardwebhooks.com), held to what is public.

The name is resolved once, each of its addresses is checked, and the connection goes to exactly a checked one: a name that
says something else a moment later leads nowhere. Nobody is followed who redirects, and of an answer only the status is read.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import secrets
import ssl
from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address

import httpx
from django.conf import settings
from django.utils.translation import gettext as _
from standardwebhooks import Webhook

from jobs import public_addresses
from jobs.public_addresses import Address
from jobs.undelivered import Undelivered
from projects import texts

WITHIN_S = 10  # for all of it: connection, request and the head of the answer
LONGEST_URL = 2000
PORTS = {"https": 443, "http": 80}


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def fault_of(text: str) -> str:
    """What is wrong with an address that someone types, in a sentence; "": it may be tried."""
    url = _parsed(text)
    if url is None:
        return _("an address as https://example.com/hook is needed, of at most %(most)s characters") % {"most": LONGEST_URL}
    if url.scheme == "http" and not settings.NOTICE_HTTP:
        return _("it must begin with https://, so that nobody on the way reads it")
    if url.userinfo:
        return _("no name and password before the host: the signature tells who sends")
    try:
        address = ip_address(_name(url))
    except ValueError:
        return ""
    return "" if public_addresses.may_call(address) else _refused(url)


def host_of(text: str) -> str:
    """For the audit, which must not keep what an address holds of a secret; "": there is none."""
    return httpx.URL(text).host if text else ""


def _parsed(text: str) -> httpx.URL | None:
    if len(text) > LONGEST_URL or not texts.is_readable(text) or " " in text:
        return None
    try:
        url = httpx.URL(text)
        _name(url)
    except (httpx.InvalidURL, ValueError):  # UnicodeError is one of these
        return None
    return url if url.scheme in PORTS and url.host and 0 < _port(url) < 65536 else None


def _name(url: httpx.URL) -> str:
    """The host as the network knows it: ASCII, and of an address of IPv6 without brackets."""
    return url.raw_host.decode("ascii").strip("[]")


def post(url: str, *, message_id: str, body: str, signed_with: Sequence[str], now: datetime) -> None:
    """Send `body` (JSON), signed with each secret. Raises Undelivered."""
    if fault := fault_of(url):
        raise Undelivered(fault, again=False)
    signature = " ".join(Webhook(secret).sign(message_id, now, body) for secret in signed_with)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "tpu-control-panel",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }
    parsed = httpx.URL(url)
    addresses = _addresses(parsed)
    try:
        status = asyncio.run(_status(parsed, addresses, body.encode(), headers))
    except TimeoutError:
        raise Undelivered(_("It did not answer within %(seconds)s s.") % {"seconds": WITHIN_S}) from None
    except (httpx.HTTPError, ssl.SSLError) as error:
        raise Undelivered(_("It cannot be reached: %(detail)s") % {"detail": str(error) or type(error).__name__}) from None
    if 300 <= status < 400:
        sentence = _("It answered with a redirect (%(status)s), which is not followed: name the address that it leads to.")
        raise Undelivered(sentence % {"status": status})
    if not 200 <= status < 300:
        raise Undelivered(_("It answered with HTTP %(status)s.") % {"status": status}, again=status != 410, is_answer=True)


def _addresses(url: httpx.URL) -> list[Address]:
    """Raises Undelivered unless all that the name stands for may be called."""
    try:
        found = public_addresses.resolved(_name(url), _port(url))
    except public_addresses.Unresolved as error:
        raise Undelivered(_("%(host)s has no address: %(detail)s") % {"host": url.host, "detail": error}) from None
    if not all(public_addresses.may_call(address) for address in found):
        raise Undelivered(_refused(url), again=False)
    return found


async def _status(url: httpx.URL, addresses: Sequence[Address], body: bytes, headers: Mapping[str, str]) -> int:
    """Of the answer of the first address that can be connected to; its body is not read. Raises TimeoutError, HTTPError."""
    named = {**headers, "Host": url.netloc.decode("ascii")}
    unreached: httpx.ConnectError | None = None
    async with (
        asyncio.timeout(WITHIN_S),
        httpx.AsyncClient(verify=_trust(), trust_env=False, follow_redirects=False, timeout=None) as client,
    ):
        for address in addresses:
            request = client.build_request(
                "POST",
                url.copy_with(host=str(address), fragment=None),
                content=body,
                headers=named,
                extensions={"sni_hostname": _name(url)},  # the certificate is checked against the name
            )
            try:
                answer = await client.send(request, stream=True)
            except httpx.ConnectError as error:  # nothing was sent
                unreached = error
                continue
            await answer.aclose()
            return answer.status_code
    assert unreached
    raise unreached


def _port(url: httpx.URL) -> int:
    return PORTS[url.scheme] if url.port is None else url.port


def _refused(url: httpx.URL) -> str:
    """Not which address: names of the panel's own network are not for everybody to look up."""
    sentence = _("%(host)s is not on the internet alone; whoever runs the panel may allow it (NOTICE_PRIVATE_ADDRESSES).")
    return sentence % {"host": url.host}


@functools.cache
def _trust() -> ssl.SSLContext:
    """What certificates are checked against: certifi's, or what SSL_CERT_FILE or SSL_CERT_DIR name."""
    return httpx.create_ssl_context()
