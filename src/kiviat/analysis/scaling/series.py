"""Scaling series: the same quantity of a benchmark on several numbers of ranks.

A curve is one metric of one benchmark at one setting on one machine. Its points are numbers of ranks, from
one run or several. The work done per second, C, is the rate, or 1/time for constant total work (strong
scaling), or ranks/time for constant work per rank (weak scaling).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.scaling.curve import Curve, curve_of
from kiviat.analysis.scaling.problem_size import SIZE_AXES, Kind, kind_of, setting, size_of
from kiviat.record.errors import InputError
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.traits import traits_of
from kiviat.record.types import Row
from kiviat.record.units import format_size, listed

_RATES = ("flop/s", "op/s", "B/s", "1/s")


@dataclass(frozen=True, slots=True)
class Study:
    """One quantity at one setting, on one machine or several.

    `why`: how the kind of scaling was determined.
    """

    benchmark: str
    metric: str
    unit: str
    better: str
    kind: str
    why: str
    setting: str
    bytes: int | None
    curves: tuple[Curve, ...]

    @property
    def title(self) -> str:
        """Benchmark, message size and setting."""
        size = "" if self.bytes is None else f" of {format_size(self.bytes)}"
        return f"{self.benchmark}{size}" + (f", {self.setting}" if self.setting else "")

    @property
    def rate(self) -> bool:
        """True if the quantity is a rate (higher is better), not a time."""
        return self.better == "higher"


@dataclass(frozen=True)
class Source:
    """Runs that belong together (see `joined`), with their rows and grids."""

    label: str
    runs: tuple[Run, ...]
    rows: Sequence[Row]
    grids: Sequence[Grid] = ()


@dataclass(frozen=True)
class Selection:
    """Selection by the user: benchmarks (all if empty), metric, and a kind that replaces the records' own."""

    benchmarks: tuple[str, ...] = ()
    metric: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Scaling:
    """All studies. `left_out`: quantities with several numbers of ranks but without a curve, and why."""

    studies: tuple[Study, ...]
    left_out: tuple[str, ...]


@dataclass
class _Collected:
    """Accumulator of curves while studies are formed."""

    studies: dict[tuple[Any, ...], list[Curve]] = field(default_factory=dict)
    why: dict[tuple[Any, ...], str] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)

    def leave_out(self, why: str) -> None:
        self.left_out[why] = None


def joined(loaded: Iterable[tuple[Run, Sequence[Row]]]) -> list[list[Run]]:
    """Group runs of one machine with equal conditions that have no case in common."""
    groups: dict[tuple[Any, ...], list[tuple[list[Run], set[str]]]] = defaultdict(list)
    order = []
    for run, rows in loaded:
        cases = {case.case for case in Rows.of(rows).cases}
        same = groups[_conditions(run)]
        fitting = next((entry for entry in same if not entry[1] & cases), None)
        if fitting is None:
            fitting = ([], set())
            same.append(fitting)
            order.append(fitting[0])
        fitting[0].append(run)
        fitting[1].update(cases)
    return order


def _conditions(run: Run) -> tuple[Any, ...]:
    model = run.machine.model
    return (
        run.machine.name,
        run.substrate,
        model and model.hash,
        tuple(sorted({f"{launch.mpi} {launch.mpi_version}" for launch in run.launches})),
        tuple(run.where.get(name) for name in ("on", "ppn", "place", "bind")),
        run.machine.declared_watts,
    )


def scaling(sources: Sequence[Source], asked: Selection) -> Scaling:
    """Return the curves of all sources, grouped by problem. Raise InputError if there is no curve at all."""
    found = _Collected()
    seen: dict[str, set[int]] = defaultdict(set)
    for source in sources:
        summaries = [
            one
            for one in summarise(source.rows)
            if (not asked.benchmarks or one.benchmark in asked.benchmarks)
            and one.axes.get("scope")
            != "single"  # in scope single one rank computes, whatever the number of ranks
            and min(one.launch_medians) > 0
        ]
        for one in summaries:
            seen[one.benchmark].add(one.ranks)
        _of_source(source, summaries, asked, found)
    studies = tuple(
        Study(key[0], key[1], key[2], key[3], key[4], found.why[key], key[5], key[6], tuple(curves))
        for key, curves in found.studies.items()
    )
    if not studies:
        raise InputError(_nothing(seen, asked, list(found.left_out)))
    return Scaling(tuple(sorted(studies, key=_order)), tuple(found.left_out))


def _order(study: Study) -> tuple[Any, ...]:
    return study.benchmark, study.setting, -1 if study.bytes is None else study.bytes


