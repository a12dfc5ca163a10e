"""Validation against kiviat's JSON Schemas: finds the first place at which a value violates its schema.

All data from files is validated before it is used. Validated data has the keys, types and words of the
schema, printable texts, whole numbers of 64 bits, and other numbers that can be multiplied and divided
without overflow. The keywords of JSON Schema that kiviat's schemas use are supported, except `if`: whether a
record needs a checksum is decided where checksums are verified. Tests compare this with a complete
implementation.

Valid objects become dataclasses (`made`); keys of later versions are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar

from kiviat.record.schema import schema

_T = TypeVar("_T")

Part = Mapping[str, Any]
# The place of a violation and its description; None for a valid value.
Wrong = tuple[str, str] | None
Check = Callable[[Any], Wrong]

_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a text"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list,), "a list"),
    "object": ((dict,), "a table of names and values"),
    "null": ((type(None),), "null"),
}
_LIMITS: Mapping[str, tuple[tuple[type, ...], Callable[[Any, Any], bool], str]] = {
    "minimum": ((int, float), lambda value, limit: value >= limit, "at least {}"),
    "maximum": ((int, float), lambda value, limit: value <= limit, "at most {}"),
    "exclusiveMinimum": ((int, float), lambda value, limit: value > limit, "more than {}"),
    "exclusiveMaximum": ((int, float), lambda value, limit: value < limit, "less than {}"),
    "minItems": ((list,), lambda value, limit: len(value) >= limit, "at least {} of them"),
    "pattern": ((str,), lambda value, pattern: re.search(pattern, value) is not None, "one like {}"),
}
_WORDS = {*("type", "const", "enum", "anyOf", "$ref", "description", "items", "properties", "required")} | {
    *("additionalProperties", "if", "then", "title", "$schema", "$id", "$defs", *_LIMITS)
}
# Magnitudes of measured values, whose products and ratios are still numbers.
SMALLEST, LARGEST = 1e-200, 1e100
_LARGEST_WHOLE = 2**63 - 1
_DEEPEST = 32  # limit on the nesting of values without schema, such as a plan's definition
_NO_TEXT = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*")


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise ValueError for invalid text, NaN and excessive nesting."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def first_wrong(value: Any, name: str, definition: str | None = None) -> str | None:
    """Return the first place in `value` that violates the schema `name`, or a definition in it.

    Example: "launches[0].ranks[3].host is 7, where a text was expected". None if the value is valid.
    """
    if (wrong := _check(name, definition)(value)) is None:
        return None
    place, words = wrong
    return f"{place.removeprefix('.')} {words}".lstrip()


@cache
def _check(name: str, definition: str | None) -> Check:
    whole = schema(name)
    return _compiled(whole["$defs"][definition] if definition else whole, whole)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _compiled(part: Part, whole: Part) -> Check:
    """Return the check for a part of a schema, compiled once because a run has a hundred thousand values."""
    while "$ref" in part:
        part = whole["$defs"][part["$ref"].rsplit("/", 1)[1]]
    if unknown := part.keys() - _WORDS:
        raise NotImplementedError(f"{unknown} of a schema")
    if "anyOf" in part:
        return _of_either(part, whole)
    inner = {**_OF_ANY, list: _of_list(part, whole), dict: _of_table(part, whole)}
    types = _types(part)
    words = part.get("enum", [part["const"]] if "const" in part else None)
    allowed = None if words is None else {(type(word), word) for word in words}
    limits = [(*_LIMITS[word][:2], limit) for word, limit in part.items() if word in _LIMITS]

    def check(value: Any) -> Wrong:
        kind = type(value)
        if types and kind not in types:
            return "", _is(value, part)
        if allowed is not None and (kind in (list, dict) or (kind, value) not in allowed):
            return "", _is(value, part)
        for kinds, holds, limit in limits:
            if kind in kinds and not holds(value, limit):
                return "", _is(value, part)
        return inner[kind](value) if kind in inner else None

    return check


def _of_either(part: Part, whole: Part) -> Check:
    """Return the check for alternatives, which in kiviat's schemas differ in their types."""
    by_type = {kind: _compiled(one, whole) for one in part["anyOf"] for kind in _types(one)}
    expected = " or ".join(map(_expected, part["anyOf"]))

    def check(value: Any) -> Wrong:
        inner = by_type.get(type(value))
        return inner(value) if inner else ("", f"is {_shown(value)}, where {expected} was expected")

    return check


