"""Numbers of machine files: a value with its unit, source and confidence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kiviat.record import InputError

CONFIDENCES: tuple[str, ...] = ("high", "medium", "low", "assumed", "calibrated")

_DECIMAL = (("", 1), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
# Units of machine files and their factors to SI; bytes have decimal and binary prefixes.
_UNITS: Mapping[str, tuple[float, str]] = {
    **{f"{prefix}B/s": (factor, "B/s") for prefix, factor in _DECIMAL},
    **{f"{prefix}bit/s": (factor / 8, "B/s") for prefix, factor in _DECIMAL},
    **{f"{prefix}iB/s": (factor, "B/s") for prefix, factor in (("K", 2**10), ("M", 2**20), ("G", 2**30))},
    **{f"{prefix}flop/s": (factor, "flop/s") for prefix, factor in _DECIMAL},
    **{f"{prefix}B": (factor, "B") for prefix, factor in _DECIMAL},
    **{
        f"{prefix}iB": (factor, "B")
        for prefix, factor in (("K", 2**10), ("M", 2**20), ("G", 2**30), ("T", 2**40))
    },
    **{name: (factor, "s") for name, factor in (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))},
    **{name: (factor, "s/B") for name, factor in (("s/B", 1), ("ns/B", 1e-9), ("us/B", 1e-6))},
    **{name: (factor, "W") for name, factor in (("W", 1), ("kW", 1e3))},
    "": (1, "1"),
}
_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(\S*)\s*")
_KEYS = {"value", "source", "confidence", "note"}


@dataclass(frozen=True)
class Quantity:
    """A number with its source: `value` in `unit` (B/s, flop/s, B, s, s/B, W or 1), `text` as in the file."""

    value: float
    unit: str
    text: str
    source: tuple[str, ...]
    confidence: str
    note: str = ""


def read_quantity(data: object, unit: str, where: str, sources: Mapping[str, str]) -> Quantity:
    """Return the quantity of a table such as `{ value = "3.2 GB/s", source = "sgi", confidence = "high" }`.

    Raise InputError, naming `where`, for unknown or missing keys, other units and unlisted sources.
    """
    if not isinstance(data, dict):
        raise InputError(f"{where} is {data!r}; give a table with value, source and confidence")
    for key in data:
        if key not in _KEYS:
            raise InputError(f"unknown key {key!r} in {where}; known: {', '.join(sorted(_KEYS))}")
    for key in ("value", "source", "confidence"):
        if key not in data:
            raise InputError(
                f"{where} lacks {key}: {dict(data)!r}; every number needs a value, a source and a confidence"
            )
    value = parse_value(data["value"], unit, where)
    sources_given = data["source"]
    source = tuple(sources_given) if isinstance(sources_given, list) else (sources_given,)
    if not source:
        raise InputError(f"{where} has no source; name one from [sources]")
    for name in source:
        if not isinstance(name, str) or name not in sources:
            raise InputError(
                f"{where} has the source {name!r}, which is not listed in [sources]; add it there"
            )
    if data["confidence"] not in CONFIDENCES:
        raise InputError(
            f"{where} has the confidence {data['confidence']!r}; give one of {', '.join(CONFIDENCES)}"
        )
    return Quantity(value, unit, str(data["value"]), source, data["confidence"], str(data.get("note", "")))


def parse_value(data: object, unit: str, where: str) -> float:
    """Return the value of a text such as "3.2 GB/s" in `unit`; plain numbers have the unit "1".

    Raise InputError for other units and for values outside `_BOUNDS`, which crash the simulator.
    """
    match = _NUMBER.fullmatch(str(data)) if isinstance(data, str | int | float) else None
    if match is None or isinstance(data, bool):
        raise InputError(f"{where} is {data!r}; give a number with its unit, such as {_EXAMPLE[unit]!r}")
    number, word = match[1], match[2]
    if word not in _UNITS or _UNITS[word][1] != unit:
        raise InputError(f"{where} is {data!r}, which is not in {unit}; write it like {_EXAMPLE[unit]!r}")
    value = float(number) * _UNITS[word][0]
    if value < 0:
        raise InputError(f"{where} is {data!r}; give a number that is not negative")
    lower, upper = _BOUNDS[unit]
    if not (value == 0 or lower <= value <= upper):
        raise InputError(f"{where} is {data!r}; give a number from {lower:g} to {upper:g}, in {unit}")
    return value


_BOUNDS: Mapping[str, tuple[float, float]] = {
    "B/s": (1, 1e18),
    "flop/s": (1, 1e24),
    "B": (0, 1e18),
    "s": (0, 1e6),
    "s/B": (0, 1),
    "W": (0, 1e12),
    "1": (0, 1e9),
}
_EXAMPLE = {
    "B/s": "3.2 GB/s",
    "flop/s": "6.4 Gflop/s",
    "B": "64 KiB",
    "s": "1.2 us",
    "s/B": "0.5 ns/B",
    "W": "115 W",
    "1": "4",
}


def quantity_json(quantity: Quantity) -> dict[str, Any]:
    """Return the quantity as the JSON form of its table in a machine file."""
    data: dict[str, Any] = {
        "value": quantity.text,
        "source": list(quantity.source),
        "confidence": quantity.confidence,
    }
    return data | ({"note": quantity.note} if quantity.note else {})
