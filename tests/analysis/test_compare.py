"""Comparison of two runs: verdicts, rate of false alarms, refused comparisons."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.compare import Comparison, compare
from kiviat.analysis.statistics import rank_tests
from kiviat.analysis.statistics.intervals import Floats
from kiviat.analysis.statistics.rank_tests import family_p, mann_whitney_cdf, shifts
from kiviat.record import InputError
from tests.analysis.rows import case

SLOW = [1.30, 1.31, 1.32, 1.33, 1.34]
FAST = [1.00, 1.01, 1.02, 1.03, 1.04]


def changed(a: Summary, b: Summary, **options: object) -> Comparison:
    return compare([a], [b], **options)  # type: ignore[arg-type]


def test_slower_is_worse() -> None:
    result = changed(case(FAST), case(SLOW))
    change = result.cases[0].change
    assert (change.verdict, change.survives, result.verdict, result.exit_code) == ("worse", True, "worse", 1)
    assert change.ratio == pytest.approx(1.32 / 1.02, rel=1e-3)
    assert change.p == pytest.approx(2 / 252)
    # Of the 252 ways to assign ten launches to two runs, two separate them this well.
    assert change.adjusted_p == pytest.approx(2 / 252)


def test_direction_and_order() -> None:
    assert changed(case(SLOW), case(FAST)).exit_code == 0
    assert changed(case(SLOW), case(FAST)).verdict == "better"
    rate = {"metric": "message_rate", "better": "higher"}
    assert changed(case(SLOW, **rate), case(FAST, **rate)).verdict == "worse"


def test_the_mirrored_comparison_has_the_mirrored_result() -> None:
    there = changed(case(FAST), case(SLOW)).cases[0].change
    back = changed(case(SLOW), case(FAST)).cases[0].change
    assert there.ratio is not None and there.low is not None and there.high is not None
    assert (back.ratio, back.low, back.high) == pytest.approx(
        (1 / there.ratio, 1 / there.high, 1 / there.low)
    )


def test_a_clear_but_small_change_gets_no_verdict() -> None:
    a, b = [1.0, 1.0001, 1.0002, 1.0003, 1.0004], [1.01, 1.0101, 1.0102, 1.0103, 1.0104]
    assert changed(case(a), case(b)).cases[0].change.verdict == "same"
    assert changed(case(a), case(b), threshold=0.005).cases[0].change.verdict == "worse"


def test_a_large_but_noisy_change_is_unclear() -> None:
    change = changed(case([1.0, 2.0, 3.0, 4.0, 5.0]), case([2.0, 3.0, 4.0, 5.0, 6.0])).cases[0].change
    assert (change.verdict, change.survives) == ("unclear", False)


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ({}, {"oversubscribed": True}, "oversubscribed"),
        (
            {},
            {"disturbed": "other programs used"},
            "disturbed by other programs: in 0 of 5 launches of A, 5 of",
        ),
        ({"sync": "window"}, {"sync": "barrier"}, "window against barrier"),
        ({"metric": "time"}, {"metric": "message_rate"}, "time against message_rate"),
        ({}, {"unit": "ms"}, "time in s, lower is better, against time in ms"),
        ({}, {"better": "higher"}, "against time in s, higher is better"),
        ({"sync": "mixed"}, {"sync": "mixed"}, "calls start differently"),
    ],
)
def test_incomparable_cases_have_no_verdict(a: dict[str, str], b: dict[str, str], note: str) -> None:
    result = changed(case(FAST, **a), case(SLOW, **b))
    assert result.cases[0].change.verdict == "no verdict"
    assert note in result.cases[0].change.note
    assert result.exit_code == 2


def test_too_few_launches() -> None:
    result = changed(case(FAST[:3]), case(SLOW))
    assert "too few launches: 3 and 5" in result.cases[0].change.note
    assert result.cases[0].change.ratio == pytest.approx(1.32 / 1.01)  # the ratio is shown nevertheless
    assert result.exit_code == 2
    # The minimum is the same as for an interval of one case.
    assert (
        "too few launches: 4 and 4, of 5 needed"
        in changed(case(FAST[:4]), case(SLOW[:4])).cases[0].change.note
    )


def test_different_modes_are_remarked_upon() -> None:
    change = changed(case(FAST), case(SLOW, mode="fixed")).cases[0].change
    assert (change.verdict, change.note) == ("worse", "modes differ: adaptive against fixed")


def test_values_without_a_ratio() -> None:
    overlap = {"metric": "overlap", "unit": "%", "better": "higher"}
    change = changed(case([0.0] * 5, **overlap), case([10.0] * 5, **overlap)).cases[0].change
    assert (change.ratio, change.verdict) == (None, "no verdict")


def test_refusals() -> None:
    with pytest.raises(
        InputError, match="measured by Kiviat in run r, simulated in run r; values of different origin"
    ):
        changed(case(FAST), case(SLOW, clock="simulated"))
    for threshold in (-0.01, float("nan")):
        with pytest.raises(InputError, match="is not 0 or more"):
            compare([], [], threshold=threshold)
    with pytest.raises(InputError, match="nothing to compare"):
        changed(case(FAST), case(FAST, case="other"))
    with pytest.raises(InputError, match="runs r, s"):
        compare([case(FAST), case(FAST, run="s")], [case(FAST)])


def test_cases_of_one_run_only() -> None:
    result = compare([case(FAST), case(FAST, case="old")], [case(FAST), case(FAST, case="new")])
    assert (result.only_a, result.only_b) == (("old",), ("new",))


def many(logs: np.ndarray, **changes: object) -> list[Summary]:
    return [case(np.exp(row).tolist(), case=f"c{i}", **changes) for i, row in enumerate(logs)]


def test_one_slower_case_among_two_hundred_is_found() -> None:
    """One slower case among 200 is found.

    With Mann-Whitney p-values and the Benjamini-Hochberg correction it would not be: 0.0079 · 200 > 0.05.
    """
    rng = np.random.default_rng(5)
    a, b = 0.02 * rng.standard_normal((2, 200, 5))
    b[17] += np.log(1.3)
    result = compare(many(a), many(b))
    assert result.exit_code == 1
    assert [entry.case for entry in result.cases if entry.change.survives] == ["c17"]


def test_a_small_change_of_a_whole_benchmark_is_found_in_its_mean() -> None:
    rng = np.random.default_rng(6)
    a, b = 0.02 * rng.standard_normal((2, 40, 5))
    result = compare(many(a), many(b + np.log(1.025)))
    assert not any(entry.change.survives for entry in result.cases)  # alone, each case is too noisy
    (group,) = result.groups
    assert (group.name, group.cases) == ("pingpong", 40)
    assert (group.change.verdict, group.change.survives) == ("worse", True)
    assert result.exit_code == 1


def test_a_lost_launch_leaves_the_other_cases_alone() -> None:
    fast, slow = [*FAST, 1.005], [*SLOW, 1.305]
    cases_a = [*many(np.log([fast] * 3)), case(fast[:5], case="lossy")]
    result = compare(cases_a, [*many(np.log([slow] * 3)), case(slow, case="lossy")])
    assert [entry.change.verdict for entry in result.cases] == ["worse"] * 4
    # The family has five launches of A and six of B in common; three cases have six and six.
    assert [entry.change.adjusted_p for entry in result.cases[:3]] == pytest.approx([2 / 462] * 3)
    assert result.cases[3].change.adjusted_p == pytest.approx(2 / 462)
    assert result.cases[0].change.p == pytest.approx(2 / 924)


def test_cases_of_different_numbers_of_launches_are_one_family() -> None:
    """`--interval` gives each case its own number of launches; a slow case among them was once missed."""
    rng = np.random.default_rng(7)
    a, b = (
        [case(np.exp(0.01 * rng.standard_normal(5 + i % 20)).tolist(), case=f"c{i}") for i in range(100)]
        for _ in "ab"
    )
    b[17] = case([2 * value for value in b[17].launch_medians], case="c17")
    result = compare(a, b)
    assert [entry.case for entry in result.cases if entry.change.survives] == ["c17"]
    assert [(group.name, group.cases) for group in result.groups] == [("pingpong", 100)]


def test_further_launches_of_a_noisy_case_count() -> None:
    """Beside a quiet case with few launches, the further launches of a noisy case were once ignored."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sides = []
        for slower in (0.0, np.log(1.1)):
            quiet = case(np.exp(0.005 * rng.standard_normal(5)).tolist(), case="quiet")
            sides.append(
                [quiet, case(np.exp(slower + 0.08 * rng.standard_normal(25)).tolist(), case="noisy")]
            )
        result = compare(sides[0], sides[1])
        found += result.exit_code
        for entry in result.cases:
            assert entry.change.p is not None and entry.change.adjusted_p is not None
            assert entry.change.adjusted_p >= entry.change.p
    assert found > 30


