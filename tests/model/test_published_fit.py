"""Fits to published values, with machines in closed form: t = latency + bytes / bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kiviat.model.published_fit import Factors, fit_published
from kiviat.record import InputError

SIZES = (0, 8, 1 << 20)
ROWS = ("small", "eight", "large")


def times(latency: float, bandwidth: float) -> list[float]:
    return [latency + size / bandwidth for size in SIZES]


def predict(tried: Sequence[Factors]) -> list[list[float | None]]:
    """A model of 2 µs and 0.5 GB/s; "half" scales the latency, too, and nothing depends on "other"."""
    return [
        [*times(2e-6 * one.get("latency", 1) * one.get("half", 1), 0.5e9 * one.get("bandwidth", 1))]
        for one in tried
    ]


def test_numbers_come_from_the_rows_that_depend_on_them() -> None:
    fit = fit_published(["latency", "bandwidth"], ROWS, times(5e-6, 1e9), predict, asked=True)
    latency, bandwidth = fit.numbers
    assert latency.factor == pytest.approx(2.5, rel=1e-3) and bandwidth.factor == pytest.approx(2, rel=1e-3)
    assert {name for name, _ in latency.rows} == {"small", "eight"}
    assert [name for name, _ in bandwidth.rows] == ["large"]
    assert fit.before[0] == pytest.approx(-0.6) and fit.after == pytest.approx((0, 0, 0), abs=1e-3)


def test_a_number_without_a_row_is_refused_or_left_alone() -> None:
    with pytest.raises(InputError, match="no row determines other"):
        fit_published(["latency", "other"], ROWS, times(5e-6, 1e9), predict, asked=True)
    fit = fit_published(["latency", "bandwidth", "other"], ROWS, times(5e-6, 1e9), predict, asked=False)
    assert fit.undetermined == ("other",) and fit.factors.keys() == {"latency", "bandwidth"}


@pytest.mark.parametrize("others", [[], ["latency"]])
def test_a_number_that_no_longer_limits_at_the_fit_is_refused(others: list[str]) -> None:
    """The fit once ended in numpy's error of a singular matrix."""

    def limited(tried: Sequence[Factors]) -> list[list[float | None]]:
        return [
            [2e-6 * one.get("latency", 1), (1 << 20) / min(1e9 * one.get("nic", 1), 1.2e9)] for one in tried
        ]

    with pytest.raises(InputError, match="do not determine nic: where it fits best, something else limits"):
        fit_published(["nic", *others], ["small", "large"], [2e-6, (1 << 20) / 1.5e9], limited, asked=True)


def test_numbers_that_act_alike_are_refused() -> None:
    with pytest.raises(InputError, match="cannot tell latency from half"):
        fit_published(["latency", "half"], ROWS, times(5e-6, 1e9), predict, asked=True)


def test_more_numbers_than_rows_are_refused() -> None:
    with pytest.raises(InputError, match="1 rows cannot determine 2 numbers"):
        fit_published(
            ["latency", "half"], ["a"], [5e-6], lambda tried: [one[:1] for one in predict(tried)], asked=True
        )


def test_rows_that_contradict_each_other_determine_nothing() -> None:
    """Two times that differ ninefold, for 0 and 8 B, do not determine the latency."""
    with pytest.raises(InputError, match=r"too noisy for latency \(±"):
        fit_published(
            ["latency"], ROWS[:2], [2e-6, 18e-6], lambda t: [one[:2] for one in predict(t)], asked=True
        )


def test_a_row_without_a_prediction_is_named() -> None:
    with pytest.raises(InputError, match="predicts nothing for large"):
        fit_published(
            ["latency"],
            ROWS,
            times(5e-6, 1e9),
            lambda t: [[*one[:2], None] for one in predict(t)],
            asked=True,
        )
