"""Formats quantities: SI values and amounts with three significant digits, sizes of messages exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context
from functools import cache

UNAVAILABLE = "unavailable"

_PREFIXES = {-3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P", 6: "E"}
_RATES = dict.fromkeys(("B/s", "1/s", "flop/s", "op/s"), (0, 6))
_SCALED = {**_RATES, "s": (-3, 0), "J": (-2, 6), "W": (-2, 6)}
_PLAIN = 1e-4  # smaller values have an exponent
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def format_value(value: float | None, unit: str, digits: int = 3) -> str:
    """Return `value`, in `unit` (one of the record schema's), as "1.23 µs", "12.3 GB/s" or "45.6 %".

    Prefixes are decimal (MB = 10^6 B), those of amounts of memory (B) binary. Units without prefixes (%, 1,
    unknown ones) keep the value unchanged. A rate per watt, such as flop/J, is "12.3 Mflop/s per W". None and
    values that are not finite are "unavailable", never 0. `digits`: significant digits.
    """
    if value is None or not math.isfinite(value):
        return UNAVAILABLE
    if unit.endswith("/J"):
        return f"{format_value(value, unit.replace('/J', '/s'), digits)} per W"
    if unit == "B":
        return format_bytes(math.floor(value + 0.5), digits)
    lowest, highest = _SCALED.get(unit, (0, 0))
    power = 0
    if value:
        # Rounds first, so that 999.6 ns is 1.00 µs, not 1000 ns.
        power = min(max(math.floor(math.log10(abs(rounded(value, digits))) / 3 + 1e-9), lowest), highest)
    number = significant(value / 1000.0**power, digits)
    if unit == "1":
        return number
    prefix = _PREFIXES[power]
    return f"{number} {prefix}/s" if unit == "1/s" and prefix else f"{number} {prefix}{unit}"


def format_range(low: float, high: float, unit: str) -> str:
    """Return a range as "1.20 – 1.27 µs", with the unit twice if its prefixes differ."""
    ends = [format_value(value, unit).partition(" ") for value in (low, high)]
    (first, _, one), (second, _, other) = ends
    return f"{first} – {second} {other}".rstrip() if one == other else f"{first} {one} – {second} {other}"


def format_part(part: float | None) -> str:
    """Return a fraction, 0 … 1, as "12.3 %"."""
    return UNAVAILABLE if part is None or math.isnan(part) else f"{100 * part:.1f} %"


def format_bytes(count: int | None, digits: int = 3) -> str:
    """Return an amount as "8 B", "64 KiB" or "1.91 MiB": binary multiples, three significant digits."""
    if count is None:
        return UNAVAILABLE
    value, unit = _binary(count)
    return f"{value:.0f} {unit}" if value.is_integer() else f"{significant(value, digits)} {unit}"


def format_size(count: int | None) -> str:
    """Return the size of a message exactly: "64 KiB" and "1.5 KiB", but "20,000 B"."""
    if count is None:
        return UNAVAILABLE
    value, unit = _binary(count)
    short = value.is_integer() or float(f"{value:.3g}") == value
    return f"{value:g} {unit}" if short else f"{count:,} B"


def _binary(count: int) -> tuple[float, str]:
    """Return a number of bytes in the largest binary unit that is not larger."""
    value, power = float(count), 0
    while value >= 1024 and power < len(_BINARY) - 1:
        value /= 1024
        power += 1
    return value, _BINARY[power]


def axis_text(axis: str, value: object) -> str:
    """Return an axis with its value: "scope single"; "memory auto:268435456" as "memory 256 MiB (auto)"."""
    word, _, limit = str(value).partition(":")
    if axis == "memory" and word == "auto" and limit.isdecimal():
        return f"memory {format_bytes(int(limit))} (auto)"
    return f"{axis} {value}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 launch", "2 launches", "1,024 ranks".

    Nouns in -ch have a plural in -es.
    """
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Return words as in a sentence: "HPL, FFT and PTRANS"."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def three_digits(value: float) -> str:
    """Return three significant digits: 1.23, 12.3, 123, 1230; 1.23e-7 for small numbers; "0" for 0."""
    return significant(value, 3)


def significant(value: float, digits: int) -> str:
    """Return a number with so many significant digits; small numbers have an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    near = rounded(value, digits)
    if abs(near) < _PLAIN:
        mantissa, exponent = f"{near:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{near:.{max(0, digits - 1 - math.floor(math.log10(abs(near))))}f}"


def rounded(value: float, digits: int) -> float:
    """Return the nearest number of so many significant digits; a tie is rounded away from 0."""
    return float(_context(digits).create_decimal_from_float(float(value)))


@cache
def _context(digits: int) -> Context:
    return Context(digits, ROUND_HALF_UP)
