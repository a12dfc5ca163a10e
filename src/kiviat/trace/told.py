"""Words of files that anybody may have made: none is used before it is known to be what it has to be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_FINITE = 1e300
MOST_WHOLE = (1 << 64) - 1
MOST_RANKS = (1 << 31) - 1  # MPI's
# Seconds since 1970, until the year 9999: what can be written as a date.
MOST_DATE_S = 253_402_300_799


def parsed(line: bytes | str) -> Any:
    """ValueError for what is no JSON, or nested more deeply than anything that is read here."""
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


@dataclass(frozen=True)
class Told:
    """A JSON object, and `where` it stands in the file. What is not as it has to be is a ValueError."""

    words: Mapping[str, Any]
    where: str = ""

    @classmethod
    def of(cls, words: Any, where: str = "") -> Told:
        """`words` have to be an object."""
        if not isinstance(words, dict):
            raise ValueError(f"{where or 'it'} is {_short(words)}, no object")
        return cls(words, where)

    def __contains__(self, name: str) -> bool:
        return name in self.words

    def whole(self, name: str, least: int = 0, most: int = MOST_WHOLE) -> int:
        """A whole number within least … most."""
        return _whole(self._at(name), self._named(name), least, most)

    def number(self, name: str) -> float:
        """A finite number, 0 or more."""
        value = self._at(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"{self._named(name)} is {_short(value)}, no number from 0 on")
        return float(value)

    def text(self, name: str) -> str:
        """What a terminal can print: "?" stands for each character that it cannot."""
        return _text(self._at(name), self._named(name))

    def plain_text(self, name: str) -> str:
        """As it is."""
        value = self._at(name)
        if not isinstance(value, str):
            raise ValueError(f"{self._named(name)} is {_short(value)}, no text")
        return value

    def numbers(self, name: str, most: int) -> list[float | None]:
        """Finite numbers, or None for each that is unavailable; as many as `most`."""
        found = self.list(name, most)
        for one in found:
            if one is not None and (
                isinstance(one, bool) or not isinstance(one, int | float) or not abs(one) < _FINITE
            ):
                raise ValueError(f"{self._named(name)} has {_short(one)}, no number")
        return list(found)

    def text_of(self, value: Any, name: str) -> str:
        """As `text`, of an element of `name`."""
        return _text(value, self._named(name))

    def texts(self, name: str, most: int) -> list[str]:
        """As many as `most`, all different."""
        found = [_text(one, self._named(name)) for one in self.list(name, most)]
        if len(set(found)) < len(found):
            raise ValueError(f"{self._named(name)} has equal names")
        return found

    def wholes(self, name: str, most: int) -> list[int]:
        """Whole numbers from 0 on, as many as `most`."""
        return [_whole(one, self._named(name), 0, MOST_WHOLE) for one in self.list(name, most)]

    def inside(self, name: str) -> Told:
        """An object."""
        return Told.of(self._at(name), self._named(name))

    def each(self, name: str, most: int) -> list[Told]:
        """A list of objects, as many as `most`."""
        return [Told.of(one, f"{self._named(name)}[{at}]") for at, one in enumerate(self.list(name, most))]

    def list(self, name: str, most: int) -> Sequence[Any]:
        value = self._at(name)
        if not isinstance(value, list) or len(value) > most:
            raise ValueError(f"{self._named(name)} is {_short(value)}, no list of at most {most:,}")
        return value

    def _at(self, name: str) -> Any:
        if name not in self.words:
            raise ValueError(f"{self._named(name)} is missing")
        return self.words[name]

    def _named(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is {_short(value)}, no whole number within {least} … {most}")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is {_short(value)}, no text")
    return printable(value)


def printable(text: str) -> str:
    """With "?" for each character that no terminal should be sent."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _short(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value):,}"
    words = ascii(value)
    return words if len(words) <= 40 else f"{words[:40]}…"
