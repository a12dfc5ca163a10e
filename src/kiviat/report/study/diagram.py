"""A table of a study as a Kiviat diagram: its columns are the axes, each ending at its largest value."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.analysis.published.study import Cell, TableLine
from kiviat.record.studies import StudyTable
from kiviat.record.units import format_value, three_digits
from kiviat.report.balance.diagram import Shape, Spoke, kiviat
from kiviat.report.html.figure import RunLabel

_LEAST_AXES = 3


def shapes_of(table: StudyTable, lines: Sequence[TableLine], labels: Sequence[RunLabel]) -> list[Shape]:
    """Return a shape for each machine, from its last line; none with values on fewer than three axes."""
    whole = {line.machine: line for line in lines}.values()
    largest = _largest(table, lines)
    found = []
    for line in whole:
        label = labels[line.machine]
        shares = tuple(
            cell.value / most if cell.value is not None and most else None
            for cell, most in zip(line.cells, largest, strict=True)
        )
        tips = tuple(
            f"{label.label}: {column.title}\n{_text(cell)}, {three_digits(share)} of the largest"
            if share is not None
            else ""
            for column, cell, share in zip(table.columns, line.cells, shares, strict=True)
        )
        if sum(share is not None for share in shares) >= _LEAST_AXES:
            found.append(Shape(label.label, label.origin, label.colour, line.machine, shares, tips))
    return found


def drawn(table: StudyTable, lines: Sequence[TableLine], shapes: Sequence[Shape]) -> str:
    """Return the diagram as SVG, "" if no machine has a shape."""
    if not shapes:
        return ""
    ends = [
        next((_text(cell) for line in lines if (cell := line.cells[place]).value == most), "")
        for place, most in enumerate(_largest(table, lines))
    ]
    spokes = [
        Spoke(str(place), tuple(column.title.replace(" / ", "\n/ ").split("\n")), column.title, end)
        for place, (column, end) in enumerate(zip(table.columns, ends, strict=True))
    ]
    words = f"{len(shapes)} machines on {len(spokes)} axes, whose values the table lists."
    return kiviat(spokes, shapes, words)


def _largest(table: StudyTable, lines: Sequence[TableLine]) -> list[float | None]:
    last = {line.machine: line for line in lines}.values()
    return [
        max((value for line in last if (value := line.cells[place].value) is not None), default=None)
        for place in range(len(table.columns))
    ]


def _text(cell: Cell) -> str:
    return "" if cell.value is None else format_value(cell.value, cell.unit)