def _nothing(seen: Mapping[str, set[int]], asked: Selection, left_out: Sequence[str]) -> str:
    if left_out:
        return left_out[0] + (f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else "")
    if not seen:
        named = " and ".join(asked.benchmarks)
        what = f"of {named} " if named else ""
        return f"no results {what}in these runs; `kiviat show` says of each what there is and what failed"
    most = max(seen, key=lambda name: len(seen[name]))
    counts = listed([str(ranks) for ranks in sorted(seen[most])])
    if len(seen[most]) == 1:
        others = sorted(set(seen) - {most})
        also = f" (and none of {', '.join(others)} on more numbers of ranks)" if others else ""
        return (
            f"a single point does not scale: {most} ran on {counts} rank"
            f"{'' if counts == '1' else 's'} only{also}; measure other numbers too, as "
            "`kiviat run allreduce -n 2,4,8` does, or name their runs"
        )
    return (
        f"no curve: {most} is there on {counts} ranks, but with no setting on two of these; "
        "use the same plan for all numbers of ranks"
    )


def _of_source(source: Source, summaries: Sequence[Summary], asked: Selection, found: _Collected) -> None:
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for one in summaries:
        values[one.case][one.metric] = one.median
    failed = list(Rows.of(source.rows).without_result())
    runs = {run.id: run for run in source.runs}
    traits = traits_of(run.benchmarks for run in source.runs)
    seconds = {case: metrics["time"] for case, metrics in values.items() if "time" in metrics}
    for benchmark in dict.fromkeys(one.benchmark for one in summaries):
        own = [one for one in summaries if one.benchmark == benchmark]
        metric = _metric(own, asked.metric, traits[benchmark].scales)
        if metric is None:
            if asked.metric:
                have = ", ".join(dict.fromkeys(one.metric for one in own if _scales(one)))
                found.leave_out(f"{benchmark} has no {asked.metric} that scales; it has {have or 'none'}")
            continue
        for points in _curves([one for one in own if one.metric == metric]):
            sizes = [size_of(point, values[point.case], traits[benchmark]) for point in points]
            kind = (
                Kind(asked.kind, "as asked for") if asked.kind else kind_of(points, sizes, traits[benchmark])
            )
            axes = points[0].axes
            varying = {axis for axis in SIZE_AXES if len({point.axes.get(axis) for point in points}) > 1}
            words = setting(axes, frozenset({*varying, "scaling"}))
            if kind.name is None:
                what = f"{benchmark} ({words})" if words else benchmark
                found.leave_out(
                    f"cannot tell whether {what} scales strongly or weakly: {kind.why}; give --strong or "
                    "--weak"
                )
                continue
            first = points[0]
            key = (benchmark, metric, first.unit, first.better, kind.name, words, first.bytes)
            curve = curve_of(
                source.label,
                runs,
                points,
                traits[benchmark],
                sizes,
                kind.name,
                failed=failed,
                grids=source.grids,
                seconds=seconds,
            )
            found.studies.setdefault(key, []).append(curve)
            found.why.setdefault(key, kind.why)


def _scales(summary: Summary) -> bool:
    """True for a time or a rate; of messages for the time only, from which their rates follow."""
    lasting = summary.unit == "s" and summary.better == "lower"
    return lasting or (summary.bytes is None and summary.unit in _RATES and summary.better == "higher")


def _metric(summaries: Sequence[Summary], asked: str | None, scales: str) -> str | None:
    names = list(dict.fromkeys(one.metric for one in summaries if _scales(one)))
    if asked is not None:
        return asked if asked in names else None
    return scales if scales in names else names[0] if names else None


def _curves(summaries: Iterable[Summary]) -> list[list[Summary]]:
    """Group cases that differ only in their ranks, or also in size if each number of ranks has one size.

    Cases in which some ranks of a world wait end with the case of all its ranks, which has no `world`.
    """
    groups: dict[tuple[Any, ...], dict[int, Summary]] = defaultdict(dict)
    for one in summaries:
        groups[one.bytes, one.mode, tuple(sorted(one.axes.items()))][one.ranks] = one
    for (size, mode, axes), group in list(groups.items()):
        rest, world = tuple(axis for axis in axes if axis[0] != "world"), dict(axes).get("world")
        if world and (whole := groups.get((size, mode, rest), {}).get(int(world))):
            group.setdefault(whole.ranks, whole)
    curves = [list(group.values()) for group in groups.values() if len(group) > 1]
    alone = [one for group in groups.values() if len(group) == 1 for one in group.values()]
    by_size: dict[tuple[Any, ...], list[Summary]] = defaultdict(list)
    for one in alone:
        rest = tuple(sorted((name, value) for name, value in one.axes.items() if name not in SIZE_AXES))
        by_size[one.bytes, one.mode, rest].append(one)
    curves += [
        group
        for group in by_size.values()
        if len(group) > 1 and len({one.ranks for one in group}) == len(group)
    ]
    return [sorted(curve, key=lambda one: one.ranks) for curve in curves]
