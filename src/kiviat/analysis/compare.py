"""Compares two runs case by case, and decides whether the second is worse.

The launch is the sampling unit throughout. Values are logarithms of launch medians, so effects are ratios,
and comparing b with a mirrors comparing a with b.

**One case.** The ratio b/a is the Hodges–Lehmann estimate: the median of all n·m ratios of launches. Its
interval consists of order statistics of those ratios, chosen from the exact null distribution of the
Mann–Whitney statistic (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 2014, sections 4.2–4.3).
It covers at least 95 % (96.8 % at 5 against 5 launches) if one run is the other times a constant, whatever
the distribution; ties make it wider, never narrower. A verdict "better" or "worse" requires an interval that
excludes 1 and a ratio beyond the practical threshold, because with enough launches any difference becomes
significant. Three launches on a side cannot reach 95 %; a verdict needs as many as an interval,
`MIN_LAUNCHES`.

**All cases.** Some verdicts on single cases are wrong by chance: of 200 cases of two equal runs, 3 separate
completely at 5 against 5 launches. Benjamini–Hochberg over the Mann–Whitney p-values controls this, but has
no power here: 5 against 5 launches cannot give less than p = 2/252 = 0.0079, so no verdict survives unless 16
% of all cases separate completely, and one benchmark among many could become twice as slow unnoticed.
Instead, the labels of the launches are permuted jointly in all cases. The adjusted p-value of a case is the
share of the 252 relabellings (of a fixed random sample if there are more than 5000) in which any case shows
at least as large a studentised difference (Westfall, Young: Resampling-Based Multiple Testing, 1993,
single-step maxT). This assumes neither independence of the cases, which share their launches, nor a
distribution, only that the launches of two equal runs are exchangeable. It keeps the probability of any false
alarm in the whole comparison, and so the false discovery rate, below 5 %. Its smallest value is 0.0079 for
any number of cases; one case of 200 that is 30 % slower is found with 5 launches if launches scatter by 2 %.
If cases have different numbers of launches, as with `--interval`, there are two such values: from the first
launches of each, as many as every case has, with all cases as one family; and from all launches of the cases
that have equally many, divided by the share of these cases. Twice the smaller one counts.

The price is low power against small changes. If many cases share a small change, the geometric means over the
cases of a benchmark, and over all, show it; these groups belong to the same family of tests.

Two limits: a drift of the machine between the runs looks like any other difference, so interleave the runs if
that matters; and with five launches the interval of a noisy case is wide, which gives "unclear".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kiviat.analysis.aggregate.summary import MIXED, Summary
from kiviat.analysis.statistics.intervals import MIN_LAUNCHES, Floats
from kiviat.analysis.statistics.rank_tests import family_p, shifts
from kiviat.record.errors import InputError
from kiviat.record.types import LEVEL
from kiviat.record.units import counted

THRESHOLD = 0.02

_ORIGINS = {"wall": "measured by Kiviat", "simulated": "simulated", "reported": "reported by another program"}

# Lower limit of the scatter of launches, relative. Launches that agree better do so by chance or because of
# the clock's resolution, which would make any difference "significant". (Tusher, Tibshirani, Chu: PNAS 98
# (2001) 5116–5121.)
_NOISE_FLOOR = 0.002


@dataclass(frozen=True, slots=True)
class Change:
    """Change from a to b: `ratio` is b/a, with its 95 % interval and p-value; None if unavailable.

    `verdict`: "better" or "worse"; "same" if the whole interval lies within the threshold; "unclear" if
    neither; "no verdict" if none is possible, for the reason `note`. `adjusted_p` accounts for all cases
    compared; `survives`: the verdict holds with that p-value, too.
    """

    ratio: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted_p: float | None = None
    verdict: str = "no verdict"
    survives: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case in both runs."""

    a: Summary
    b: Summary
    change: Change

    @property
    def case(self) -> str:
        """Identity of the case in both runs."""
        return self.a.case


@dataclass(frozen=True, slots=True)
class GroupChange:
    """Geometric mean of the changes of a benchmark's `cases` cases, or of all cases ("all")."""

    name: str
    cases: int
    change: Change


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of run `b` with run `a`: common cases, groups of them, and cases that only one run has."""

    a: str
    b: str
    threshold: float
    cases: tuple[CaseChange, ...]
    groups: tuple[GroupChange, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Overall verdict: "worse", "incomplete", "better", "no difference" or "no verdict".

        "incomplete": no case is shown to be worse, but `b` lost some that `a` has (`lost`).
        """
        changes = [case.change for case in self.cases] + [group.change for group in self.groups]
        survivors = {change.verdict for change in changes if change.survives}
        if "worse" in survivors:
            return "worse"
        if all(change.verdict == "no verdict" for change in changes):
            return "no verdict"
        if self.lost:
            return "incomplete"
        return "better" if "better" in survivors else "no difference"

    @property
    def lost(self) -> tuple[str, ...]:
        """Cases of `a` that `b` lacks, or that have no verdict because of `b` alone."""
        untested = [one for one in self.cases if one.change.verdict == "no verdict"]
        by_b = (
            one.case
            for one in untested
            if _is_testable(one.a) and (not _is_testable(one.b) or _is_replaced(one.a, one.b))
        )
        return (*self.only_a, *by_b)

    @property
    def exit_code(self) -> int:
        """0: nothing is worse; 1: something is worse; 2: there is no verdict, or not on all cases of `a`."""
        return {"worse": 1, "no verdict": 2, "incomplete": 2}.get(self.verdict, 0)


