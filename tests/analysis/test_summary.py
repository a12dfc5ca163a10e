"""Summaries computed from rows of results."""

import pytest

from kiviat.analysis.aggregate.curves import curve
from kiviat.analysis.aggregate.summary import primary, summarise
from kiviat.record import InputError
from tests.analysis.rows import case, case_rows, row


def test_a_case_over_its_launches() -> None:
    rows = [
        row(
            launch=i,
            p50=p50,
            mean=p50 + 1,
            min=p50 / 2,
            ci_low=0.9 * p50,
            ci_high=1.1 * p50,
            count=10,
            p99=p99,
        )
        for i, (p50, p99) in enumerate([(4.0, None), (2.0, 6.0), (3.0, 8.0), (1.0, 7.0), (5.0, None)])
    ]
    (summary,) = summarise(reversed(rows))
    assert summary.launch_medians == (4.0, 2.0, 3.0, 1.0, 5.0)  # in launch order
    assert (summary.median, summary.low, summary.high) == (3.0, 1.0, 5.0)
    assert (summary.minimum, summary.mean, summary.p90, summary.p99) == (0.5, 4.0, None, 7.0)
    assert (summary.launches, summary.samples) == (5, 50)
    assert summary.within == pytest.approx(0.1)
    assert summary.spread == pytest.approx(4 / 3)
    assert summary.converged


def test_the_median_of_what_is_known() -> None:
    known = case_rows([1.0] * 5)
    rows = [
        row(launch=r.launch, p50=1.0, p90=p90)
        for r, p90 in zip(known, [8.0, None, 2.0, 4.0, 1.0], strict=True)
    ]
    assert summarise(rows)[0].p90 == 3.0


def test_groups_are_runs_cases_and_metrics_in_order_of_appearance() -> None:
    rows = [
        *case_rows([1.0] * 2, case="b"),
        *case_rows([2.0] * 5, case="a"),
        *case_rows([3.0], case="b", run="s"),
    ]
    rows += case_rows([4.0] * 2, case="b", metric="bandwidth", better="higher", unit="B/s")
    found = [(s.run, s.case, s.metric, s.median) for s in summarise(rows)]
    assert found == [
        ("r", "b", "time", 1),
        ("r", "a", "time", 2),
        ("s", "b", "time", 3),
        ("r", "b", "bandwidth", 4),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        {"check": "failed"},
        {"outcome": "failed"},
        {"outcome": "skipped", "metric": None},
        {"p50": None, "mean": None},
    ],
)
def test_unusable_rows_are_left_out(bad: dict[str, object]) -> None:
    summary = summarise([row(launch=0, p50=1.0), row(**{"launch": 1, "p50": 9.0, **bad})])
    assert [s.launch_medians for s in summary] == [(1.0,)]


def test_an_unchecked_row_counts() -> None:
    assert case([1.0], check="not run").launches == 1


def test_one_launch_has_neither_interval_nor_spread() -> None:
    summary = case([1.0])
    assert (summary.low, summary.high, summary.spread) == (None, None, None)


def test_a_case_measured_twice_in_a_launch_is_one_launch() -> None:
    assert summarise([row(p50=1.0), row(p50=2.0)])[0].launch_medians == (2.0,)


def test_ingested_rows_are_a_launch_each_and_may_have_a_mean_only() -> None:
    rows = [row(launch=None, p50=None, mean=value, clock="reported") for value in (3.0, 1.0)]
    assert summarise(rows)[0].launch_medians == (3.0, 1.0)


@pytest.mark.parametrize("mixture", [{"clock": "simulated"}, {"substrate": "emulated"}, {"unit": "B/s"}])
def test_different_origins_are_not_pooled(mixture: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"pingpong/ranks=2/bytes=8.*mixes"):
        summarise([row(launch=0), row(launch=1, **mixture)])


def test_a_curve_has_one_point_for_each_size() -> None:
    """Two cases of one size, as in an invalid run, once made slopes divide by zero."""
    summaries = summarise([row(case=name, bytes=8, p50=p50) for name, p50 in (("a", 1.0), ("b", 8.0))])
    (point,) = curve(summaries, "pingpong")
    assert point.case == "b"


def test_one_launch_out_of_budget_means_not_converged() -> None:
    assert not summarise([row(launch=0), row(launch=1, stopped_by="budget")])[0].converged
    assert case([1.0, 1.0], stopped_by="fixed").converged


def test_values_that_differ_between_launches_are_mixed() -> None:
    summary = summarise([row(launch=0), row(launch=1, sync="barrier", oversubscribed=True)])[0]
    assert (summary.sync, summary.mode, summary.oversubscribed) == ("mixed", "adaptive", True)


def test_launches_that_say_different_things_are_all_heard() -> None:
    rows = [row(launch=i, notes={"blas": name, "n": "100"}) for i, name in enumerate(("A", "B", "A"))]
    assert summarise(rows)[0].notes == {"blas": "A; B", "n": "100"}
    assert summarise(rows[::2])[0].notes == {"blas": "A", "n": "100"}


def test_a_case_is_compared_by_time_or_by_its_first_metric() -> None:
    bandwidth = {"metric": "bandwidth", "better": "higher", "unit": "B/s"}
    rate = {"metric": "rate", "better": "higher", "unit": "flop/s"}
    rows = [
        *case_rows([4.0] * 2, case="a", **bandwidth),
        *case_rows([3.0] * 2, case="b", **rate),
        *case_rows([2.0] * 2, case="b", **bandwidth),
        *case_rows([1.0] * 2, case="a"),
        *case_rows([float("nan")] * 2, case="b"),  # without a value, time does not count
    ]

    def chosen(metric: str | None = None) -> list[tuple[str, str]]:
        return [(one.case, one.metric) for one in primary(rows, metric)]

    assert chosen() == [("b", "rate"), ("a", "time")]
    assert chosen("bandwidth") == [("a", "bandwidth"), ("b", "bandwidth")]
    assert chosen("nonesuch") == []
    assert all(one in summarise(rows) for one in primary(rows))


def test_bandwidth_and_time_of_two_launches_agree() -> None:
    """The bandwidth was once the median of both rates, 747 kB/s, while the median time implied 4 kB/s."""
    seconds = (5e-6, 4e-3)
    time = case(seconds)
    rates = case([8 / one for one in seconds], metric="bandwidth", unit="B/s", better="higher")
    assert rates.median == pytest.approx(8 / time.median)


def test_extremes_are_those_of_launches_that_count() -> None:
    """A case measured again in its launch replaces the earlier result, extremes included."""
    first, again, other = case_rows([9.0]), case_rows([1.0]), case_rows([5.0, 1.1])[1:]
    (summary,) = summarise([*first, *again, *other])
    assert summary.launch_medians == (1.0, 1.1) and (summary.minimum, summary.maximum) == (1.0, 1.1)
