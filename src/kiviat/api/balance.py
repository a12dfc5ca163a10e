"""Balance of machines: ratios of the kernels of HPC Challenge, and their Kiviat diagram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from kiviat.analysis.hpcc import balance as analysis
from kiviat.analysis.hpcc.balance import AXES, Balance
from kiviat.analysis.hpcc.quantities import System, chosen, measured_system, published_systems
from kiviat.api.arguments import refuse_unknown, words
from kiviat.api.runs import Named, Run, Runs, named
from kiviat.api.table import Table, Tabular
from kiviat.record import InputError, write_whole
from kiviat.report.balance.text import cell_text, remarks, sentences
from kiviat.report.facts.runs import labels
from kiviat.report.html import fragment

Rule = Literal["auto", "keep", "drop"]


@dataclass(frozen=True)
class BalanceResult(Tabular):
    """Runs and published systems on the axes of the diagram; `details` has values, shares and rules."""

    runs: Runs
    details: Balance

    @property
    def sentences(self) -> list[str]:
        """Performance, bottlenecks, and missing axes or the comparison, in words."""
        return sentences(self.details)

    @property
    def table(self) -> Table:
        """One row for each system and axis; a missing value has a reason.

        `relation`, `upper` and `holder` are those of published values, `meaning` is that of `low` and `high`.
        """
        return Table.of(
            [
                {
                    "system": system.name,
                    "axis": axis.id,
                    "title": axis.title,
                    "unit": axis.unit,
                    "value": cell.value,
                    "relation": cell.relation,
                    "upper": cell.upper,
                    "holder": cell.holder,
                    "low": cell.low,
                    "high": cell.high,
                    "meaning": cell.meaning,
                    "extrapolated": "; ".join(cell.extrapolated),
                    "reason": cell.reason,
                    "origin": system.origin,
                    "processes": system.whole.processes,
                    "oversubscribed": None if published else system.whole.oversubscribed,
                    "disturbed": None if published else system.whole.disturbed,
                }
                for system, cells in zip(self.details.systems, self.details.cells, strict=True)
                for published in (system.origin == "published",)
                for axis, cell in zip(AXES, cells, strict=True)
            ]
        )

    def report(self, output: str | PathLike[str] = "balance.html") -> Path:
        """Write the diagram, bottlenecks and rooflines as a web page, and return its path."""
        from kiviat.report.balance.page import render_balance  # noqa: PLC0415 (imports Jinja)

        page = render_balance(self.details, {run.id: run.about for run in self.runs})
        write_whole(page, Path(output), "report")
        return Path(output)

    def __repr__(self) -> str:
        return f"<balance of {', '.join(system.name for system in self.details.systems)}>"

    def _repr_html_(self) -> str:
        from kiviat.report.balance.page import diagram  # noqa: PLC0415 (imports Jinja)

        drawn = diagram(self.details, {run.id: run.about for run in self.runs})
        columns = zip(self.details.systems, self.details.cells, strict=True)
        cells = [
            [f"{system.name} ({system.origin})"]
            + [cell_text(axis, cell) for axis, cell in zip(AXES, line, strict=True)]
            for system, line in columns
        ]
        heads, *lines = zip(["", *(axis.title for axis in AXES)], *cells, strict=True)
        said = fragment.items([*self.sentences, *remarks(self.details)])
        return drawn + said + fragment.table(heads, lines)


def balance(
    *runs: Named,
    beside: str | Iterable[str] | None = None,
    small: Rule = "auto",
    few_nodes: Rule = "auto",
) -> BalanceResult:
    """Return how balanced machines are; without a name, that of the last run.

    The name "none" stands for no run: published systems alone. `beside` is a published system or several,
    named in whole or in part, "all" or "none"; by default, a single run is shown with those that have HPL,
    and no run with all. `small` and `few_nodes` keep or drop systems that are too small for some axes. Raise
    InputError for runs without a kernel of HPC Challenge and for unknown systems and rules.
    """
    for parameter, rule in (("small", small), ("few_nodes", few_nodes)):
        refuse_unknown(parameter, rule, get_args(Rule))
    loaded = named(name for name in runs or ("last",) if name != "none")
    systems = _systems(loaded)
    if not loaded and beside is None:
        beside = "all"
    others = _beside(None if beside is None else words("beside", beside), systems)
    if not systems and not others:
        raise InputError("neither runs nor published systems were given; name a run or a system")
    details = analysis.balance([*systems, *others], small, few_nodes)
    if len(loaded) == 1:
        details = replace(details, placed=_placed(loaded[0]))
    return BalanceResult(loaded, details)


def _placed(run: Run) -> str:
    from kiviat.report.run.front import placed  # noqa: PLC0415 (imports what draws)

    return placed(run.about, run.results)


def _systems(runs: Runs) -> list[System]:
    called = {label.run: label.label for label in labels([run.about for run in runs])}
    systems = []
    for run in runs:
        system = measured_system(run.about, called[run.id], run.results, run.rows, run.grids)
        if not any(size.quantities for size in system.sizes):
            reasons = dict.fromkeys(why for size in system.sizes for why in size.missing.values())
            why = f" ({'; '.join(reasons)})" if reasons else ""
            raise InputError(
                f"run {run.id} has no result of a kernel of HPC Challenge{why}; "
                "`kiviat run hpcc` measures them"
            )
        systems.append(system)
    return systems


def _beside(asked: Sequence[str] | None, systems: Sequence[System]) -> list[System]:
    """Return the published systems named in `asked`.

    By default, a single run is compared with the published systems that have HPL, because it would otherwise
    be compared with itself; several runs are compared with each other only.
    """
    published = published_systems()
    if asked is None:
        return (
            [system for system in published if "hpl" in system.whole.quantities] if len(systems) == 1 else []
        )
    found: list[System] = []
    for name in asked:
        if name == "none":
            continue
        matching = published if name == "all" else chosen(published, name)
        if not matching:
            known = ", ".join(system.id for system in published)
            raise InputError(f'there is no published system {name!r}; give "all", "none" or one of: {known}')
        found += [system for system in matching if system not in found]
    return found
