"""Which addresses of the network the panel calls on a person's word: those of the internet, and what whoever runs it allows.

Else anybody with an account could reach, through the panel, what only its own machine or network should.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from django.conf import settings

Address = IPv4Address | IPv6Address
RESOLVED_WITHIN_S = 5
NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address


class Unresolved(Exception):
    """There is no address of this name, or none came in time."""


def resolved(host: str, port: int) -> list[Address]:
    """All addresses of a name, or the address that it is, in the order in which they are to be tried. Raises Unresolved."""
    found: list[Address] = []
    failed: list[str] = []

    def ask() -> None:
        try:
            for *_kind, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                address = ip_address(str(place[0]).partition("%")[0])
                if address not in found:
                    found.append(address)
        except (OSError, UnicodeError, ValueError) as error:
            failed.append(str(error))

    asking = threading.Thread(target=ask, daemon=True, name="resolve")  # the resolver itself has no time limit
    asking.start()
    asking.join(RESOLVED_WITHIN_S)
    if asking.is_alive():
        raise Unresolved(f"no answer within {RESOLVED_WITHIN_S} s")
    if failed or not found:
        raise Unresolved(failed[0] if failed else "no address")
    return found


def may_call(address: Address) -> bool:
    return _is_allowed(address) or all(_is_public(one) or _is_allowed(one) for one in _meant(address))


def _meant(address: Address) -> Iterator[Address]:
    """The address of IPv4 that it is another way to write; else the address, and the one to which a router would tunnel it."""
    if isinstance(address, IPv6Address):
        same = address.ipv4_mapped or (IPv4Address(int(address) & 0xFFFFFFFF) if address in NAT64 else None)
        if same is not None:
            yield same
            return
        if inner := address.sixtofour or (address.teredo[1] if address.teredo else None):
            yield inner
    yield address


def _is_public(address: Address) -> bool:
    is_special = address.is_multicast or address.is_reserved or address.is_unspecified or getattr(address, "is_site_local", False)
    return address.is_global and not is_special


def _is_allowed(address: Address) -> bool:
    return any(address in network for network in settings.NOTICE_PRIVATE_ADDRESSES)
