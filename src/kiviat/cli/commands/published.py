"""`kiviat published`: lists the publications of published/, and searches their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kiviat.analysis.published.search import Found, find_published
from kiviat.analysis.published.text import value_text
from kiviat.cli.options.request import PublishedRequest
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import print_rows, print_table
from kiviat.record import InputError
from kiviat.record.published import Fact, Paper, SizeSeries, System, papers
from kiviat.record.units import counted, format_bytes, format_value

# So many values fit on a screen or two; more are counted.
_MOST = 40


def execute(request: PublishedRequest) -> int:
    """Print the publications, or the values that have all words. Raise InputError if none has them."""
    if not request.words:
        _list(request)
        return 0
    found = find_published(request.words)
    if not found:
        raise InputError(
            f"no published value has {' and '.join(map(repr, request.words))}; "
            "`kiviat published` lists the publications and their machines"
        )
    if request.format == "table":
        _print(found, len(found) if request.all else _MOST)
    else:
        print_rows([_entry(one) for one in found], request.format)
    return 0


def _list(request: PublishedRequest) -> None:
    if request.format != "table":
        print_rows([_of_paper(paper) for paper in papers()], request.format)
        return
    lines = [
        [
            paper.name,
            paper.short,
            str(_count(paper)),
            paper.license or "(a paper)",
            ", ".join(_machines(paper)),
        ]
        for paper in papers()
    ]
    print_table("<<><<", ["publication", "by", "values", "license", "machines"], lines)
    print(typeable("\n`kiviat published WORD …` searches: `kiviat published ARCHER allreduce`"))


def _of_paper(paper: Paper) -> dict[str, Any]:
    return {
        "publication": paper.name,
        "citation": paper.citation,
        "license": paper.license or None,
        "values": _count(paper),
        "machines": _machines(paper),
    }


def _machines(paper: Paper) -> list[str]:
    return list(dict.fromkeys(system.machine for system in paper.systems))


def _count(paper: Paper) -> int:
    return sum(len(system.rows) + len(system.series) for system in paper.systems)


def _print(found: Sequence[Found], most: int) -> None:
    lines = [
        [
            one.row.id,
            _system(one.system),
            ", ".join(
                filter(None, (one.row.benchmark, one.row.metric, getattr(one.row, "message_size", "")))
            ),
            _value(one),
            one.paper.short,
        ]
        for one in found[:most]
    ]
    print_table("<<<<<", ["id", "machine", "what", "published", "by"], lines)
    if len(found) > most:
        print(
            typeable(
                f"… and {counted(len(found) - most, 'more value')}: more words narrow it, --all prints all"
            )
        )
    print()
    for paper in {one.paper.name: one.paper for one in found[:most]}.values():
        license_ = f"; license of the data: {paper.license}" if paper.license else ""
        print(typeable(f"{paper.citation}{license_}"))


def _system(system: System) -> str:
    """Return a machine as it was measured: "ARCHER, 48 processes on 2 nodes"."""
    count = system.processes_range or (str(system.processes) if system.processes else "")
    nodes = f" on {system.nodes} node{'s' * (system.nodes != '1')}" if system.nodes else ""
    words = (system.machine, f"{count} processes{nodes}" if count else nodes.strip(), system.placement)
    return ", ".join(filter(None, words))


def _value(found: Found) -> str:
    row = found.row
    if isinstance(row, Fact):
        return value_text(row)
    if isinstance(row, SizeSeries):
        (first, low), *_, (last, high) = row.points if len(row.points) > 1 else (*row.points, *row.points)
        values = f"{format_value(low, row.unit)} … {format_value(high, row.unit)}"
        return f"{counted(len(row.points), 'size')}, {format_bytes(first)} … {format_bytes(last)}: {values}"
    return row.says or "it is so"


def _entry(found: Found) -> dict[str, Any]:
    row, system = found.row, found.system
    fact, series = (row if isinstance(row, Fact) else None), (row if isinstance(row, SizeSeries) else None)
    return {
        "id": row.id,
        "machine": system.machine,
        "mode": system.mode or None,
        "processes": system.processes or system.processes_range or None,
        "nodes": system.nodes or None,
        "placement": system.placement or None,
        "benchmark": row.benchmark,
        "metric": row.metric,
        "measures": getattr(row, "measures", "") or None,
        "message_size": getattr(row, "message_size", "") or None,
        "relation": getattr(row, "relation", "="),
        "value": fact.value if fact else None,
        "unit": fact.unit if fact else series.unit if series else None,
        "points": [list(point) for point in series.points] if series else None,
        "says": getattr(row, "says", "") or None,
        "use": row.use,
        "publication": found.paper.name,
        "location": row.location,
        "citation": found.paper.citation,
        "license": found.paper.license or None,
    }