def test_a_run_that_lost_cases_is_incomplete() -> None:
    """A case that crashes or loses launches must not count as no slower."""
    a = [case(FAST, case=f"c{i}") for i in range(3)]
    gone = compare(a, a[:2])
    assert (gone.verdict, gone.exit_code, gone.lost) == ("incomplete", 2, ("c2",))
    short = compare(a, [*a[:2], case(FAST[:3], case="c2")])
    assert (short.verdict, short.exit_code, short.lost) == ("incomplete", 2, ("c2",))
    assert compare(a[:2], a).exit_code == 0  # a new case is no loss
    assert compare(a, [case(SLOW, case="c0")]).exit_code == 1
    assert compare([*a, case(FAST[:3], case="old")], a).verdict == "incomplete"
    few = [*a, case(FAST[:3], case="few")]
    assert compare(few, few).exit_code == 0  # a baseline with too few launches has lost none either


@pytest.mark.parametrize(
    "flaw", [{"disturbed": "other programs used"}, {"oversubscribed": True}, {"sync": "mixed"}]
)
def test_cases_that_cannot_be_judged_because_of_b_are_lost(flaw: dict[str, object]) -> None:
    """With nine of ten cases disturbed in B only, the exit code was once 0."""
    a = [case(FAST, case=f"c{i}") for i in range(10)]
    disturbed = [case(FAST, case=f"c{i}", **flaw) for i in range(9)]
    result = compare(a, [*disturbed, a[9]])
    assert (result.verdict, result.exit_code, len(result.lost)) == ("incomplete", 2, 9)
    assert compare([*disturbed, a[9]], a).exit_code == 0  # what A could not judge is not lost by B
    assert compare([*disturbed, a[9]], [*disturbed, a[9]]).lost == ()


