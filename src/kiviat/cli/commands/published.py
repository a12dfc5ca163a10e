"""`kiviat published`: lists the publications of published/, and searches their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kiviat.analysis.published.search import Found, find_published
from kiviat.analysis.published.text import processes_text, value_text
from kiviat.cli.options.request import PublishedRequest
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import print_table
from kiviat.record import InputError
from kiviat.record.published import Fact, Paper, SizeSeries, System, papers
from kiviat.record.units import counted, format_size, format_value
from kiviat.report.table import Column, tabled

# So many values fit on a screen or two; more are counted.
_MOST = 40


def execute(request: PublishedRequest) -> int:
    """Print the publications, or the values that have all words. Raise InputError if none has them."""
    if not request.words:
        print_table(tabled("Publications", _OF_PAPER, papers()), request.format)
        if request.format == "table":
            print(typeable("\n`kiviat published WORD …` searches: `kiviat published ARCHER allreduce`"))
        return 0
    found = find_published(request.words)
    if not found:
        raise InputError(
            f"no published value has {' and '.join(map(repr, request.words))}; "
            "`kiviat published` lists the publications and their machines"
        )
    shown = found if request.all or request.format != "table" else found[:_MOST]
    print_table(tabled("Published values", _OF_VALUE, shown), request.format)
    if request.format == "table":
        _print_sources(shown, len(found) - len(shown))
    return 0


def _print_sources(shown: Sequence[Found], more: int) -> None:
    if more:
        print(typeable(f"… and {counted(more, 'more value')}: more words narrow it, --all prints all"))
    print()
    for paper in {one.paper.name: one.paper for one in shown}.values():
        license_ = f"; license of the data: {paper.license}" if paper.license else ""
        print(typeable(f"{paper.citation}{license_}"))


def _machines(paper: Paper) -> list[str]:
    return list(dict.fromkeys(system.machine for system in paper.systems))


def _count(paper: Paper) -> int:
    return sum(len(system.rows) + len(system.series) for system in paper.systems)


def _system(system: System) -> str:
    """Return a machine as it was measured: "ARCHER, 48 processes on 2 nodes"."""
    nodes = f"on {system.nodes} node{'s' * (system.nodes != '1')}" if system.nodes else ""
    ranks = " ".join(filter(None, (processes_text(system), nodes)))
    return ", ".join(filter(None, (system.machine, ranks, system.placement)))


def _processes(found: Found) -> int | str | None:
    return found.system.processes or found.system.processes_range or None


def _what(found: Found) -> str:
    row = found.row
    return ", ".join(filter(None, (row.benchmark, row.metric, getattr(row, "message_size", ""))))


def _value(found: Found) -> str:
    row = found.row
    if isinstance(row, Fact):
        return value_text(row)
    if isinstance(row, SizeSeries):
        (first, low), *_, (last, high) = row.points if len(row.points) > 1 else (*row.points, *row.points)
        values = f"{format_value(low, row.unit)} … {format_value(high, row.unit)}"
        return f"{counted(len(row.points), 'size')}, {format_size(first)} … {format_size(last)}: {values}"
    return row.says or "yes"


def _of_row(name: str) -> Callable[[Found], Any]:
    """Return a function for a field of a row: not all kinds of rows have all fields."""
    return lambda one: getattr(one.row, name, None) or None


def _points(found: Found) -> list[list[float]] | None:
    return [list(point) for point in found.row.points] if isinstance(found.row, SizeSeries) else None


_OF_PAPER: tuple[Column[Paper], ...] = (
    Column("publication", lambda paper: paper.name, key="publication"),
    Column("by", lambda paper: paper.short),
    Column("values", _count, "number", key="values"),
    Column("license", lambda paper: paper.license or None, key="license", absent="(a paper)"),
    Column("machines", lambda paper: ", ".join(_machines(paper))),
    Column(None, _machines, key="machines"),
    Column(None, lambda paper: paper.citation, key="citation"),
)
_OF_VALUE: tuple[Column[Found], ...] = (
    Column("id", lambda one: one.row.id, key="id"),
    Column("machine", lambda one: _system(one.system)),
    Column("what", _what),
    Column("published", _value),
    Column("by", lambda one: one.paper.short),
    Column(None, lambda one: one.system.machine, key="machine"),
    Column(None, lambda one: one.system.mode or None, key="mode"),
    Column(None, _processes, key="processes"),
    Column(None, lambda one: one.system.nodes or None, key="nodes"),
    Column(None, lambda one: one.system.placement or None, key="placement"),
    *(Column(None, _of_row(name), key=name) for name in ("benchmark", "metric", "measures", "message_size")),
    Column(None, lambda one: getattr(one.row, "relation", "="), key="relation"),
    Column(None, lambda one: getattr(one.row, "value", None), key="value"),
    Column(None, _of_row("unit"), key="unit"),
    Column(None, _points, key="points"),
    *(Column(None, _of_row(name), key=name) for name in ("says", "use", "location")),
    Column(None, lambda one: one.paper.name, key="publication"),
    Column(None, lambda one: one.paper.citation, key="citation"),
    Column(None, lambda one: one.paper.license or None, key="license"),
)
