"""A/A test: how often does a comparison of two runs of the same machine report a difference?

And how often does an interval over a few launches contain the median of all?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.finding import Finding, Verdict, judged
from benchmarks.mpi import Events, Mpi
from benchmarks.setting import Setting
from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.compare import Comparison, compare
from kiviat.analysis.statistics.intervals import Floats, median_intervals
from kiviat.record import Row

ROW = "a-a"
LAUNCHES = 5
CASES = {
    f"{benchmark}/ranks=2/bytes={size}": f"{benchmark} ranks=2 bytes={size} budget_s=0.05"
    for benchmark in ("pingpong", "allreduce")
    for size in (8, 1024, 65536)
}

_SHUFFLES = 20  # of all launches, in order to draw groups of them
_LEAST_COVERED = 0.93  # five launches, whose interval is their range, cover 93.75 % at best


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _under)


def _under(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    pairs = setting.times(60, least=3)
    launches = [
        mpi.measure([f"{case} {words}" for case, words in CASES.items()])
        for _ in setting.progress(range(pairs * 2 * LAUNCHES), f"{ROW}: {mpi.name}")
    ]
    # The same launches, divided into two runs in two ways.
    yield _finding(mpi, "launches of the two runs interleaved", launches, lambda i: i % 2 == 0, True)
    yield _finding(mpi, "one run after the other", launches, lambda i: i < LAUNCHES, False)
    yield from _coverages(mpi, launches)


def _coverages(mpi: Mpi, launches: Sequence[Events]) -> Iterator[Finding]:
    """Yield the shares of 95 % intervals that contain the median of all launches.

    Launches drawn at random test the intervals; consecutive ones, as in a run, add the drift of the machine.
    """
    medians = np.array([[events.metric(case, "time")["p50"] for events in launches] for case in CASES])
    for of in (LAUNCHES, 2 * LAUNCHES):
        drawn = np.random.default_rng(of).permuted(np.tile(medians, _SHUFFLES), axis=1)
        for how, least, values in (
            ("drawn at random", _LEAST_COVERED, drawn),
            ("one after the other", None, medians),
        ):
            covered = _covered(values, medians, of)
            share = float(covered.mean())
            yield Finding(
                ROW,
                f"Intervals of {of} launches {how} that hold the median of all, {mpi.name}",
                f"{share:.1%}",
                f"{least:.0%} at least" if least else "",
                judged(share >= least) if least else Verdict.STATED,
                detail=[
                    f"{case}: {share:.1%}" for case, share in zip(CASES, covered.mean(axis=1), strict=True)
                ],
                data={"covered": share, "intervals": covered.size},
            )


def _covered(values: Floats, all_launches: Floats, of: int) -> Floats:
    """Return 1 for each case (row) and group of `of` launches whose interval contains the case's median."""
    groups = values[:, : values.shape[1] // of * of].reshape(-1, of)
    intervals = median_intervals(groups)
    assert intervals is not None
    low, high = intervals.T.reshape(2, len(CASES), -1)
    truth = np.median(all_launches, axis=1)[:, None]
    return np.asarray((low <= truth) & (truth <= high), np.float64)


def _finding(
    mpi: Mpi, how: str, launches: Sequence[Events], in_a: Callable[[int], bool], has_target: bool
) -> Finding:
    size = 2 * LAUNCHES
    comparisons = [_compare(launches[begin : begin + size], in_a) for begin in range(0, len(launches), size)]
    different = sum(comparison.verdict in ("better", "worse") for comparison in comparisons)
    verdicts = Counter(entry.change.verdict for comparison in comparisons for entry in comparison.cases)
    by_case = Counter(
        entry.case
        for comparison in comparisons
        for entry in comparison.cases
        if entry.change.verdict in ("better", "worse")
    )
    met = different <= 0.05 * len(comparisons)
    return Finding(
        ROW,
        f"Runs said to differ, {how}, {mpi.name}",
        f"{different} of {len(comparisons)}",
        "5 % at most" if has_target else "",
        judged(met) if has_target else Verdict.STATED,
        detail=[
            "cases, before allowing for their number: "
            + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()),
            *(f"{case}: {count} of {len(comparisons)}" for case, count in by_case.most_common()),
        ],
        data={"different": different, "comparisons": len(comparisons), "case_verdicts": dict(verdicts)},
    )


def _compare(launches: Sequence[Events], in_a: Callable[[int], bool]) -> Comparison:
    sides: dict[bool, list[Row]] = {True: [], False: []}
    for index, events in enumerate(launches):
        side = in_a(index)
        for case, result in events.results.items():
            if result["outcome"] == "ok":
                sides[side].append(_row("a" if side else "b", index, result, events.metric(case, "time")))
    return compare(summarise(sides[True]), summarise(sides[False]))


def _row(run: str, launch: int, result: Mapping[str, Any], metric: Mapping[str, Any]) -> Row:
    copied = ("case", "benchmark", "ranks", "bytes", "axes", "mode", "sync", "outcome", "phase", "reason")
    figures = ("unit", "better", "per_call", "count", "mean", "min", "max", "p50", "p90", "p99")
    return Row(
        run=run,
        launch=launch,
        substrate="native",
        clock="wall",
        check=result["check"],
        stopped_by=result["stopped_by"],
        oversubscribed=result["oversubscribed"],
        metric=metric["name"],
        ci_low=metric["ci_low"],
        ci_high=metric["ci_high"],
        **{key: result[key] for key in copied},
        **{key: metric[key] for key in figures},
    )
