"""Tables of studies: quantities, congestion, slow links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.pair_matrices import Sick, sick
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.congestion import Impact, impacts
from kiviat.record.traits import TraitsByName
from kiviat.record.units import counted, format_value, three_digits


@dataclass(frozen=True, slots=True)
class Quantities:
    """The quantities of one case of a study; `proofs` are rounding errors, shown as check marks."""

    run: str
    case: str
    conditions: str
    summaries: list[Summary]
    notes: list[tuple[str, str]]
    proofs: frozenset[str] = frozenset()


# Notes that appear in other tables, and reasons why this machine does not measure something.
_ELSEWHERE = ("communication", "counters", "energy")


def quantities(table: Iterable[Summary], benchmarks: Sequence[str], traits: TraitsByName) -> list[Quantities]:
    """Return the cases of these benchmarks with all their metrics."""
    cases: dict[tuple[str, str], list[Summary]] = {}
    for summary in table:
        if summary.benchmark in benchmarks:
            cases.setdefault((summary.case, summary.run), []).append(summary)
    return [
        Quantities(
            run, case, _conditions(found[0]), found, _notes(found[0]), traits[found[0].benchmark].proofs
        )
        for (case, run), found in sorted(
            cases.items(), key=lambda entry: benchmarks.index(entry[1][0].benchmark)
        )
    ]


def _notes(summary: Summary) -> list[tuple[str, str]]:
    return [(name, words) for name, words in summary.notes.items() if name not in _ELSEWHERE]


def _conditions(summary: Summary) -> str:
    words = [counted(summary.ranks, "rank")]
    words += [f"{axis} {value}" for axis, value in sorted(summary.axes.items())]
    words += ["simulated" if summary.clock == "simulated" else counted(summary.launches, "launch")]
    return ", ".join(
        words
        + (["oversubscribed"] if summary.oversubscribed else [])
        + (["disturbed"] if summary.disturbed else [])
    )


@dataclass(frozen=True, slots=True)
class Felt:
    """An impact in words; `heat` is its shade in percent, `hover` its tooltip."""

    mean: str
    p99: str
    heat: int
    hover: str


@dataclass(frozen=True, slots=True)
class Congestion:
    """The impacts of one case of congestion: a line for each victim, a cell for each of `congestors`.

    A line starts with the victim alone: its median and its 99th percentile.
    """

    run: str
    conditions: str
    congestors: list[str]
    lines: list[tuple[str, str, str, list[Felt | None]]]


def congestion(
    grids: Iterable[Grid], summaries: Iterable[Summary], names: Mapping[str, str]
) -> list[Congestion]:
    """Return a table of impacts for each case of congestion."""
    values = {(s.run, s.case, s.metric): s for s in summaries if s.benchmark == "congestion"}
    found = []
    for grid in grids:
        if (grid.benchmark, grid.name) != ("congestion", "impact"):
            continue
        felt = {(impact.victim, impact.congestor): impact for impact in impacts(grid)}
        congestors = list(grid.values_of("congestor"))

        def said(metric: str, grid: Grid = grid) -> str:
            summary = values.get((grid.run, grid.case, metric))
            return "–" if summary is None else format_value(summary.median, summary.unit)

        lines = [
            (
                victim,
                said(f"{victim}_alone"),
                said(f"{victim}_alone_p99"),
                [
                    _felt(felt[victim, each], said(f"{victim}_{each}")) if (victim, each) in felt else None
                    for each in congestors
                ],
            )
            for victim in grid.values_of("victim")
        ]
        words = [each.replace("_", " ") for each in congestors]
        found.append(Congestion(names[grid.run], _setting(grid), words, lines))
    return found


def _felt(impact: Impact, median: str) -> Felt:
    bounds = (
        "" if impact.low is None or impact.high is None else f", 95 %: {impact.low:.3g} – {impact.high:.3g}"
    )
    shade = min(1.0, max(0.0, math.log10(max(impact.mean, 1e-9)) / 1.5))  # darkest at a factor of 30
    return Felt(
        f"{three_digits(impact.mean)} ×",
        f"P99 {three_digits(impact.p99)} ×",
        round(100 * shade),
        f"median during it {median}; mean {three_digits(impact.mean)} times that alone{bounds}",
    )


def _setting(grid: Grid) -> str:
    words = [counted(grid.ranks, "rank"), *(f"{axis} {value}" for axis, value in sorted(grid.axes.items()))]
    words += ["simulated" if grid.clock == "simulated" else counted(grid.launches, "launch")]
    return ", ".join(words + (["oversubscribed"] if grid.oversubscribed else []))


@dataclass(frozen=True, slots=True)
class LinkHealth:
    """The slow ranks and links of one case of sick_links."""

    run: str
    conditions: str
    named: list[Sick]


def link_health(grids: Iterable[Grid], names: Mapping[str, str]) -> list[LinkHealth]:
    """Return the slow ranks and links of each case, possibly none; `names` maps runs to labels."""
    cases: dict[tuple[str, str], list[Grid]] = {}
    for grid in grids:
        if grid.benchmark == "sick_links":
            cases.setdefault((grid.run, grid.case), []).append(grid)
    return [
        LinkHealth(names[run], counted(found[0].ranks, "rank"), sick(found))
        for (run, _), found in cases.items()
    ]
