"""Finds published values by words: of the machine, the benchmark, the quantity, the publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.record.published import Fact, Paper, SizeSeries, Statement, System, papers


@dataclass(frozen=True, slots=True)
class Found:
    """A published value, statement or series, with its system and publication."""

    paper: Paper
    system: System
    row: Fact | Statement | SizeSeries


def find_published(words: Sequence[str]) -> list[Found]:
    """Return what has all words, in any case, somewhere in its texts, in the order of the files."""
    asked = [word.casefold() for word in words]
    rows = (
        Found(paper, system, row)
        for paper in papers()
        for system in paper.systems
        for row in (*system.rows, *system.series)
    )
    return [found for found in rows if _has_all(asked, _text(found))]


def _has_all(words: Sequence[str], text: str) -> bool:
    return all(word in text for word in words)


def _text(found: Found) -> str:
    """Return all texts of a row in one, in lower case; "48 processes" and "2 nodes" are words, too."""
    system, row = found.system, found.row
    count = system.processes_range or system.processes
    parts = (
        *(
            row.id,
            row.benchmark,
            row.metric,
            row.location,
            getattr(row, "measures", ""),
            getattr(row, "says", ""),
        ),
        *(getattr(row, "message_size", ""), system.machine, system.mode, system.placement),
        *(f"{count} processes", f"{system.nodes} nodes", found.paper.name, found.paper.citation),
    )
    return " | ".join(parts).casefold()
