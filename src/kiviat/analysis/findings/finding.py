"""The type of findings, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.units import axis_text, counted, format_size, three_digits

Evidence = tuple[tuple[str, str], ...]
Ends = tuple[float, float]  # of an interval

ALIKE = 1.15  # ratios up to it count as equal
# Why a cause cannot be named.
SHARED_CORES = "With more ranks than cores they also share processors, so the cause cannot be determined."
UNKNOWN_NODES = "Which ranks share a node is unknown, so the shared resource cannot be determined."
ONE_NODE = "All ranks are on one node: they share its memory and its caches, no network."
# Subject of each kind of finding in the sentence "Cannot say …".
ABOUT = {
    "contention": "what it costs that all ranks communicate",
    "shared-resource": "whether simultaneous pairs limit each other",
    "rings": "whether rings in random order are slower than in rank order",
    "phases": "whether far partners cost more than near ones",
    "bisection": "whether bisection bandwidth depends on the halves",
    "congestion": "what traffic of other ranks costs",
    "distance": "whether short messages take longer to the farthest rank than to the nearest",
    "pairs": "whether some pairs of ranks are slower than others",
    "threads": "what simultaneous threads cost",
    "both-ways": "what messages both ways at once cost",
    "slow-collective": "whether collectives are slow",
    "power-of-two": "whether numbers of ranks other than powers of two are slow",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A noteworthy result of a run, in words with numbers and units.

    `importance`, 0 to 1, orders findings. `evidence` names its cases and metrics. `severity` is "info", or
    "warning" if results or the machine need attention. `factor` is the ratio of the two quantities that the
    finding compares; if it says that they are equal, the limit up to which ratios count as equal; None if it
    compares nothing, or cannot say whether they differ.
    """

    kind: str
    importance: float
    headline: str
    detail: str
    evidence: Evidence
    severity: str = "info"
    factor: float | None = None


def named(summary: Summary) -> str:
    """Return a description of a case: "exchange of 2 KiB on 2 ranks, cache off"."""
    size = "" if summary.bytes is None else f" of {format_size(summary.bytes)}"
    axes = "".join(f", {axis_text(axis, value)}" for axis, value in sorted(summary.axes.items()))
    return f"{summary.benchmark}{size} on {counted(summary.ranks, 'rank')}{axes}"


def ends_of(value: float, low: float | None, high: float | None, clock: str) -> Ends:
    """Return the ends of an interval: the value itself for predictions, 0 and infinity if it is unknown."""
    if clock == "simulated":
        return value, value
    return (0.0, math.inf) if low is None or high is None else (low, high)


def ends(summary: Summary) -> Ends:
    """Return the ends of the interval of a positive median, as `ends_of` does."""
    return ends_of(summary.median, summary.low, summary.high, summary.clock)


def quotient_ends(above: Summary, below: Summary) -> Ends:
    """Return the least and the largest quotient of values in the intervals of two positive medians."""
    (low, high), (least, most) = ends(above), ends(below)
    return low / most, high / least if least else math.inf


def extremes(grids: Iterable[Grid], of: Summary, name: str, without: str = "") -> tuple[float, float] | None:
    """Return the least and the largest median in a table of a case; None if they do not differ.

    Two medians differ if they are `ALIKE` times apart, and their intervals over launches do not overlap. The
    minimum and the maximum within each launch would differ by chance alone. Cells of the value `without` of
    the table's first dimension do not count.
    """
    grid = next((grid for grid in grids if (grid.case, grid.name) == (of.case, name)), None)
    if grid is None:
        return None
    cells = np.isfinite(grid.median)
    cells[[value == without for value in grid.dimensions[0][1]]] = False
    if not cells.any():
        return None
    values = grid.median[cells]
    least, most = int(values.argmin()), int(values.argmax())

    def interval(place: int) -> Ends:
        low, high = (None if bound is None else float(bound[cells][place]) for bound in (grid.low, grid.high))
        return ends_of(float(values[place]), low, high, grid.clock)

    low, high = float(values[least]), float(values[most])
    differ = high > ALIKE * low > 0 and interval(least)[1] < interval(most)[0]
    return (low, high) if differ else None


def apart(lower: Summary, higher: Summary) -> bool:
    """Return whether the intervals do not overlap; unknown intervals overlap with all others."""
    return ends(lower)[1] < ends(higher)[0]


def differs(ratio: float, of: Ends) -> bool | None:
    """Return whether a ratio differs from 1 by more than `ALIKE` allows.

    It does if it is beyond that and its interval excludes 1, it does not if its whole interval is within;
    None if neither can be said.
    """
    low, high = of
    if not 1 / ALIKE < ratio < ALIKE and not low <= 1 <= high:
        return True
    return False if low > 1 / ALIKE and high < ALIKE else None


def cannot_say(kind: str, words: str, of: Ends, write: Callable[[float], str] = three_digits) -> str:
    """Return the headline of a comparison, in `words`, that its interval leaves open."""
    low, high = of
    known = f"interval {write(low)} to {write(high)}" if high < math.inf else "too few launches"
    return f"Cannot say {ABOUT[kind]}: {words}, {known}"


def evidence(*summaries: Summary) -> Evidence:
    """Return the cases and metrics of these summaries, each once."""
    return tuple(dict.fromkeys((summary.case, summary.metric) for summary in summaries))
