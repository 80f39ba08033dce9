"""The JSON Schema of a definition's parameters: what it may be, and the validator that launches are held to.

Whoever may edit a definition writes what the panel then runs at each launch. So a schema asks no network, its references end,
and its patterns are RE2's, which take linear time; whatever else JSON Schema knows is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from agent.protocol import UNREADABLE
from jobs.values import MOST_LEVELS, is_storable, unstorable
from projects.errors import Invalid

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")  # of a parameter
ROOT = "parameters"  # where it stands in a definition
DIALECT = "https://json-schema.org/draft/2020-12/schema"
MOST_PARAMETERS = 200
MOST_VALUES = 5000  # of a schema, whatever they are; with what its references stand for as well
MOST_PATTERN = 1000  # characters
MOST_TITLE = 100
MOST_DESCRIPTION = 2000
MOST_UNIT = 30
MOST_STEPS = 500_000  # of one check: a keyword held against a value is one, and one for each value that the keyword names
MOST_FAULTS = 100  # that are told of at once
MOST_MESSAGE = 300  # a library's own words may repeat what they are about

IN_NAMES = ("properties", "$defs", "definitions", "dependentSchemas")  # keywords that hold schemas by name
IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
ALONE = (
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "not",
    "if",
    "then",
    "else",
)
# Those that give a schema another address, where "#" would mean something else, and the one whose patterns a validator mixes.
REFUSED = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "$vocabulary")
RANGES = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties"))


class TooMuch(Exception):
    """To hold these values to this schema would take more steps, or lead deeper, than is done for anybody."""


def faults(schema: Mapping[str, Any], values: Mapping[str, Any]) -> list[Any]:
    """The first MOST_FAULTS jsonschema errors of the values. No other document is known, no pattern takes more than linear time.

    Raises TooMuch, and referencing's Unresolvable for a schema that `wrong` has not passed.
    """
    from referencing import Registry

    left = _steps_left.set([MOST_STEPS])
    try:
        return list(islice(_kind()(schema, registry=Registry()).iter_errors(values), MOST_FAULTS))
    except RecursionError:
        raise TooMuch from None
    finally:
        _steps_left.reset(left)


def wrong(schema: Any) -> dict[str, str]:
    """What keeps it from being the schema of a definition's parameters: `parameters.properties.epochs.type` -> sentence."""
    if not isinstance(schema, Mapping):
        return {ROOT: _("an object is needed")}
    if not is_storable(schema):
        return {ROOT: unstorable()}
    if _size(schema) > MOST_VALUES:
        return {ROOT: _("at most %(most)s values") % {"most": MOST_VALUES}}
    if found := dict(_no_schema(schema)):
        return found
    parts = list(_parts(schema, ROOT))
    found = dict(_of_the_whole(schema)) | {at: why for where, part in parts for at, why in _of_a_part(part, where)}
    found |= dict(_references(schema, parts))
    return found or dict(_defaults(schema))


def searches(pattern: str, text: str) -> bool:
    """Whether a pattern that `wrong` has passed is somewhere in the text."""
    return _compiled(pattern).search(text.encode(errors="replace")) is not None


def sentence(error: Any) -> str:
    """What a jsonschema error says, in words for people where the library's are for programmers."""
    return _needed(error.validator_value) if error.validator == "type" else cut(error.message)


def _needed(types: str | list[str]) -> str:
    words = {
        "integer": _("a whole number is needed"),
        "number": _("a number is needed, written like 0.01"),
        "boolean": _("true or false is needed"),
        "string": _("a text is needed"),
        "array": _("a list is needed"),
        "object": _("an object is needed"),
        "null": _("nothing may be given here"),
    }
    return _(" or ").join(words[one] for one in ([types] if isinstance(types, str) else types))


def cut(message: str) -> str:
    """A message of a library, without most of the megabyte that it may repeat."""
    return message if len(message) <= MOST_MESSAGE else f"{message[: MOST_MESSAGE // 2]}…{message[-MOST_MESSAGE // 2 :]}"


