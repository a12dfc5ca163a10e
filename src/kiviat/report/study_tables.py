"""What the page says about studies in tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.grids import Grid
from kiviat.analysis.patterns import Sick, sick
from kiviat.analysis.summary import Summary
from kiviat.report.runs import counted


@dataclass(frozen=True, slots=True)
class Quantities:
    """The quantities of one case of a study."""

    run: str
    case: str
    conditions: str
    summaries: list[Summary]


def quantities(table: Iterable[Summary], benchmarks: Sequence[str]) -> list[Quantities]:
    """The cases of these benchmarks, each with all that it reports."""
    cases: dict[tuple[str, str], list[Summary]] = {}
    for summary in table:
        if summary.benchmark in benchmarks:
            cases.setdefault((summary.case, summary.run), []).append(summary)
    return [
        Quantities(run, case, _conditions(found[0]), found)
        for (case, run), found in sorted(
            cases.items(), key=lambda entry: benchmarks.index(entry[1][0].benchmark)
        )
    ]


def _conditions(summary: Summary) -> str:
    words = [counted(summary.ranks, "rank")]
    words += [f"{axis} {value}" for axis, value in sorted(summary.axes.items())]
    words += [counted(summary.launches, "launch")]
    return ", ".join(words + (["oversubscribed"] if summary.oversubscribed else []))


@dataclass(frozen=True, slots=True)
class Sickness:
    """What one case of sick_links named."""

    run: str
    conditions: str
    named: list[Sick]


def sickness(grids: Iterable[Grid], names: Mapping[str, str]) -> list[Sickness]:
    """For each case of sick_links what it named, which may be nothing. `names` are labels of runs."""
    cases: dict[tuple[str, str], list[Grid]] = {}
    for grid in grids:
        if grid.benchmark == "sick_links":
            cases.setdefault((grid.run, grid.case), []).append(grid)
    return [
        Sickness(names[run], counted(found[0].ranks, "rank"), sick(found))
        for (run, _), found in cases.items()
    ]
