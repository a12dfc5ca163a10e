"""Distribution-free intervals of a median.

The units are launches. A launch median already contains the noise within its launch, so an interval over
launch medians covers both levels, whatever their distributions (docs/adr/0002-intervals-over-launches.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import count, pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kiviat.record.types import LEVEL

MIN_LAUNCHES = 5
_NORMAL = 10_000  # with more values, binomial probabilities take seconds, and normal ones are as good

Floats = NDArray[np.float64]


def order_coverages(n: int) -> Iterator[float]:
    """Yield the probability that [x(d), x(n+1−d)] of `n` values contains the median, for d from 1 on.

    It is 1 − 2 P(Binomial(n, ½) < d): exact for every continuous distribution, a lower bound if values tie.
    """
    below, more = 0, 1  # whole numbers, which floats cannot hold from n = 1025 on
    for d in count(1):
        below += more
        more = more * (n - d + 1) // d
        yield 1 - below / (1 << n - 1)


@cache
def _interpolation(n: int, level: float) -> tuple[int, float]:
    """Return the outer order statistic d (from 1) and the weight of d + 1 that give `level`.

    T. P. Hettmansperger, S. J. Sheather: Confidence intervals based on interpolated order statistics.
    Statistics & Probability Letters 4 (1986) 75–79, eq. 2.
    """
    if n > _NORMAL:
        rank = (n + 1 - NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(n)) / 2
        return int(rank), rank - int(rank)
    d, (outer, inner) = next(
        (d, pair) for d, pair in enumerate(pairwise(order_coverages(n)), 1) if pair[1] < level
    )
    if outer < level:
        return d, 0.0  # n = 5: the range is the widest possible interval
    i = (outer - level) / (outer - inner)
    return d, (n - d) * i / (d + (n - 2 * d) * i)


def median_intervals(values: ArrayLike, level: float = LEVEL) -> Floats | None:
    """Intervals of the medians of the rows of `values` (cases × launches), as cases × (low, high).

    With the default level of 95 %:

    - n < 5 launches: None; even their range covers the median in 87.5 % of cases at best.
    - n = 5: the range of the launches; covers exactly 93.75 % (nothing with five values covers more).
    - n ≥ 6: order statistics, interpolated to 95 % after Hettmansperger and Sheather.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=1)
    n = ordered.shape[1]
    if n < MIN_LAUNCHES:
        return None
    d, weight = _interpolation(n, level)
    low = (1 - weight) * ordered[:, d - 1] + weight * ordered[:, d]
    high = (1 - weight) * ordered[:, n - d] + weight * ordered[:, n - d - 1]
    return np.stack((low, high), axis=1)


def median_interval(values: ArrayLike, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the interval of the median of one case's launch medians; None below five launches."""
    intervals = median_intervals(np.asarray(values, dtype=np.float64)[np.newaxis, :], level)
    return None if intervals is None else (float(intervals[0, 0]), float(intervals[0, 1]))
