"""Two-sample statistics of many cases at once: shift, interval, p-value, p-value of the family.

They are exact, but for more than `_NORMAL` pairs of launches, where a normal distribution is as good.
Arrays are cases × launches; `a` and `b` have the same cases, not necessarily as many launches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from kiviat.analysis.statistics.intervals import Floats
from kiviat.record.types import LEVEL

RELABELLINGS = 5000
_SEED = 1993
_CASES_AT_ONCE = 512
_VALUES_AT_ONCE = 4_000_000  # differences; each takes 8 B, several times
_NORMAL = 10_000  # pairs of launches; exact probabilities of more take minutes


@cache
def mann_whitney_cdf(n: int, m: int) -> Floats:
    """Return P(U ≤ u), u = 0 … n·m, of the Mann–Whitney statistic of two samples of one distribution.

    The number of orderings with U = u is the coefficient of q^u in the Gaussian binomial coefficient (Mann,
    Whitney: Annals of Mathematical Statistics 18 (1947) 50–60). For many pairs, U is normal (same place).
    """
    n, m = sorted((n, m))
    if n * m > _NORMAL:
        normal = NormalDist(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12))
        return np.array([normal.cdf(u + 0.5) for u in range(n * m + 1)])
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):  # times 1 − q^(m+i)
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):  # divided by 1 − q^i
            counts[u] += counts[u - i]
    total = math.comb(n + m, n)
    below = np.cumsum(np.array(counts, dtype=object))
    return np.array([count / total for count in below], dtype=np.float64)


def shifts(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return Hodges–Lehmann shifts of `b` against `a`, exact 95 % bounds (low, high), two-sided p-values.

    The interval consists of order statistics of all differences and needs at least 4 values on each side.
    Ties count against a difference, so p and interval err on the safe side, and agree with each other.
    """
    n, m = a.shape[1], b.shape[1]
    cdf = mann_whitney_cdf(n, m)
    rank = int(np.searchsorted(cdf, (1 - LEVEL) / 2, side="right"))  # P(U < rank) ≤ 2.5 %
    if rank == 0:
        raise ValueError(f"{n} against {m} values cannot give an interval at {LEVEL:.0%}")
    shift, low, high, p = (np.empty(len(a)) for _ in range(4))
    for chunk in _chunks(len(a), n * m):
        differences = np.sort((b[chunk, None, :] - a[chunk, :, None]).reshape(-1, n * m), axis=1)
        not_above = (differences <= 0).sum(axis=1)
        not_below = (differences >= 0).sum(axis=1)
        p[chunk] = np.minimum(1.0, 2 * cdf[np.minimum(not_above, not_below)])
        shift[chunk] = np.median(differences, axis=1)
        low[chunk], high[chunk] = differences[:, rank - 1], differences[:, -rank]
    return shift, low, high, p


def _chunks(cases: int, values: int = 1) -> Iterator[slice]:
    """Yield slices of so few cases, each of so many values, that the arrays of each take little memory."""
    step = max(1, min(_CASES_AT_ONCE, _VALUES_AT_ONCE // values))
    return (slice(start, start + step) for start in range(0, cases, step))


def family_p(a: Floats, b: Floats, floor: float) -> Floats:
    """Return p-values of the cases, adjusted for all cases: Westfall and Young's single-step maxT.

    Launches are relabelled jointly in all cases, in all ways, or, if there are more, in `RELABELLINGS` of
    them (fixed seed, including the observed one). `floor` is added in quadrature to the standard deviations
    of the launches.
    """
    n, m = a.shape[1], b.shape[1]
    labels = _relabellings(n, m)
    largest = np.zeros(len(labels))
    observed = np.empty(len(a))
    for chunk in _chunks(len(a)):
        statistics = _studentised(np.concatenate((a[chunk], b[chunk]), axis=1), labels, floor)
        observed[chunk] = statistics[:, 0]
        np.maximum(largest, statistics.max(axis=0), out=largest)
    # Sums in another order differ in the last bits, but equal statistics must count as equal.
    at_least = len(labels) - np.searchsorted(np.sort(largest), observed * (1 - 1e-9))
    return np.asarray(at_least / len(labels))


def _studentised(values: Floats, labels: NDArray[np.bool_], floor: float) -> Floats:
    """Return |Student's t| of each case (row of `values`) under every labelling: cases × labellings."""
    size = values.shape[1]
    m = int(labels[0].sum())
    n = size - m
    centred = values - values.mean(axis=1, keepdims=True)
    sum_b = centred @ labels.T.astype(np.float64)  # values are centred, so the sum of the others is −sum_b
    within = (centred**2).sum(axis=1, keepdims=True) - sum_b**2 * (1 / n + 1 / m)
    variance = np.maximum(within, 0.0) / (size - 2) + floor**2
    return np.asarray(np.abs(sum_b) * (1 / n + 1 / m) / np.sqrt(variance * (1 / n + 1 / m)))


@cache
def _relabellings(n: int, m: int) -> NDArray[np.bool_]:
    """Return which of n + m launches are labelled b: one row per labelling, the observed one first."""
    observed = np.arange(n + m) >= n
    if math.comb(n + m, m) <= RELABELLINGS:
        labels = np.zeros((math.comb(n + m, m), n + m), dtype=np.bool_)
        for row, chosen in zip(labels, combinations(range(n + m - 1, -1, -1), m), strict=True):
            row[list(chosen)] = True
        return labels
    shuffled = np.random.default_rng(_SEED).permuted(np.tile(observed, (RELABELLINGS - 1, 1)), axis=1)
    return np.concatenate((observed[np.newaxis], shuffled))
