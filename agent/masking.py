"""Keeps secrets out of the log: replaces every form of them, however the output is cut into pieces.

Scanning is by 8-byte heads: each form begins with one, and `bytes.find` runs over log text at 2 GB/s a head
(one compiled alternation was half as fast with a dozen heads, and `re` slows with each further form).
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterable, Iterator

MASK = b"[masked]"
HEAD_BYTES = 8  # of each form; a shorter secret would mask half the log


class Masker:
    """Streams bytes through: the same result for any cut of the same input.

    A secret is masked as its UTF-8 bytes, each line of at least 8 bytes, base64 (standard and URL-safe, also inside
    a longer base64 text), URL-quoted and JSON-escaped. Where two forms begin at one place the longer wins.
    Raises ValueError for a secret under 8 bytes.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in forms_of(secret)}
        self._forms: dict[bytes, list[bytes]] = {}  # head -> the forms that begin with it, longest first
        for form in sorted(forms, key=len, reverse=True):
            self._forms.setdefault(form[:HEAD_BYTES], []).append(form)
        self._beginnings = {head[:length] for head in self._forms for length in range(1, HEAD_BYTES)}
        self._tail = b""  # withheld: it may yet become a form

    def feed(self, data: bytes) -> bytes:
        """What can be told now; withholds only the longest tail that is a proper prefix of a form."""
        if not self._forms:
            return data
        return self._mask(self._tail + data, final=False)

    def flush(self) -> bytes:
        """The rest, when nothing more comes."""
        return self._mask(self._tail, final=True)

    def _mask(self, text: bytes, *, final: bool) -> bytes:
        pieces: list[bytes] = []
        told = 0  # text before this is in `pieces`
        hits = {place: head for head in self._forms if (place := text.find(head)) >= 0}
        while hits:
            place = min(hits)
            head = hits.pop(place)
            if place >= told:
                length = self._length_at(text, place, head, final)
                if length is None:
                    return self._keep(pieces, text, told, place)
                if length:
                    pieces += (text[told:place], MASK)
                    told = place + length
            following = text.find(head, max(told, place + 1))
            if following >= 0:
                hits[following] = head
        return self._keep(pieces, text, told, len(text) if final else self._end_before_beginning(text, told))

    def _length_at(self, text: bytes, place: int, head: bytes, final: bool) -> int | None:
        """Bytes of the longest form at `place`; 0 when there is none, None when more input decides it."""
        left = len(text) - place
        for form in self._forms[head]:
            if len(form) <= left:
                if text.startswith(form, place):
                    return len(form)
            elif not final and form.startswith(text[place:]):
                return None
        return 0

    def _end_before_beginning(self, text: bytes, told: int) -> int:
        """Where the tail starts that is shorter than a head and may become one."""
        for length in range(min(HEAD_BYTES - 1, len(text) - told), 0, -1):
            if text[-length:] in self._beginnings:
                return len(text) - length
        return len(text)

    def _keep(self, pieces: list[bytes], text: bytes, told: int, end: int) -> bytes:
        self._tail = text[end:]
        if not pieces:
            return text[:end]
        return b"".join((*pieces, text[told:end]))


def forms_of(secret: str) -> set[bytes]:
    """The byte strings that give `secret` away. Raises ValueError when it is under 8 bytes."""
    value = secret.encode("utf-8", "surrogateescape")
    if len(value) < HEAD_BYTES:
        raise ValueError("a secret under 8 bytes cannot be masked")
    forms = {value}
    for plain in {value, value.strip()}:
        forms.update(_base64_forms(plain), _url_forms(plain))
    forms.update(line.strip() for line in value.splitlines())
    forms.update(
        json.dumps(secret, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "surrogateescape") for ascii_only in (True, False)
    )
    return {form for form in forms if len(form) >= HEAD_BYTES}


def _base64_forms(value: bytes) -> Iterator[bytes]:
    """The whole encoding, and for each alignment the digits that `value` alone decides."""
    whole = binascii.b2a_base64(value, newline=False)
    standard = [whole, whole.rstrip(b"=")]
    for before in range(3):
        digits = binascii.b2a_base64(b"\0" * before + value, newline=False)
        first = (0, 2, 3)[before]  # digits that hold bits of the bytes before
        standard.append(digits[first : (before + len(value)) * 8 // 6])
    for form in standard:
        yield form
        yield form.replace(b"+", b"-").replace(b"/", b"_")


def _url_forms(value: bytes) -> Iterator[bytes]:
    for safe in (b"", b"/", b"!'()*"):  # quote(safe=""), quote(), encodeURIComponent
        for hexadecimal in (b"%%%02X", b"%%%02x"):
            quoted = b"".join(_quoted(byte, safe, hexadecimal) for byte in value)
            yield quoted
            yield quoted.replace(b"%20", b"+")


def _quoted(byte: int, safe: bytes, hexadecimal: bytes) -> bytes:
    char = bytes((byte,))
    return char if char.isalnum() or char in b"_.-~" + safe else hexadecimal % byte