def compare(a: Sequence[Summary], b: Sequence[Summary], threshold: float = THRESHOLD) -> Comparison:
    """Compare the common cases of two runs, each given by one summary, as `primary` returns them.

    `threshold` is the smallest relative change that matters: ratios between 1/(1+threshold) and 1+threshold
    get no verdict "better" or "worse".

    Raise InputError if there is nothing to compare, if a side contains several runs, or if the clocks differ.
    """
    if not threshold >= 0:
        raise InputError(f"threshold {threshold:g} is not 0 or more; give a relative change, such as 0.02")
    of_a, of_b = map(_by_case, (a, b))
    pairs = [(of_a[case], of_b[case]) for case in of_a if case in of_b]
    if not pairs:
        raise InputError(
            f"nothing to compare: of {len(of_a)} and {len(of_b)} cases none is in both runs; "
            "run the same plan twice"
        )
    changes = [
        _exact(*pair, threshold) or Change(_ratio(*pair), note=_obstacle(*pair) or "") for pair in pairs
    ]
    testable = [index for index, change in enumerate(changes) if not change.note]
    tested = [pairs[index] for index in testable]
    groups: list[GroupChange] = []
    if tested:
        first = [_first_logs(side) for side in zip(*tested, strict=True)]
        members = _groups(tested)
        means = [np.array([logs[rows].mean(axis=0) for rows in members.values()]) for logs in first]
        logs_of = [np.concatenate(each) if members else each[0] for each in zip(first, means, strict=True)]
        samples = [(_logs(before), _logs(after)) for before, after in tested]
        adjusted = _adjusted(family_p(logs_of[0], logs_of[1], _NOISE_FLOOR), samples)
        for index, shift, p in zip(testable, _shifts(samples), adjusted[: len(tested)], strict=True):
            before, after = pairs[index]
            change = _change(shift, float(p), before.better, threshold)
            changes[index] = replace(change, note=_remark(before, after))
        shifts_of = _shifts(list(zip(means[0], means[1], strict=True)))
        for (name, rows), shift, p in zip(members.items(), shifts_of, adjusted[len(tested) :], strict=True):
            change = _change(shift, float(p), tested[rows[0]][0].better, threshold)
            groups.append(GroupChange(name, len(rows), change))
    return Comparison(
        a=a[0].run,
        b=b[0].run,
        threshold=threshold,
        cases=tuple(CaseChange(*pair, change) for pair, change in zip(pairs, changes, strict=True)),
        groups=tuple(groups),
        only_a=tuple(case for case in of_a if case not in of_b),
        only_b=tuple(case for case in of_b if case not in of_a),
    )


def _by_case(summaries: Sequence[Summary]) -> dict[str, Summary]:
    """Return the summaries by case. Raise InputError if there are several runs."""
    runs = sorted({summary.run for summary in summaries})
    if len(runs) > 1:
        raise InputError(f"one side of the comparison holds runs {', '.join(runs)}; compare them one by one")
    return {summary.case: summary for summary in summaries}


def _obstacle(a: Summary, b: Summary) -> str | None:
    """Return the reason why no verdict is possible, None if one is. Raise InputError for different clocks."""
    if a.clock != b.clock:
        raise InputError(
            f"case {a.case!r}: {_ORIGINS[a.clock]} in run {a.run}, {_ORIGINS[b.clock]} in run {b.run}; "
            f"values of different origin get no verdict; `kiviat report {a.run} {b.run}` shows both"
        )
    if unlike := _unlike(a, b):
        return unlike
    if min(*a.launch_medians, *b.launch_medians) <= 0:
        return "no ratio: not all values are positive"
    if min(a.launches, b.launches) < MIN_LAUNCHES:
        return f"too few launches: {a.launches} and {b.launches}, of {MIN_LAUNCHES} needed"
    return None


def _is_testable(one: Summary) -> bool:
    """Return whether nothing in a case itself prevents a verdict, whatever it is compared with."""
    enough = one.launches >= MIN_LAUNCHES or one.clock == "simulated"
    alike = not one.oversubscribed and not one.disturbed and one.sync != MIXED
    return enough and alike and min(one.launch_medians) > 0


def _is_replaced(a: Summary, b: Summary) -> bool:
    """Return whether `b` holds another quantity in place of `a`'s, such as calls that missed all windows."""
    return a.metric != b.metric or (a.sync, b.sync) == ("window", "barrier")