def _of_table(part: Part, whole: Part) -> Check:
    known = {key: _compiled(one, whole) for key, one in part.get("properties", {}).items()}
    required, more = part.get("required", ()), part.get("additionalProperties", True)
    others = (_free if more is True else _compiled(more, whole)) if more is not False else None

    def check(value: Mapping[str, Any]) -> Wrong:
        for key in required:
            if key not in value:
                return "", f"lacks {key!r}"
        for key, one in value.items():
            inner = known.get(key, others)
            if inner is None:
                near = get_close_matches(key, known, n=1)
                return "", f"has the unknown name {_shown(key)}" + (f", for {near[0]!r}?" if near else "")
            if wrong := (None if key in known else _bad_name(key)) or inner(one):
                return _within(key, wrong)
        return None

    return check


def _of_list(part: Part, whole: Part) -> Check:
    items = part.get("items", {})
    inner = _compiled(items, whole) if items else _free
    numbers = set() if items.keys() - {"type", "description"} else set(_types(items))
    # A table may have a million numbers; they need no further check.
    quick = bool(numbers) and numbers <= {int, float, type(None)}

    def check(value: list[Any]) -> Wrong:
        if quick and {*map(type, value)} <= numbers and all(map(_small, value)):
            return None
        for at, one in enumerate(value):
            if wrong := inner(one):
                return f"[{at}]{wrong[0]}", wrong[1]
        return None

    return check


def _small(value: float | None) -> bool:
    return not value or SMALLEST <= abs(value) <= _LARGEST_WHOLE


def _of_text(value: str) -> Wrong:
    if value.isascii() or not _NO_TEXT.search(value):
        return None
    return "", f"is {_shown(value)}, which is not a printable text"


def _of_whole(value: int) -> Wrong:
    fits = -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE
    return None if fits else ("", f"is {_shown(value)}, which does not fit into 64 bits")


def _of_number(value: float) -> Wrong:
    if not value or SMALLEST <= abs(value) <= LARGEST:
        return None
    return "", f"is {value}, which is not 0 or between {SMALLEST:g} and {LARGEST:g} in size"


_OF_ANY: Mapping[type, Check] = {str: _of_text, int: _of_whole, float: _of_number}


def _free(value: Any, depth: int = 0) -> Wrong:
    """Check a value that the schema leaves open."""
    if not isinstance(value, dict | list):
        return _OF_ANY[type(value)](value) if type(value) in _OF_ANY else None
    if depth == _DEEPEST:
        return "", "is nested too deeply"
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if wrong := _bad_name(key) or _free(one, depth + 1):
            return _within(key, wrong)
    return None


def _bad_name(key: Any) -> Wrong:
    return ("", "is a name with unprintable characters") if isinstance(key, str) and _of_text(key) else None


def _within(key: Any, wrong: tuple[str, str]) -> tuple[str, str]:
    plain = isinstance(key, str) and _PLAIN_KEY.fullmatch(key)
    return (f".{key}" if plain else f"[{_shown(key)}]") + wrong[0], wrong[1]


def _types(part: Part) -> tuple[type, ...]:
    kinds = part.get("type", ())
    return tuple(kind for word in ([kinds] if isinstance(kinds, str) else kinds) for kind in _TYPES[word][0])


def _is(value: Any, part: Part) -> str:
    return f"is {_shown(value)}, where {_expected(part)} was expected"


def _expected(part: Part) -> str:
    if "const" in part or "enum" in part:
        return " or ".join(map(_shown, part.get("enum", [part.get("const")])))
    kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
    limits = [words.format(part[word]) for word, (_, _, words) in _LIMITS.items() if word in part]
    return ", ".join([" or ".join(_TYPES[kind][1] for kind in kinds), *limits])


def _shown(value: Any) -> str:
    """Return a value as short, printable text."""
    if isinstance(value, dict | list):
        return _TYPES["object" if isinstance(value, dict) else "array"][1]
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of more than 40 digits"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def made(cls: type[_T], data: Mapping[str, Any], **parts: Any) -> _T:
    """Return a `cls` whose fields are taken from `data` and `parts`; lists become tuples."""
    names = [one.name for one in fields(cls)]  # type: ignore[arg-type]
    values = {
        name: tuple(value) if isinstance(value := data[name], list) else value
        for name in names
        if name in data and name not in parts
    }
    return cls(**values, **parts)


def each(cls: type[_T], data: Iterable[Mapping[str, Any]]) -> tuple[_T, ...]:
    """Return a `cls` made of each object."""
    return tuple(made(cls, one) for one in data)
