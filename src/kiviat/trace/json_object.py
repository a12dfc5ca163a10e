"""Checked access to JSON from untrusted files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FINITE = 1e300
MOST_WHOLE = (1 << 64) - 1
MOST_RANKS = (1 << 31) - 1  # limit of MPI's int
# Seconds from 1970 to the end of the year 9999, the latest printable date.
MOST_DATE_S = 253_402_300_799


def parsed(line: bytes | str) -> Any:
    """Return the parsed JSON; ValueError if it is invalid or nested too deeply."""
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


@dataclass(frozen=True)
class JsonObject:
    """A JSON object and its path in the file. Methods raise ValueError for missing or wrong values."""

    words: Mapping[str, Any]
    where: str = ""

    @classmethod
    def of(cls, words: Any, where: str = "") -> JsonObject:
        """Return `words` as an object; ValueError if it is not one."""
        if not isinstance(words, dict):
            raise ValueError(f"{where or 'it'} is {_short(words)}, not an object")
        return cls(words, where)

    def __contains__(self, name: str) -> bool:
        return name in self.words

    def whole(self, name: str, least: int = 0, most: int = MOST_WHOLE) -> int:
        """Return an integer within least … most."""
        return _whole(self._at(name), self._named(name), least, most)

    def number(self, name: str) -> float:
        """Return a finite number of at least 0."""
        value = self._at(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"{self._named(name)} is {_short(value)}, not a number of at least 0")
        return float(value)

    def text(self, name: str) -> str:
        """Return a text with "?" for each unprintable character."""
        return _text(self._at(name), self._named(name))

    def plain_text(self, name: str) -> str:
        """Return a text unchanged."""
        value = self._at(name)
        if not isinstance(value, str):
            raise ValueError(f"{self._named(name)} is {_short(value)}, not a text")
        return value

    def numbers(self, name: str, most: int) -> list[float | None]:
        """Return at most `most` finite numbers, None for unavailable ones."""
        values = self.list(name, most)
        for value in values:
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _FINITE
            ):
                raise ValueError(f"{self._named(name)} contains {_short(value)}, not a number")
        return list(values)

    def text_of(self, value: Any, name: str) -> str:
        """Return an element of `name` as `text` does."""
        return _text(value, self._named(name))

    def texts(self, name: str, most: int) -> list[str]:
        """Return at most `most` distinct texts."""
        texts = [_text(value, self._named(name)) for value in self.list(name, most)]
        if len(set(texts)) < len(texts):
            raise ValueError(f"{self._named(name)} contains duplicate names")
        return texts

    def wholes(self, name: str, most: int) -> list[int]:
        """Return at most `most` integers of at least 0."""
        return [_whole(value, self._named(name), 0, MOST_WHOLE) for value in self.list(name, most)]

    def inside(self, name: str) -> JsonObject:
        """Return a nested object."""
        return JsonObject.of(self._at(name), self._named(name))

    def each(self, name: str, most: int) -> list[JsonObject]:
        """Return at most `most` nested objects."""
        return [
            JsonObject.of(one, f"{self._named(name)}[{at}]") for at, one in enumerate(self.list(name, most))
        ]

    def list(self, name: str, most: int) -> Sequence[Any]:
        """Return the list called `name`. Raise ValueError for other values and above `most` elements."""
        value = self._at(name)
        if not isinstance(value, list) or len(value) > most:
            raise ValueError(f"{self._named(name)} is {_short(value)}, not a list of at most {most:,}")
        return value

    def _at(self, name: str) -> Any:
        if name not in self.words:
            raise ValueError(f"{self._named(name)} is missing")
        return self.words[name]

    def _named(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is {_short(value)}, not a whole number within {least} … {most}")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is {_short(value)}, not a text")
    return printable(value)


def printable(text: str) -> str:
    """Return `text` with "?" for each unprintable character."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _short(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value):,}"
    words = ascii(value)
    return words if len(words) <= 40 else f"{words[:40]}…"
