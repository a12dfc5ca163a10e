"""Compares two programs on a changing machine: each run of the peer lies between two of Kiviat's.

Hosts move virtual cores between real ones, on busy hosts every few seconds; a ping-pong of 1 B then takes two
or six times as long. Medians of interleaved runs would compare such states, not programs. A run of the peer
counts only if kiviat's runs before and after it agree, which does not depend on its own duration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Generic, TypeVar

T = TypeVar("T")

AGREE = 0.1


@dataclass
class Brackets(Generic[T]):
    """`ours_s[i]` is the mean of kiviat's runs before and after `theirs[i]`.

    `tried` also counts rejected runs.
    """

    ours_s: list[float] = field(default_factory=list)
    theirs: list[T] = field(default_factory=list)
    tried: int = 0

    def off(self, seconds: Callable[[T], float]) -> list[float]:
        """Return the relative excess of kiviat's time over the peer's, for each run."""
        pairs = zip(self.ours_s, self.theirs, strict=True)
        return [ours / seconds(theirs) - 1 for ours, theirs in pairs]


def bracketed(
    ours: Callable[[], float], others: Mapping[str, Callable[[], T]], enough: int, most: int
) -> dict[str, Brackets[T]]:
    """Measure until each of `others` was bracketed `enough` times, or tried `most` times."""
    found: dict[str, Brackets[T]] = {name: Brackets() for name in others}
    before = ours()
    while left := [name for name in others if _wants(found[name], enough, most)]:
        for name in left:
            theirs = others[name]()
            after = ours()
            found[name].tried += 1
            if _agree(before, after):
                found[name].ours_s.append(fmean((before, after)))
                found[name].theirs.append(theirs)
            before = after
    return found


def _wants(brackets: Brackets[T], enough: int, most: int) -> bool:
    return len(brackets.theirs) < enough and brackets.tried < most


def _agree(one: float, other: float) -> bool:
    low, high = sorted((one, other))
    return high <= low * (1 + AGREE)


def tried(brackets: Sequence[Brackets[T]]) -> str:
    """Return the number of runs that count and that were tried, such as "15 to 22 of 15 to 40 runs"."""
    counted = sorted(len(one.theirs) for one in brackets)
    runs = sorted(one.tried for one in brackets)
    return f"{_span(counted)} of {_span(runs)} runs"


def _span(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    return str(first) if first == last else f"{first} to {last}"
