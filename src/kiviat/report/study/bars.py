"""Programs of a paper as bars, a figure beside their table: in arrangements, or on several machines."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.analysis.published.study import TableLine
from kiviat.record.studies import StudyTable
from kiviat.record.units import counted
from kiviat.report.html.figure import Figure, Line, Panel, RunLabel


def bars_of(table: StudyTable, lines: Sequence[TableLine], labels: Sequence[RunLabel]) -> list[Figure]:
    """Return the table as bars of programs; nothing if there is nothing to compare."""
    if table.of_metrics:
        return _of_metrics(table, lines, labels)
    return list(filter(None, [_of_arrangements(table, lines, labels)]))


def _of_metrics(table: StudyTable, lines: Sequence[TableLine], labels: Sequence[RunLabel]) -> list[Figure]:
    """Return a chart for each column: the machines' values over those of the first machine."""
    programs = list(dict.fromkeys(line.title for line in lines))
    places = list(dict.fromkeys(line.machine for line in lines))
    if len(places) < 2:
        return []
    values = {
        (line.machine, line.title, number): cell.value
        for line in lines
        for number, cell in enumerate(line.cells)
    }
    charts = []
    over = f"on {counted(lines[0].ranks or 0, 'rank')}, over {labels[places[0]].label}"
    words = f"{len(programs)} programs on {len(places)} machines."
    for number, column in enumerate(table.columns):
        bars = []
        for place in places:
            points = []
            for at, program in enumerate(programs):
                first, own = (values.get((one, program, number)) for one in (places[0], place))
                if first and own is not None:
                    points.append((float(at), own / first))
            colour = (*labels[place].colour, len(labels))
            bars.append(Line(labels[place].label, "bars", colour, place, tuple(points)))
        if len([bar for bar in bars if bar.points]) > 1:
            panels = (Panel("", (), tuple(bars)),)
            about = (column.title, over, "program", "1", False, words, panels, tuple(programs))
            charts.append(Figure(table.number, "study", *about))
    return charts


def _of_arrangements(
    table: StudyTable, lines: Sequence[TableLine], labels: Sequence[RunLabel]
) -> Figure | None:
    """Return a panel for each machine: each program's values over its first."""
    programs = list(dict.fromkeys(line.title for line in lines))
    panels = []
    for place in dict.fromkeys(line.machine for line in lines):
        own = [line for line in lines if line.machine == place]
        palette = "simulated" if labels[place].clock == "simulated" else "categorical"
        bars = tuple(
            Line(column.title, "bars", (palette, number, 8), number, points)
            for number, column in enumerate(table.columns)
            if (
                points := tuple(
                    (float(programs.index(line.title)), share)
                    for line in own
                    if (share := line.over_first[number]) is not None
                )
            )
        )
        if len(bars) > 1:
            panels.append(Panel(labels[place].label, (), bars))
    if not panels:
        return None
    first = table.columns[0].title
    words = f"{len(programs)} programs in {len(table.columns)} arrangements."
    return Figure(
        table.number,
        "study",
        table.title,
        f"over {first}",
        "program",
        "1",
        False,
        words,
        tuple(panels),
        tuple(programs),
    )
