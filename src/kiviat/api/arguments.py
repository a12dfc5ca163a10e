"""Checks of arguments: what Python would take for something else, or refuse by a traceback, is an InputError.

Each function has the `name` of the argument for the message.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from numbers import Real
from os import PathLike, fspath
from typing import Any, SupportsIndex

from kiviat.record import InputError
from kiviat.record.types import Scalar
from kiviat.record.units import listed


def several(given: object) -> list[Any]:
    """Return one value or several as a list; a text is one value."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def words(name: str, given: str | Iterable[str]) -> list[str]:
    """Return one word or several. Raise InputError for anything else."""
    found = several(given)
    if not all(isinstance(word, str) for word in found):
        raise wrong(name, given, "a word or a list of words")
    return found


def whole_number(name: str, given: SupportsIndex, least: int = 1) -> int:
    """Return a whole number of any type but bool. Raise InputError for anything else, and below `least`."""
    try:
        number = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise wrong(name, given, f"a whole number, {least} or more")
    return number


def whole_numbers(name: str, given: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """Return one whole number or several, 1 or more. Raise InputError for anything else."""
    return [whole_number(name, number) for number in several(given)]


def fraction(name: str, given: float) -> float:
    """Return a fraction, 0 … 1. Raise InputError for anything else."""
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 <= given <= 1:
        raise wrong(name, given, "a fraction from 0 to 1: 5 % is 0.05")
    return float(given)


def refuse_unknown(name: str, given: object, choices: Iterable[str]) -> None:
    """Raise InputError for what is not one of `choices`."""
    known = list(choices)
    if given not in known:
        raise wrong(name, given, listed([repr(each) for each in known], "or"))


def file_name(name: str, given: str | PathLike[str]) -> str:
    """Return a name or path as text. Raise InputError for anything else."""
    if not isinstance(given, str | PathLike):
        raise wrong(name, given, "a name or a path")
    return fspath(given)


def settings(name: str, given: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the values of axes. Raise InputError for anything else than a mapping."""
    if not isinstance(given, Mapping):
        raise wrong(name, given, "a dictionary, such as {'cache': 'hot'}")
    return dict(given)


def wrong(name: str, given: object, wanted: str) -> InputError:
    """Return the error that `given` is not accepted, and what is `wanted`."""
    return InputError(f"{name}={given!r} is not accepted; give {wanted}")
