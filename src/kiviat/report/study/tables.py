"""Tables of studies: quantities, congestion, slow links."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from kiviat.analysis.aggregate.pair_matrices import Sick, sick
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.congestion import Impact, impacts
from kiviat.record.traits import TraitsByName
from kiviat.record.units import axis_text, counted, format_value, three_digits
from kiviat.report.table import Absent, Cell, Column, Content, Interval, Table, Value, tabled

T = TypeVar("T")


# Notes that appear in other tables, and reasons why this machine does not measure something.
_ELSEWHERE = ("communication", "counters", "energy")


def quantities(
    table: Iterable[Summary],
    benchmarks: Sequence[str],
    traits: TraitsByName,
    names: Mapping[str, str],
    title: str,
) -> Table:
    """Return the table of the cases of these benchmarks with all their metrics.

    Rounding errors get a check mark, because the check has compared them with their bound.
    """
    cases: dict[tuple[str, str], list[Summary]] = {}
    for summary in table:
        if summary.benchmark in benchmarks:
            cases.setdefault((summary.case, summary.run), []).append(summary)
    order = sorted(cases.values(), key=lambda found: benchmarks.index(found[0].benchmark))
    found = [one for case in order for one in case]
    once = all(one.clock == "simulated" for one in found)
    known = any(one.low is not None for one in found)

    def proves(one: Summary) -> bool:
        return one.metric in traits[one.benchmark].proofs and one.checked

    def median(one: Summary) -> Cell:
        mark = f"✓ {format_value(one.median, one.unit)}" if proves(one) else Value(one.median, one.unit)
        return Cell(mark, kind=one.clock)

    def bounds(one: Summary) -> Absent | Interval:
        return Absent("checked") if proves(one) else Interval(one.low, one.high, one.unit)

    columns: list[Column[Summary]] = [
        Column("study", _case, kind="case", merged=True),
        *run_column(names, lambda one: names[one.run], merged=True),
        Column("quantity", lambda one: one.metric.replace("_", " "), kind="line"),
        Column("predicted" if once else "median", median, side=">"),
        *([Column("95 % interval", bounds, side=">", absent="–")] if known else []),
    ]
    return tabled(f"Quantities: {title}", columns, found, kind="quantities")


def _case(summary: Summary) -> Cell:
    notes = tuple(f"{name}: {words}" for name, words in _notes(summary))
    return Cell(summary.benchmark, below=(_conditions(summary), *notes))


def run_column(names: Mapping[str, str], of: Callable[[T], str], merged: bool = False) -> list[Column[T]]:
    """Return the column that names the run of each item, if there are several."""
    return [Column("run", of, kind="line", merged=merged)] if len(names) > 1 else []


def _notes(summary: Summary) -> list[tuple[str, str]]:
    return [(name, words) for name, words in summary.notes.items() if name not in _ELSEWHERE]


def _conditions(summary: Summary) -> str:
    words = [counted(summary.ranks, "rank")]
    words += [axis_text(axis, value) for axis, value in sorted(summary.axes.items())]
    words += ["simulated" if summary.clock == "simulated" else counted(summary.launches, "launch")]
    return ", ".join(
        words
        + (["oversubscribed"] if summary.oversubscribed else [])
        + (["disturbed"] if summary.disturbed else [])
    )


def congestion(grids: Iterable[Grid], summaries: Iterable[Summary], names: Mapping[str, str]) -> list[Table]:
    """Return a table of impacts for each case of congestion: a row for each victim.

    A row starts with the victim alone: its median and its 99th percentile.
    """
    values = {(s.run, s.case, s.metric): s for s in summaries if s.benchmark == "congestion"}
    found = []
    for grid in grids:
        if (grid.benchmark, grid.name) != ("congestion", "impact"):
            continue
        felt = {(impact.victim, impact.congestor): impact for impact in impacts(grid)}

        def said(metric: str, grid: Grid = grid) -> str:
            summary = values.get((grid.run, grid.case, metric))
            return "–" if summary is None else format_value(summary.median, summary.unit)

        def alone(victim: str, said: Callable[[str], str] = said) -> Cell:
            return Cell(said(f"{victim}_alone"), below=f"P99 {said(f'{victim}_alone_p99')}")

        def during(
            congestor: str,
            felt: Mapping[tuple[str, str], Impact] = felt,
            said: Callable[[str], str] = said,
        ) -> Callable[[str], Cell]:
            return lambda victim: _felt(felt.get((victim, congestor)), said(f"{victim}_{congestor}"))

        columns: list[Column[str]] = [
            Column("victim", lambda victim: victim),
            Column("alone", alone, side=">"),
            *(
                Column(f"during {each.replace('_', ' ')}", during(each), side=">", absent="–")
                for each in grid.values_of("congestor")
            ),
        ]
        title = f"{f'{names[grid.run]}, ' if len(names) > 1 else ''}{_setting(grid)}"
        found.append(tabled(title, columns, grid.values_of("victim"), kind="impact"))
    return found


def _felt(impact: Impact | None, median: str) -> Cell:
    if impact is None:
        return Cell(None)
    bounds = (
        "" if impact.low is None or impact.high is None else f", 95 %: {impact.low:.3g} – {impact.high:.3g}"
    )
    shade = min(1.0, max(0.0, math.log10(max(impact.mean, 1e-9)) / 1.5))  # darkest at a factor of 30
    return Cell(
        Value(impact.mean, "times"),
        below=f"P99 {three_digits(impact.p99)} ×",
        hover=f"median during it {median}; mean {three_digits(impact.mean)} times that alone{bounds}",
        shade=round(100 * shade),
    )


def _setting(grid: Grid) -> str:
    words = [
        counted(grid.ranks, "rank"),
        *(axis_text(axis, value) for axis, value in sorted(grid.axes.items())),
    ]
    words += ["simulated" if grid.clock == "simulated" else counted(grid.launches, "launch")]
    return ", ".join(words + (["oversubscribed"] if grid.oversubscribed else []))


def link_health(grids: Iterable[Grid], names: Mapping[str, str]) -> list[Table]:
    """Return the table of slow ranks and links of each case, if any; `names` maps runs to labels."""
    cases: dict[tuple[str, str], list[Grid]] = {}
    for grid in grids:
        if grid.benchmark == "sick_links":
            cases.setdefault((grid.run, grid.case), []).append(grid)
    found = [(of_case[0], one) for of_case in cases.values() for one in (*sick(of_case),) or (None,)]

    def of(write: Callable[[Sick], Content]) -> Callable[[tuple[Grid, Sick | None]], Content]:
        return lambda one: None if one[1] is None else write(one[1])

    columns: list[Column[tuple[Grid, Sick | None]]] = [
        *run_column(names, lambda one: names[one[0].run]),
        Column("ranks", lambda one: counted(one[0].ranks, "rank")),
        Column("slow", of(lambda one: one.what), absent="none found"),
        Column("metric", of(lambda one: one.of), absent="–"),
        Column("slowdown", of(lambda one: one.factor), "1", absent="–"),
        Column("confidence", of(lambda one: one.confidence), "share", absent="–"),
        Column("launches", of(lambda one: f"{one.found} of {one.launches}"), side=">", absent="–"),
    ]
    return [tabled("Slow ranks and links", columns, found)] if found else []
