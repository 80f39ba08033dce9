"""The panel's words in other languages than English: what the code says, and what `locale/` has for it.

The catalogues (.po) are kept in the repository; what Django reads (.mo) is made of them beside the panel's other state, by
`manage.py prepare`. All by Babel, so that nobody needs GNU gettext.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

APPS = ("projects", "monitoring", "clusters", "jobs", "controlpanel")
KEYWORDS: dict[str, Any] = {"_": None, "gettext": None, "gettext_lazy": None, "gettext_noop": None}
KEYWORDS |= {"ngettext": (1, 2), "ngettext_lazy": (1, 2), "pgettext": ((1, "c"), 2), "pgettext_lazy": ((1, "c"), 2)}
KEYWORDS |= {"npgettext": ((1, "c"), 2, 3), "npgettext_lazy": ((1, "c"), 2, 3)}
PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[-+#0]*\d*(?:\.\d+)?[a-zA-Z]|%%[a-zA-Z]?|\$?\{\w*\}")
OTHERS = tuple(code for code, _name in settings.LANGUAGES if code != settings.LANGUAGE_CODE)


# -- What the code says ----------------------------------------------------------------------------------------
def said() -> Catalog:
    """Each message of the panel's Python and templates, once."""
    catalog = Catalog(charset="utf-8", fuzzy=False)
    for path in _sources():
        for _line, message, comments, context in extract("python", io.BytesIO(_as_python(path)), keywords=KEYWORDS):
            catalog.add(message, context=context, auto_comments=comments)
    return catalog


def _sources() -> Iterator[Path]:
    base = Path(settings.BASE_DIR)
    for app in APPS:
        yield from sorted(path for path in (base / app).rglob("*.py") if "migrations" not in path.parts)
    yield from sorted(path for path in (base / "templates").rglob("*.*") if path.is_file())


def _as_python(path: Path) -> bytes:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        text = templatize(text, origin=str(path))
        text = "\n".join(line.strip() for line in text.splitlines())  # indentation means nothing in it
    return text.encode()


# -- What a catalogue has for it ---------------------------------------------------------------------------------
def source_of(language: str) -> Path:
    return Path(settings.BASE_DIR) / "locale" / to_locale(language) / "LC_MESSAGES" / "django.po"


def kept(language: str) -> Catalog:
    with source_of(language).open("rb") as file:
        return read_po(file, locale=to_locale(language), abort_invalid=True)


def faults(language: str, *, code: Catalog | None = None, catalog: Catalog | None = None) -> list[str]:
    """What keeps a language from being complete, a line each."""
    code, catalog = code or said(), catalog or kept(language)
    there = {_key(message): message for message in catalog if message.id}
    wanted = {_key(message): message for message in code if message.id}
    found = [f"missing: {_shown(wanted[key])}" for key in wanted.keys() - there.keys()]
    found += [f"no longer said: {_shown(there[key])}" for key in there.keys() - wanted.keys()]
    for key in wanted.keys() & there.keys():
        message = there[key]
        words = _forms(message.string)
        if message.fuzzy:
            found.append(f"fuzzy: {_shown(message)}")
        elif not all(words) or len(words) != (catalog.num_plurals if message.pluralizable else 1):
            found.append(f"not translated: {_shown(message)}")
        elif wanted[key].id != message.id:
            found.append(f"its plural differs: {_shown(message)}")
        elif wrong := _wrong_placeholders(message, words):
            found.append(f"placeholders {wrong}: {_shown(message)}")
    return sorted(found)


def _key(message: Message) -> tuple[str, str]:
    return message.context or "", _forms(message.id)[0]


def _forms(words: Any) -> tuple[str, ...]:
    """Of a message or its translation: one, or those of its plural."""
    return tuple(words) if isinstance(words, tuple | list) else (words,)


def _shown(message: Message) -> str:
    return repr(message.id)


def _wrong_placeholders(message: Message, words: tuple[str, ...]) -> str:
    """Where a translation has others than the English, or in another number; of a plural the last form counts."""
    wanted = sorted(PLACEHOLDER.findall(_forms(message.id)[-1]))
    for text in words:
        if (has := sorted(PLACEHOLDER.findall(text))) != wanted:
            return f"{has} for {wanted}"
    return ""


def renew(language: str) -> list[str]:
    """Write the catalogue anew: what the code says now, with the words that were there. Returns its faults."""
    catalog, code = kept(language), said()
    catalog.update(code, no_fuzzy_matching=True)  # a word of a similar sentence is mostly a wrong one
    write(language, catalog)
    return faults(language, code=code)


def write(language: str, catalog: Catalog) -> None:
    """In the order of the English, and under the head that is there: with the day in it branches would not merge."""
    made = io.BytesIO()
    write_po(made, catalog, omit_header=True, no_location=True, sort_output=True, ignore_obsolete=True, width=120)
    source = source_of(language)
    head, _gap, _rest = source.read_text(encoding="utf-8").partition("\n\n")
    source.write_bytes(head.encode() + b"\n\n" + made.getvalue().strip() + b"\n")


# -- What Django reads -----------------------------------------------------------------------------------------
def compile_all() -> None:
    """Make the .mo of each language in settings.LOCALE_PATHS where it is missing or older than its source."""
    for language in OTHERS:
        source = source_of(language).read_bytes()
        compiled = Path(settings.LOCALE_PATHS[0]) / to_locale(language) / "LC_MESSAGES" / "django.mo"
        mark = compiled.with_suffix(".source")
        digest = hashlib.sha256(source).hexdigest()
        if compiled.exists() and mark.exists() and mark.read_text() == digest:
            continue
        compiled.parent.mkdir(parents=True, exist_ok=True)
        made = io.BytesIO()
        write_mo(made, kept(language))
        _replace(compiled, made.getvalue())
        _replace(mark, digest.encode())


def _replace(path: Path, content: bytes) -> None:
    """Whole or not at all: processes may start side by side."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(name).replace(path)
