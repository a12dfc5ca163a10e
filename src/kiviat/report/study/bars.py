"""Programs of a paper in several arrangements as bars, a figure beside their table."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.analysis.published.study import TableLine
from kiviat.record.studies import StudyTable
from kiviat.report.html.figure import Figure, Line, Panel, RunLabel


def bars_of(table: StudyTable, lines: Sequence[TableLine], labels: Sequence[RunLabel]) -> Figure | None:
    """Return the table as bars, a panel for each machine: each program's values over its first."""
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
