"""Finds the systems nearest to a given one, and the quantities in which it differs from all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

# Beyond this factor of the range of its neighbours a value is odd.
ODD = 2.0
# A quantity that fewer systems have has no range.
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Odd:
    """A quantity beyond the range of others; `factor` is its value over the nearer end of that."""

    quantity: str
    factor: float


def distance(own: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return by which factor positive quantities differ in the median; infinity without a common one.

    The median lets a single odd quantity not decide which system is near.
    """
    logs = [
        abs(math.log(own[name] / other[name]))
        for name in own.keys() & other.keys()
        if own[name] > 0 and other[name] > 0
    ]
    return math.exp(median(logs)) if logs else math.inf


def odd(own: Mapping[str, float], others: Sequence[Mapping[str, float]]) -> list[Odd]:
    """Return the quantities that differ from those of all others by more than `ODD`, the farthest first."""
    found = []
    for name, value in own.items():
        known = [other[name] for other in others if other.get(name, 0) > 0]
        if len(known) < _LEAST or value <= 0:
            continue
        if value > ODD * max(known):
            found.append(Odd(name, value / max(known)))
        elif value * ODD < min(known):
            found.append(Odd(name, value / min(known)))
    return sorted(found, key=lambda one: -abs(math.log(one.factor)))