def _unlike(a: Summary, b: Summary) -> str | None:
    """Return how the summaries differ in quantity or conditions; None if they do not."""
    if a.metric != b.metric:
        return f"{a.metric} against {b.metric}"
    if (a.unit, a.better) != (b.unit, b.better):
        return ", against ".join(f"{one.metric} in {one.unit}, {one.better} is better" for one in (a, b))
    if a.oversubscribed or b.oversubscribed:
        return "oversubscribed"
    if a.disturbed or b.disturbed:
        of = [f"{one.disturbed} of {counted(one.launches, 'launch')}" for one in (a, b)]
        return f"disturbed by other programs: in {of[0]} of A, {of[1]} of B"
    if a.sync != b.sync or a.sync == MIXED:
        return f"calls start differently: {a.sync} against {b.sync}"
    return None


def _exact(a: Summary, b: Summary, threshold: float) -> Change | None:
    """Compare two simulations, which are deterministic and need no test; None for measured results."""
    if not a.clock == b.clock == "simulated" or _unlike(a, b) or min(a.median, b.median) <= 0:
        return None
    ratio = b.median / a.median
    if abs(math.log(ratio)) <= math.log1p(threshold):
        return Change(ratio, verdict="same", note="predicted")
    better = (ratio < 1) == (a.better == "lower")
    return Change(ratio, verdict="better" if better else "worse", survives=True, note="predicted")


def _remark(a: Summary, b: Summary) -> str:
    return "" if a.mode == b.mode else f"modes differ: {a.mode} against {b.mode}"


def _ratio(a: Summary, b: Summary) -> float | None:
    """Return the ratio of the medians, for cases without a test; None for different metrics."""
    return b.median / a.median if a.metric == b.metric and a.median > 0 and b.median > 0 else None


def _logs(summary: Summary) -> Floats:
    return np.log(summary.launch_medians)


def _first_logs(summaries: Sequence[Summary]) -> Floats:
    """Return the logarithms of the first launches of each case, as many as every case has."""
    launches = min(summary.launches for summary in summaries)
    return np.array([_logs(summary)[:launches] for summary in summaries])


def _groups(pairs: Sequence[tuple[Summary, Summary]]) -> dict[str, list[int]]:
    """Return the indices of `pairs` by group: each benchmark, and all; with one metric and several cases.

    The k-th launches of the cases are tested together. If a case lost a launch, its k-th may be a different
    launch from that of the others, which only makes the test of the group more conservative.
    """
    groups: dict[str, list[int]] = {}
    for index, (a, _) in enumerate(pairs):
        groups.setdefault(a.benchmark, []).append(index)
    if len(groups) > 1:
        groups["all"] = list(range(len(pairs)))
    return {
        name: rows
        for name, rows in groups.items()
        if len(rows) > 1 and len({pairs[index][0].metric for index in rows}) == 1
    }


@dataclass(frozen=True, slots=True)
class _Shift:
    """Hodges–Lehmann shift of logarithms, with its interval and p-value."""

    shift: float
    low: float
    high: float
    p: float


def _alike(samples: Sequence[tuple[Floats, Floats]]) -> list[list[int]]:
    """Return the places of pairs with equally many launches on each side."""
    places: dict[tuple[int, int], list[int]] = {}
    for place, (a, b) in enumerate(samples):
        places.setdefault((len(a), len(b)), []).append(place)
    return list(places.values())


def _stacked(samples: Sequence[tuple[Floats, Floats]], places: Sequence[int]) -> tuple[Floats, Floats]:
    a, b = (np.array([samples[place][side] for place in places]) for side in (0, 1))
    return a, b


def _adjusted(by_first: Floats, samples: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Return adjusted p-values of all cases, and of their groups, which follow them in `by_first`.

    `by_first` are those of the first launches. If cases have further ones, twice the smaller of this value
    and that of all their launches counts (Bonferroni).
    """
    alike = _alike(samples)
    if len(alike) == 1:
        return by_first
    by_all = np.ones_like(by_first)
    for places in alike:
        share = len(by_first) / len(places)
        by_all[places] = family_p(*_stacked(samples, places), _NOISE_FLOOR) * share
    return np.asarray(np.minimum(1.0, 2 * np.minimum(by_first, by_all)))


def _shifts(samples: Sequence[tuple[Floats, Floats]]) -> list[_Shift]:
    """Return the shift of the second sample against the first, for each pair."""
    found: dict[int, _Shift] = {}
    for places in _alike(samples):
        for place, values in zip(places, zip(*shifts(*_stacked(samples, places)), strict=True), strict=True):
            found[place] = _Shift(*map(float, values))
    return [found[place] for place in range(len(samples))]


def _change(of: _Shift, adjusted_p: float, better: str, threshold: float) -> Change:
    limit = math.log1p(threshold)
    if (of.low > 0 or of.high < 0) and abs(of.shift) > limit:
        verdict = "better" if (of.shift < 0) == (better == "lower") else "worse"
    else:
        verdict = "same" if -limit <= of.low and of.high <= limit else "unclear"
    return Change(
        ratio=math.exp(of.shift),
        low=math.exp(of.low),
        high=math.exp(of.high),
        p=of.p,
        adjusted_p=max(adjusted_p, of.p),
        verdict=verdict,
        survives=verdict in ("better", "worse") and max(adjusted_p, of.p) <= 1 - LEVEL,
    )
