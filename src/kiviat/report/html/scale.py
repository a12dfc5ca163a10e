"""Scales from values to pixels, their ranges and ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

Write = Callable[[float, int], str]  # of a value with a number of significant digits
Ticks = list[tuple[float, str]]

_DIGITS = 3  # significant digits of most labels
_WORST_SHARE = -100.0  # a share below it does not hide the others


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic scale: values of `low` … `high` lie at the pixels `start` … `end`.

    `low` and `high` are powers of ten on a logarithmic scale.
    """

    low: float
    high: float
    log: bool
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the pixel of a value. Logarithmic scales have no zero: 0 B stands at one half."""
        place = math.log10(value if value > 0 else 0.5) if self.log else value
        return self.start + (self.end - self.start) * (place - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """True if the value is in the range."""
        place = (math.log10(value) if value > 0 else math.nan) if self.log else value
        return self.low <= place <= self.high


def span(values: Iterable[float], log: bool, zero: bool = False) -> tuple[float, float]:
    """Return the range of values with a margin, in powers of ten if `log`; `zero`: with 0."""
    shown = [math.log10(value) for value in values if value > 0] if log else list(values)
    if not shown:
        return 0.0, 1.0
    low, high = min(shown), max(shown)
    if zero:
        return max(_WORST_SHARE, min(0.0, low * 1.05)), max(0.0, high * 1.05) or 1.0
    margin = max((high - low) * 0.04, 0.08 if log else abs(high) * 0.01, 1e-12)
    return low - margin, high + margin


def together(spans: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return one range for several panels; None if that would squeeze each of them."""
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    return (low, high) if high - low <= 1.6 * max(high - low for low, high in spans) else None


def decimal_ticks(scale: Scale, most: int, write: Write) -> Ticks:
    """Return ticks of a logarithmic scale at 1, 2, 5 or 1, 3 or 1 times powers of ten."""
    powers = range(math.floor(scale.low), math.floor(scale.high) + 1)
    found = [
        [value for power in powers for factor in factors if scale.holds(value := float(f"{factor}e{power}"))]
        for factors in ((1, 2, 5), (1, 3), (1,))
    ]
    if len(found[0]) < 3:
        return linear_ticks(10**scale.low, 10**scale.high, 4, write)
    fitting = next((ticks for ticks in found if len(ticks) <= most), found[-1])
    return [(value, write(value, _DIGITS)) for value in fitting[:: -(-len(fitting) // most)]]


def linear_ticks(low: float, high: float, most: int, write: Write) -> Ticks:
    """Return ticks at multiples of 1, 2 or 5 times a power of ten, with the digits that tell them apart."""
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    farthest = max(abs(first), abs(last), 1) * step
    digits = max(_DIGITS, math.floor(math.log10(farthest) + 1e-9) - math.floor(math.log10(step) + 1e-9) + 1)
    return [(tick * step, write(tick * step, digits)) for tick in range(first, last + 1)]


def value_ticks(values: Collection[float], scale: Scale, most: int, write: Write) -> Ticks:
    """Return ticks at values that occur, the largest and the smallest among them, as many as fit."""
    occurring = sorted({value for value in values if math.isfinite(value)}, reverse=True)
    if not occurring:
        return []
    apart = abs(scale.at(occurring[0]) - scale.at(occurring[-1])) / most
    kept: list[float] = []
    for value in occurring:
        if not kept or abs(scale.at(kept[-1]) - scale.at(value)) >= apart * (1 - 1e-9):
            kept.append(value)
    if kept[-1] != occurring[-1]:
        kept[-1 if len(kept) > 1 else 1 :] = [occurring[-1]]
    return [(value, write(value, _DIGITS)) for value in kept]
