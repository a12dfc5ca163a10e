"""A/A test: how often does a comparison of two runs of the same machine report a difference?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.finding import Finding, Verdict, judged
from benchmarks.mpi import Events, Mpi
from benchmarks.setting import Setting
from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.compare import Comparison, compare
from kiviat.record import Row

ROW = "a-a"
LAUNCHES = 5
CASES = {
    f"{benchmark}/ranks=2/bytes={size}": f"{benchmark} ranks=2 bytes={size} budget_s=0.05"
    for benchmark in ("pingpong", "allreduce")
    for size in (8, 1024, 65536)
}


def measure(setting: Setting) -> Iterator[Finding]:
    pairs = setting.times(100, least=3)
    for mpi in setting.mpis:
        launches = [
            mpi.measure([f"{case} {words}" for case, words in CASES.items()])
            for _ in setting.progress(range(pairs * 2 * LAUNCHES), f"{ROW}: {mpi.name}")
        ]
        # The same launches, divided into two runs in two ways.
        yield _finding(mpi, "launches of the two runs interleaved", launches, lambda i: i % 2 == 0, True)
        yield _finding(mpi, "one run after the other", launches, lambda i: i < LAUNCHES, False)


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
        "5 of 100 at most" if has_target else "",
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
