"""Intervals of a median over launches: their coverage, and cases without interval."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from kiviat.analysis.statistics.intervals import Floats, median_interval, median_intervals, order_coverages

SAMPLES = 15


def launch_medians(shape: str, cases: int, launches: int, rng: np.random.Generator) -> Floats:
    """Return medians of launches of `SAMPLES` samples with skewed noise; launches differ by `shape`."""
    size = (cases, launches)
    levels: dict[str, Callable[[], Floats]] = {
        "normal": lambda: 1 + 0.1 * rng.standard_normal(size),
        "lognormal": lambda: np.exp(0.5 * rng.standard_normal(size)),
        # 20 % of the launches are twice as fast.
        "skewed mixture": lambda: np.where(
            rng.random(size) < 0.2, 0.5, 1 + 0.05 * rng.exponential(size=size)
        ),
    }
    level = levels[shape]()
    samples = level[:, :, None] * (1 + 0.1 * rng.exponential(size=(*size, SAMPLES)))
    return np.asarray(np.median(samples, axis=2))


@pytest.mark.parametrize("shape", ["normal", "lognormal", "skewed mixture"])
def test_coverage(shape: str) -> None:
    rng = np.random.default_rng(20)
    truth = float(np.median(launch_medians(shape, 100_000, 1, rng)))
    for launches, nominal in ((5, 0.9375), (8, 0.95), (12, 0.95)):
        intervals = median_intervals(launch_medians(shape, 8000, launches, rng))
        assert intervals is not None
        covered = float(np.mean((intervals[:, 0] <= truth) & (truth <= intervals[:, 1])))
        # One standard error of the coverage is 0.25 %; the interpolation is accurate to about 0.7 %.
        assert abs(covered - nominal) < 0.013, (launches, covered)


def test_coverage_of_order_statistics_is_binomial() -> None:
    """Coverage is binomial, as each pattern of five values below and above the median is equally likely."""
    patterns = list(product((-1, 1), repeat=5))
    for d, coverage in zip((1, 2), order_coverages(5), strict=False):
        covered = sum(d <= pattern.count(-1) <= 5 - d for pattern in patterns)
        assert coverage == covered / 32


@pytest.mark.parametrize("launches", [1025, 10_000, 10_001])
def test_many_launches_have_an_interval(launches: int) -> None:
    """The ends of the interval are 0.98 √n launches from the middle."""
    low, high = median_interval(range(launches)) or (0.0, 0.0)
    middle = (launches - 1) / 2
    assert low - middle == pytest.approx(middle - high) == pytest.approx(-0.98 * launches**0.5, rel=0.01)


def test_five_launches_give_their_range() -> None:
    assert median_interval([3.0, 1.0, 5.0, 2.0, 4.0]) == (1.0, 5.0)


@pytest.mark.parametrize("launches", range(1, 5))
def test_fewer_launches_give_no_interval(launches: int) -> None:
    assert median_interval([1.0] * launches) is None


def test_six_launches_interpolate() -> None:
    """With six launches the interval is interpolated between order statistics.

    γ(1) = 0.96875 and γ(2) = 0.78125, so I = 0.1, and the second value has the weight 5·0.1 / (1 + 4·0.1).
    """
    interval = median_interval([0.0, 1.0, 1.0, 1.0, 1.0, 2.0])
    assert interval == pytest.approx((5 / 14, 2 - 5 / 14))


def test_many_cases_at_once_as_one_by_one() -> None:
    values = np.random.default_rng(2).random((50, 9))
    assert median_intervals(values).tolist() == [list(median_interval(case)) for case in values]  # type: ignore