@pytest.mark.parametrize("other", [{"sync": "barrier"}, {"metric": "time_rank_max"}])
def test_cases_that_hold_another_quantity_in_b_are_lost(other: dict[str, object]) -> None:
    """The exit code was once 0 if B missed all windows, and its calls began after a barrier instead."""
    a = [case(FAST, case=f"c{i}", sync="window") for i in range(10)]
    replaced = [case(FAST, case=f"c{i}", **{"sync": "window", **other}) for i in range(9)]
    result = compare(a, [*replaced, a[9]])
    assert (result.verdict, result.exit_code, len(result.lost)) == ("incomplete", 2, 9)


def test_values_that_are_not_positive_in_b_only_are_lost() -> None:
    """A case whose times are 0 in B has no ratio, which must not count as no slower."""
    a = [case(FAST, case=f"c{i}") for i in range(2)]
    result = compare(a, [a[0], case([0.0] * 5, case="c1")])
    assert (result.verdict, result.lost) == ("incomplete", ("c1",))


@pytest.mark.parametrize("kind", ["independent", "shared", "lognormal", "bimodal"])
def test_equal_runs_alarm_in_five_percent_at_most(kind: str) -> None:
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(400):
        logs = 0.02 * rng.standard_normal((60, 10))
        if kind == "shared":  # all cases of a launch deviate together
            logs += 0.02 * rng.standard_normal((1, 10))
        elif kind == "lognormal":
            logs = 0.02 * np.exp(rng.standard_normal((60, 10)))
        elif kind == "bimodal":
            logs += np.log(0.5) * (rng.random((60, 10)) < 0.2)
        alarms += bool((family_p(logs[:, :5], logs[:, 5:], 0.002) <= 0.05).any())
    assert alarms / 400 < 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_equal_runs_as_a_whole() -> None:
    rng = np.random.default_rng(8)
    worse = [compare(many(a), many(b)).exit_code for a, b in 0.05 * rng.standard_normal((60, 2, 20, 5))]
    assert set(worse) <= {0, 1}
    assert sum(worse) <= 5  # expected: 2.5 % of 60


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 5), (4, 7)])
def test_the_null_distribution_by_enumeration(n: int, m: int) -> None:
    counts = np.zeros(n * m + 1)
    for chosen in combinations(range(n + m), n):
        counts[sum(rank - i for i, rank in enumerate(chosen))] += 1
    assert mann_whitney_cdf(n, m) == pytest.approx(np.cumsum(counts) / counts.sum())


