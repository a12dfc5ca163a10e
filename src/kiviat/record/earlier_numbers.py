"""Numbers that earlier versions and ingested records have in notes instead of number fields."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

# For each benchmark: the number's name, its note, and a pattern; if it has two groups, they are multiplied.
_IN_NOTES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "ptrans": (("order", "matrix", r"order (\d+)"),),
    "fft": (("n", "n", r"(\d+)(?: [x×] (\d+))?"),),
    "random_access": (("words", "table", r"(2\^\d+) words"),),
    "stream": (("array_bytes", "arrays", r"of (\d+) B on each rank"),),
    "hpl": (("grid_rows", "grid", r"^(\d+) x \d+$"), ("grid_columns", "grid", r"^\d+ x (\d+)$")),
}


def earlier_numbers(benchmark: str, notes: Mapping[str, str]) -> dict[str, float]:
    """Return the numbers in the notes of a record: notes that are numbers, and numbers within notes."""
    found = {name: float(words) for name, words in notes.items() if words.isdecimal()}
    for name, note, pattern in _IN_NOTES.get(benchmark, ()):
        if match := re.search(pattern, notes.get(note, "")):
            found[name] = math.prod(map(_number, filter(None, match.groups())))
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _number(words: str) -> float:
    """Return a number such as "4096" or "2^12"; infinity if it is too large."""
    base, _, exponent = words.partition("^")
    try:
        return math.pow(float(base), float(exponent or 1))
    except OverflowError:
        return math.inf