@cache
def _kind() -> Any:
    """Costs 12 MB when it is imported, and only launches and edits need it."""
    from jsonschema import Draft202012Validator, ValidationError, validators

    def pattern(_validator: Any, wanted: str, instance: Any, _schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not searches(wanted, instance):
            yield ValidationError(_("does not match the pattern %(pattern)s") % {"pattern": wanted})

    def unique(_validator: Any, wanted: bool, instance: Any, _schema: Any) -> Iterator[Any]:
        if wanted and isinstance(instance, list) and len(set(map(_canonical, instance))) < len(instance):
            yield ValidationError(_("holds the same value twice"))

    own = {"pattern": pattern, "uniqueItems": unique}
    checks = Draft202012Validator.VALIDATORS | own
    return validators.extend(Draft202012Validator, {name: _counted(check) for name, check in checks.items()})


Check = Callable[[Any, Any, Any, Any], Iterable[Any] | None]
_steps_left: ContextVar[list[int] | None] = ContextVar("steps left", default=None)  # of the check that runs; None: any number


def _counted(check: Check) -> Check:
    """Of a keyword, which goes through what it names for each value that it is held against."""

    def counted(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if left := _steps_left.get():
            left[0] -= 1 + (len(wanted) if isinstance(wanted, list | dict) else 0)
            if left[0] < 0:
                raise TooMuch
        yield from check(validator, wanted, instance, schema) or ()

    return counted


def _canonical(value: Any) -> str:
    """The same text of what is equal in JSON Schema, to which 1 is 1.0 and no true."""
    return json.dumps(_plain_numbers(value), sort_keys=True)


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain_numbers(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@cache
def _options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return options


def _compiled(pattern: str) -> Any:
    """re2 keeps the last ones that it compiled. As bytes: else it counts characters for each answer."""
    import re2

    return re2.compile(pattern.encode(), _options())


def _size(value: Any) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


# -- As JSON Schema says -------------------------------------------------------------------------------------


def _no_schema(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for error in _of_schemas().iter_errors(schema):
        where = [ROOT, *map(str, error.absolute_path)]
        if where[-1] == "type":
            words = _("there is no such type; known are %(known)s")
            yield ".".join(where), words % {"known": "string, number, integer, boolean, array, object, null"}
        else:
            yield ".".join(where), sentence(error)


@cache
def _of_schemas() -> Any:
    """A validator of schemas. Without their "$schema" its documents are held to by `_kind`, else by jsonschema's own."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import SPECIFICATIONS
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    documents = {uri: dict(SPECIFICATIONS[uri].contents) for uri in SPECIFICATIONS if "2020-12" in uri}
    for document in documents.values():
        del document["$schema"]
    known = [(uri, DRAFT202012.create_resource(document)) for uri, document in documents.items()]
    return _kind()(documents[Draft202012Validator.META_SCHEMA["$id"]], registry=Registry().with_resources(known))


def _parts(schema: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """It and the schemas within it, each with its path."""
    if not isinstance(schema, Mapping):  # true and false are schemas, too
        return
    yield path, schema
    for keyword in IN_NAMES:
        for name, part in schema.get(keyword, {}).items():
            yield from _parts(part, f"{path}.{keyword}.{name}")
    for keyword in IN_LISTS:
        for number, part in enumerate(schema.get(keyword, [])):
            yield from _parts(part, f"{path}.{keyword}.{number}")
    for keyword in ALONE:
        yield from _parts(schema.get(keyword), f"{path}.{keyword}")


# -- As a definition needs it ----------------------------------------------------------------------------------


def _of_the_whole(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties", {})
    if schema.get("type", "object") != "object":
        yield f"{ROOT}.type", _("parameters come by name, so it is object, or left out")
    if schema.get("$schema", DIALECT).rstrip("#") != DIALECT:
        yield f"{ROOT}.$schema", _("only %(known)s is known here") % {"known": DIALECT}
    if len(properties) > MOST_PARAMETERS:
        yield f"{ROOT}.properties", _("at most %(most)s parameters") % {"most": MOST_PARAMETERS}
    for name, part in properties.items():
        if not NAME.fullmatch(name):
            words = _("a name has small letters, digits and _, begins with a letter, and has at most 63 of them")
            yield f"{ROOT}.properties.{name}", words
        elif not isinstance(part, Mapping):
            yield f"{ROOT}.properties.{name}", _("an object is needed")
    if missing := [name for name in schema.get("required", []) if name not in properties]:
        yield f"{ROOT}.required", _("there is no parameter %(names)s") % {"names": _named(missing)}
    order = schema.get("x-order", [])
    if not isinstance(order, list) or any(not isinstance(name, str) or name not in properties for name in order):
        yield f"{ROOT}.x-order", _("a list of names of parameters is needed")
    elif len(set(order)) < len(order):
        yield f"{ROOT}.x-order", _("it names one twice")


def _of_a_part(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for keyword in REFUSED:
        if keyword in schema:
            yield f"{path}.{keyword}", _("is not taken here: a schema stands alone, and its parts below $defs")
    if "patternProperties" in schema:
        yield f"{path}.patternProperties", _("is not taken here; propertyNames with a pattern says what names may be")
    if "$schema" in schema and path != ROOT:
        yield f"{path}.$schema", _("only the whole schema may say it")
    yield from _words(schema, path)
    if schema.get("enum") == []:
        yield f"{path}.enum", _("at least one value is needed")
    for least, most in RANGES:
        if least in schema and most in schema and schema[least] > schema[most]:
            yield f"{path}.{most}", _("it is less than %(least)s") % {"least": least}
    if (pattern := schema.get("pattern")) is not None and (why := _no_pattern(pattern)):
        yield f"{path}.pattern", why


def _words(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for name, most in (("title", MOST_TITLE), ("description", MOST_DESCRIPTION), ("x-unit", MOST_UNIT)):
        text = schema.get(name, "")
        if not isinstance(text, str):
            yield f"{path}.{name}", _("a text is needed")
        elif len(text) > most:
            yield f"{path}.{name}", _("at most %(most)s characters") % {"most": most}
        elif UNREADABLE.search(text.replace("\n", "") if name == "description" else text):
            yield f"{path}.{name}", _("holds a control character or one that turns the direction of text")


def _no_pattern(pattern: str) -> str:
    """Why RE2 does not take it; empty: it does."""
    import re2

    if len(pattern) > MOST_PATTERN:
        return _("at most %(most)s characters") % {"most": MOST_PATTERN}
    try:
        _compiled(pattern)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        words = _(
            "not a regular expression of RE2, which has no look-ahead and no back-references as they can run for ever: %(why)s"
        )
        return words % {"why": cut(why)}
    return ""


def _references(schema: Mapping[str, Any], parts: list[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Each is to a part below $defs; written out where they stand, they end and are no more than MOST_VALUES."""
    known = {
        f"#/{keyword}/{name}": part for keyword in ("$defs", "definitions") for name, part in schema.get(keyword, {}).items()
    }
    for where, part in parts:
        reference = part.get("$ref", "")
        if reference and reference not in known:
            if reference.startswith("#"):
                words = _("there is no such part; a reference is #/$defs/ and a name that is there")
            else:
                words = _("the panel asks no network for a schema: put it below $defs and say #/$defs/ and its name")
            yield f"{where}.$ref", words
            return
    written_out: dict[str, int] = {}
    if _written_out(schema, known, written_out, ()) > MOST_VALUES:
        yield f"{ROOT}.$defs", _("a reference leads back to itself, or all of them together stand for too much")


def _written_out(schema: Any, known: Mapping[str, Any], counted: dict[str, int], within: tuple[str, ...]) -> int:
    """How many values it has with what its references stand for; more than MOST_VALUES where that never ends."""
    total = 0
    for _path, part in _parts(schema, ""):
        total += _size({name: value for name, value in part.items() if not isinstance(value, dict | list)})
        reference = part.get("$ref")
        if reference is None:
            continue
        if reference in within or len(within) > MOST_LEVELS:
            return MOST_VALUES + 1
        if reference not in counted:
            counted[reference] = _written_out(known[reference], known, counted, (*within, reference))
        total += counted[reference]
    return total


def _defaults(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A default that no launch would be let through with."""
    defaults = {name: part["default"] for name, part in schema.get("properties", {}).items() if "default" in part}
    fields = {keyword: schema[keyword] for keyword in ("properties", "$defs", "definitions") if keyword in schema}
    try:
        found = faults(fields, defaults)
    except TooMuch:
        yield ROOT, _("takes too long to check its own defaults: make them smaller, or the schema simpler")
        return
    for error in found:
        name, *below = map(str, error.absolute_path)
        yield ".".join([ROOT, "properties", name, "default", *below]), sentence(error)


def _named(names: list[str]) -> str:
    return cut(", ".join(names))


def unresolved(error: Exception) -> Invalid:
    """Of a schema from before it was looked at whether its references lead anywhere."""
    return Invalid({"parameters": _("the definition's schema cannot be used: %(why)s") % {"why": cut(str(error))}})
