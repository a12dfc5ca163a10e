from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.further_launches import FurtherLaunches
from kiviat.analysis.statistics.intervals import median_interval
from kiviat.record.types import FIRST_LOOK, WATCHED_LEVEL

from .rows import row

NARROW = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98]
WIDE = [1.0, 1.3, 0.8, 1.1, 0.7, 1.2]


def collected(interval: float, **cases: list[float]) -> FurtherLaunches:
    further = FurtherLaunches(interval)
    further.add_rows(
        row(case=case, launch=launch, p50=value, metric=metric)
        for case, values in cases.items()
        for launch, value in enumerate(values)
        for metric in ("time", "bandwidth")
    )
    return further


def test_cases_with_wide_intervals_are_wanted() -> None:
    assert collected(0.05, narrow=NARROW, wide=WIDE).wanted() == {"wide"}
    assert collected(0.4, narrow=NARROW, wide=WIDE).wanted() == set()
    assert collected(0.05, narrow=NARROW[: FIRST_LOOK - 1]).wanted() == {"narrow"}


def test_a_case_that_failed_is_not_launched_again() -> None:
    further = collected(0.05, wide=WIDE)
    further.add_rows([row(case="wide", launch=9, outcome="failed", metric=None, p50=None)])
    assert further.wanted() == set()


def test_a_median_of_nothing_is_not_launched_again() -> None:
    assert collected(0.05, zero=[-1.0, 0.0, 0.0, 0.0, 0.0, 1.0]).wanted() == set()


def test_intervals_of_such_runs_are_wider() -> None:
    """Rows of a run that stopped on its intervals have a higher confidence level, which compensates."""
    rows = [row(launch=launch, p50=value) for launch, value in enumerate([*NARROW, *WIDE])]
    (usual,) = summarise(rows)
    (watched,) = summarise([replace(one, level=WATCHED_LEVEL) for one in rows])
    assert (usual.low, usual.high) == median_interval([*NARROW, *WIDE])
    assert (watched.low, watched.high) == median_interval([*NARROW, *WIDE], WATCHED_LEVEL)
    assert watched.low is not None and usual.low is not None and watched.low < usual.low


@pytest.mark.parametrize("shape", ["normal", "lognormal", "two modes"])
@pytest.mark.parametrize("width", [0.25, 0.5, 1.0])
def test_coverage_in_spite_of_looking(shape: str, width: float) -> None:
    """Intervals at the end of such a run cover the median in 93 to 98 % of 1,500 simulated cases."""
    random = np.random.default_rng(7)
    repetitions, most = 1500, 15
    values = random.normal(0, 1, (repetitions, most))
    if shape == "lognormal":
        values = np.exp(values) - 1
    if shape == "two modes":
        slow = random.random(values.shape) < 0.2
        # The median is the fast four fifths' 5/8 quantile, 0.3186 standard deviations above their mean.
        values = 0.3 * (values - 0.31863936) + np.where(slow, 3, 0)
    covered = 0
    for launches in values:
        count = next(
            (n for n in range(FIRST_LOOK, most) if _half(launches[:n], WATCHED_LEVEL) <= width), most
        )
        ends = median_interval(launches[:count], WATCHED_LEVEL)
        assert ends
        covered += ends[0] <= 0 <= ends[1]
    assert 0.93 <= covered / repetitions <= 0.98


def _half(launches: np.ndarray[tuple[int], np.dtype[np.float64]], level: float) -> float:
    ends = median_interval(launches, level)
    assert ends
    return (ends[1] - ends[0]) / 2
