"""Numbers that records do not say as such: those of earlier versions and ingested ones have them in notes."""

from __future__ import annotations

import re
from collections.abc import Mapping

# For each benchmark: the number, the note with it, and its pattern; two groups are factors.
_IN_NOTES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "ptrans": (("order", "matrix", r"order (\d+)"),),
    "fft": (("n", "n", r"(\d+)(?: [x×] (\d+))?"),),
    "random_access": (("words", "table", r"(2\^\d+) words"),),
    "stream": (("array_bytes", "arrays", r"of (\d+) B on each rank"),),
    "hpl": (("grid_rows", "grid", r"^(\d+) x \d+$"), ("grid_columns", "grid", r"^\d+ x (\d+)$")),
}


def earlier_numbers(benchmark: str, notes: Mapping[str, str]) -> dict[str, float]:
    """The numbers of a record without any: notes that are one, and those that a note has among its words."""
    found = {name: float(words) for name, words in notes.items() if words.isdecimal()}
    for name, note, pattern in _IN_NOTES.get(benchmark, ()):
        if match := re.search(pattern, notes.get(note, "")):
            value = 1.0
            for factor in filter(None, match.groups()):
                base, _, exponent = factor.partition("^")
                value *= float(base) ** float(exponent or 1)
            found[name] = value
    return found