def test_many_launches_have_normal_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact ones of two runs of 1000 launches would take many minutes."""
    exact = mann_whitney_cdf(60, 70)
    monkeypatch.setattr(rank_tests, "_NORMAL", 60 * 70 - 1)
    assert mann_whitney_cdf.__wrapped__(60, 70) == pytest.approx(exact, abs=1e-3)
    shift, low, high, _ = shifts(np.zeros((1, 1000)), np.linspace(0, 1, 1000)[None])
    assert low[0] < 0.5 < high[0] and shift[0] == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 5), (6, 9)])
def test_coverage_of_the_shift(n: int, m: int) -> None:
    rng = np.random.default_rng(9)
    draws: tuple[Callable[[tuple[int, int]], Floats], ...] = (
        rng.standard_normal,
        lambda size: rng.exponential(size=size),
    )
    for draw in draws:
        shift, low, high, p = shifts(draw((20_000, n)), draw((20_000, m)) + 1)
        covered = float(np.mean((low <= 1) & (high >= 1)))
        assert 0.95 - 0.005 < covered < 0.98
        assert np.array_equal(p > 0.05, (low <= 0) & (high >= 0))
        assert abs(np.median(shift) - 1) < 0.05


def test_ties_err_to_the_safe_side() -> None:
    _, low, high, p = shifts(np.zeros((1, 5)), np.zeros((1, 5)))
    assert (low[0], high[0], p[0]) == (0, 0, 1)


def test_hodges_lehmann_is_the_median_of_all_differences() -> None:
    shift, low, high, _ = shifts(np.array([[0.0, 1, 2, 3]]), np.array([[10.0, 20, 30, 40]]))
    assert (shift[0], low[0], high[0]) == (23.5, 7, 40)


def test_the_smallest_family_p_does_not_depend_on_the_number_of_cases() -> None:
    rng = np.random.default_rng(10)
    for cases in (1, 10, 1000):
        logs = 0.01 * rng.standard_normal((cases, 10))
        logs[0, 5:] += 1
        assert family_p(logs[:, :5], logs[:, 5:], 0.002)[0] == pytest.approx(2 / 252)


def test_launches_that_agree_by_luck_prove_nothing() -> None:
    """The noise floor keeps a case whose launches agree to 10⁻⁹ by chance from being significant."""
    rng = np.random.default_rng(12)
    logs = 0.01 * rng.standard_normal((20, 10))
    logs[0] *= 1e-7
    logs[0, 5:] += 1e-6
    assert family_p(logs[:, :5], logs[:, 5:], 0.002)[0] > 0.5
    assert (family_p(np.zeros((2, 5)), np.zeros((2, 5)), 0.002) == 1).all()


def test_many_launches_are_relabelled_at_random() -> None:
    rng = np.random.default_rng(11)
    logs = rng.standard_normal((3, 30))
    logs[0, 15:] += 5
    p = family_p(logs[:, :15], logs[:, 15:], 0.002)
    assert p[0] == 1 / 5000
    assert (p[1:] > 0.05).all()


def test_two_simulations_need_no_launches() -> None:
    """Two simulated runs with one launch each can be compared, because a simulation is deterministic.

    They were once refused for lack of launches.
    """

    def predicted(value: float, **changes: object) -> Summary:
        return case([value], clock="simulated", mode="once", stopped_by="fixed", **changes)

    result = changed(predicted(1.0), predicted(1.03))
    change = result.cases[0].change
    assert (change.ratio, change.low, change.p) == (1.03, None, None)
    assert (change.verdict, change.survives, result.exit_code) == ("worse", True, 1)
    assert changed(predicted(1.0), predicted(0.9)).verdict == "better"
    same = changed(predicted(1.0), predicted(1.01))
    assert (same.cases[0].change.verdict, same.verdict, same.exit_code) == ("same", "no difference", 0)
    rate = {"better": "higher", "unit": "B/s"}
    assert changed(predicted(1.0, **rate), predicted(1.5, **rate)).verdict == "better"
    nothing = changed(predicted(0.0), predicted(0.0)).cases[0].change
    assert (nothing.verdict, nothing.note) == ("no verdict", "no ratio: not all values are positive")
