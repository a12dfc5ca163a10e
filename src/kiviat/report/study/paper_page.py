"""The page of a study: a paper's figures and tables made anew, each beside what the paper says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from kiviat.analysis.aggregate.calibration import calibrated
from kiviat.analysis.findings.machines import Machine, findings_across
from kiviat.analysis.published.question import Row
from kiviat.analysis.published.sources import MachineResults
from kiviat.analysis.published.study import Cell as TableCell
from kiviat.analysis.published.study import (
    DrawnCurve,
    JudgedRow,
    Summed,
    TableLine,
    drawn,
    paper_order,
    part_name,
    reasons,
    rows_of_parts,
    summed,
    table_lines,
)
from kiviat.analysis.published.text import (
    answer_text,
    error_text,
    evidence_text,
    processes_text,
    published_text,
    value_text,
)
from kiviat.record.published import papers
from kiviat.record.studies import StudyColumn, StudyDefinition, StudyFigure, StudyTable
from kiviat.record.traits import traits_of
from kiviat.record.units import counted, format_size, format_value, listed
from kiviat.report.balance.diagram import Shape
from kiviat.report.facts import runs as run_facts
from kiviat.report.html.axis import axis_of
from kiviat.report.html.figure import Colour, Figure, HeatMap, Line, Panel, RunLabel, numbered, simulated_in
from kiviat.report.html.shell import page
from kiviat.report.html.table import run_cell
from kiviat.report.study.bars import bars_of
from kiviat.report.study.diagram import drawn as drawn_diagram
from kiviat.report.study.diagram import shapes_of
from kiviat.report.study.pair_maps import map_of_program
from kiviat.report.study.platforms import COVERED, platforms
from kiviat.report.table import Cell, Column, Table, Value, tabled

_DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
_OMITTED = (*COVERED, "Ranks", "Plan", "Launches", "Simulated", "Measured", "Ingested")


@dataclass(frozen=True, slots=True)
class Part:
    """A figure or table of the paper: charts or cells, a Kiviat diagram, then the sentences about it."""

    id: str
    name: str
    title: str
    note: str
    figures: Sequence[Figure | HeatMap]
    table: Table | None
    sentences: Table
    untold: Table
    missing: list[str]
    shapes: Sequence[Shape] = ()
    diagram: str = ""


def render_study(
    study: StudyDefinition, machines: Sequence[MachineResults], judged: Sequence[JudgedRow]
) -> str:
    """Return the page as HTML."""
    labels = run_facts.labels([machine.runs[0] for machine in machines])
    tabled, figured, left = rows_of_parts(study, judged)
    parts = [
        _table_part(study, table, machines, labels, rows)
        for table, rows in zip(study.tables, tabled, strict=True)
    ]
    parts += [
        _figure_part(study, number, figure, machines, labels, rows)
        for number, (figure, rows) in enumerate(zip(study.figures, figured, strict=True), 1)
    ]
    parts = [parts[at] for at in paper_order([*study.tables, *study.figures])]
    paper = next((paper for paper in papers() if paper.name == study.paper), None)
    total = summed(judged)
    across = findings_across(
        [Machine(one.label, one.runs, one.summaries, one.parts) for one in machines],
        traits_of(run.benchmarks for machine in machines for run in machine.runs),
    )
    return page(
        "paper.html.j2",
        labels,
        [figure for part in parts for figure in part.figures],
        styles=("scaling.css", "balance.css", "paper.css"),
        scripts=("balance.js",) if any(part.shapes for part in parts) else (),
        title=f"{study.name}: {study.title}",
        study=study,
        citation=paper.citation if paper else "",
        simulated=simulated_in(labels),
        contents=[
            ("summary", "Summary"),
            *([("side-by-side", "Side by side")] if across else []),
            *((part.id, part.name) for part in parts),
            *([("others", "Other sentences")] if left else []),
        ],
        across=across,
        platforms=platforms(machines, labels),
        machines=[_machine(machine, label, judged) for machine, label in zip(machines, labels, strict=True)],
        summary=_summary(total),
        failing=_sentences(total.failing, "Sentences that do not hold here"),
        parts=parts,
        others=_told(left, "everything else"),
        others_untold=_untold(left, "everything else"),
    )


def _told(rows: Sequence[JudgedRow], part: str) -> Table:
    told = [one for one in rows if one.verdict.answer is not None]
    return _sentences(told, f"What the paper says about {part}")


def _untold(rows: Sequence[JudgedRow], part: str) -> Table:
    """Return the table of published rows that have no verdict, by reason."""
    left = [one for one in rows if one.verdict.answer is None]
    why = list(dict.fromkeys(one.verdict.words for one in left))
    left.sort(key=lambda one: why.index(one.verdict.words))
    return tabled(
        f"Without a verdict here: published statements about {part}",
        _SENTENCE[:3],
        left,
        kind="sentences",
        part_of=lambda one: one.verdict.words[:1].upper() + one.verdict.words[1:],
    )


def _heading(part: StudyFigure | StudyTable) -> str:
    """Return the name and the title of a part, or the title alone if it begins with the name."""
    name = part_name(part)
    return part.title if part.title.startswith(name) else f"{name}: {part.title}"


def _summary(total: Summed) -> list[tuple[str, str]]:
    lines = []
    if total.words:
        lines.append(("Numbers", total.words))
    if total.judged:
        lines.append(("Sentences", f"{total.held} of {total.judged} orderings and bounds hold"))
    held, foreign = total.foreign
    if foreign:
        lines.append(("Of other machines", f"{held} of {foreign} statements hold here, too"))
    untold = sum(count for _, count in total.untold)
    if untold:
        lines.append(("Cannot tell", counted(untold, "published statement")))
    return lines


def _machine(machine: MachineResults, label: RunLabel, judged: Sequence[JudgedRow]) -> dict[str, object]:
    """Return the facts of a machine; a model's known error is that of the rows that it was not fitted to."""
    run = machine.runs[0]
    facts = [fact for fact in run_facts.facts(run) if fact[0] not in _OMITTED]
    facts.append(("Runs", str(len(machine.runs))))
    if machine.scale > 1:
        facts.append(
            ("Arrangements", f"on 1/{machine.scale} of the paper's nodes: 16x1 is {16 // machine.scale}x1")
        )
    if model := run.machine.model:
        own = summed([one for one in judged if one.machine == machine.label])
        facts = [*facts, ("Calibrated", calibrated(model))]
        if own.median is not None:
            known = f"median {100 * own.median:.0f} % over {counted(len(own.errors), 'published number')}"
            facts.append(("Error here", f"{known} that the model was not fitted to"))
    return {
        "name": label.label,
        "clock": label.clock,
        "facts": facts,
        "badges": list(dict.fromkeys(badge for one in machine.runs for badge in run_facts.badges(one))),
        "runs": ", ".join(one.id for one in machine.runs),
    }


def _sentences(rows: Sequence[JudgedRow], title: str) -> Table:
    """Return the table of published rows with their verdicts."""
    return tabled(title, _SENTENCE, rows, kind="sentences", kind_of=_mood)


def _about(one: JudgedRow) -> str:
    fact = one.verdict.row.fact
    return ", ".join(filter(None, (_named(one), fact.benchmark, fact.metric, fact.message_size)))


def _here(one: JudgedRow) -> Cell:
    evidence = evidence_text(one.verdict)
    if one.fitted and one.verdict.answer is not None:
        evidence = "; ".join(filter(None, ("the model was fitted to it", evidence)))
    answer = None if one.verdict.answer is None else answer_text(one.verdict)
    return Cell(answer, below=(one.machine, evidence, f"Cause: {one.cause}" if one.cause else ""))


def _verdict(one: JudgedRow) -> str:
    verdict = one.verdict
    if verdict.answer is None:
        return "cannot tell"
    foreign = "" if not one.foreign else " here, too" if verdict.holds else " here"
    return error_text(verdict) + foreign


def _mood(one: JudgedRow) -> str:
    """Return "good" or "bad", or "" if the row judges nothing: it was fitted to, or is of other machines."""
    if one.verdict.holds is None or one.foreign or (one.fitted and one.verdict.answer is not None):
        return ""
    return "good" if one.verdict.holds else "bad"


def _place(row: Row) -> Cell:
    """Return the location in a paper and the row's identifier; of a log its name, the identifier first."""
    location = row.fact.location
    if " " not in location and "/" in location:
        return Cell(row.id, below=location.rpartition("/")[2])
    return Cell(location, below=row.id)


_SENTENCE: tuple[Column[JudgedRow], ...] = (
    Column("place", lambda one: _place(one.verdict.row)),
    Column("the paper", _about, kind="wide"),
    Column("published", lambda one: published_text(one.verdict.row)),
    Column("here", _here, absent="–", kind="wide"),
    Column("verdict", _verdict, kind="verdict"),
)


def _named(one: JudgedRow) -> str:
    system = one.verdict.row.system
    count = processes_text(system)
    return " ".join(filter(None, (system.machine, system.mode))) + (f", {count}" if count else "")


def _figure_part(
    study: StudyDefinition,
    number: int,
    figure: StudyFigure,
    machines: Sequence[MachineResults],
    labels: Sequence[RunLabel],
    rows: Sequence[JudgedRow],
) -> Part:
    if figure.x == "partner":
        return _map_part(study, number, figure, machines, rows)
    curves = drawn(figure, machines)
    as_published = [
        one for kind in figure.statistic for one in _of_several_launches(drawn(figure, machines, kind))
    ]
    by_chart: dict[tuple[str, str], list[DrawnCurve]] = {}
    for one in [*curves, *as_published]:
        apart = labels[one.machine].label if figure.apart and len(labels) > 1 else ""
        by_chart.setdefault((one.unit, apart), []).append(one)
    x = _axis(figure.x, machines)
    charts = [
        _chart(number, replace(figure, title=apart or figure.title), x, unit, its_curves, labels)
        for number, ((unit, apart), its_curves) in enumerate(by_chart.items())
    ]
    return Part(
        id=f"figure-{number}",
        name=part_name(figure),
        title=_heading(figure),
        note=figure.note,
        figures=numbered(charts, f"fig-{number}"),
        table=None,
        sentences=_told(rows, part_name(figure)),
        untold=_untold(rows, part_name(figure)),
        missing=[
            *reasons(study, figure, machines, {one.machine for one in curves}),
            *_remarks(curves, x, labels),
        ],
    )


def _remarks(curves: Sequence[DrawnCurve], x: str, labels: Sequence[RunLabel]) -> list[str]:
    """Return a line for each curve with points that are oversubscribed or disturbed, which names them."""
    found = []
    for one in curves:
        size = "" if one.bytes is None else format_size(one.bytes)
        of = ", ".join(filter(None, (labels[one.machine].label, one.label, size)))
        for words in dict.fromkeys(filter(None, one.remarks)):
            at = [
                axis_of(x).where(point[0])
                for point, remark in zip(one.points, one.remarks, strict=True)
                if remark == words
            ]
            where = "everywhere" if len(at) == len(one.points) else f"at {listed(at)}"
            found.append(f"{of}: {words} {where}")
    return found


def _map_part(
    study: StudyDefinition,
    number: int,
    figure: StudyFigure,
    machines: Sequence[MachineResults],
    rows: Sequence[JudgedRow],
) -> Part:
    """Return a figure with a map of the bytes between ranks for each machine and curve."""
    panels, there = [], set()
    for place, machine in enumerate(machines):
        for curve in figure.curves:
            sent = machine.sent(curve.measures.split(".")[0], curve.table, curve.run)
            if found := next(sent, None):
                own = (machine.label if len(machines) > 1 else "", curve.label)
                panels.append((", ".join(filter(None, own)), *found))
                there.add(place)
    return Part(
        id=f"figure-{number}",
        name=part_name(figure),
        title=_heading(figure),
        note=figure.note,
        figures=numbered([map_of_program(figure.title, panels)] if panels else [], f"fig-{number}"),
        table=None,
        sentences=_told(rows, part_name(figure)),
        untold=_untold(rows, part_name(figure)),
        missing=reasons(study, figure, machines, there),
    )


def _axis(x: str, machines: Sequence[MachineResults]) -> str:
    """Return the name of the horizontal axis; that of a metric includes the unit."""
    if "." not in x:
        return x
    units = (one.unit for machine in machines for one in machine.of(*x.split(".")))
    return f"{x} {next(units, '1')}"


def _chart(
    number: int,
    figure: StudyFigure,
    x: str,
    unit: str,
    curves: Sequence[DrawnCurve],
    labels: Sequence[RunLabel],
) -> Figure:
    panels = []
    for size, statistic in dict.fromkeys((one.bytes, one.statistic) for one in curves):
        here = [one for one in curves if (one.bytes, one.statistic) == (size, statistic)]
        several = len({one.curve for one in here}) > 1
        machines = len({one.machine for one in here}) > 1
        lines = tuple(line for one in here for line in _lines(one, labels, several, machines))
        quantity = f"{statistic or 'median'} of launches" if figure.statistic else ""
        panels.append(Panel("" if size is None else format_size(size), (), lines, quantity))
    words = "; ".join(
        f"{line.name}: {format_value(min(value for _, value in line.points), unit)} to "
        f"{format_value(max(value for _, value in line.points), unit)}"
        for line in panels[0 if figure.statistic else -1].lines
    )
    only = curves[0].label if len({(one.machine, one.curve) for one in curves}) == 1 else ""  # has no legend
    over = "relative to the first of each curve" if figure.over == "first" else ""
    about = ", ".join(filter(None, (only, over)))
    return Figure(str(number), "study", figure.title, about, x, unit, figure.log, words, tuple(panels))


def _of_several_launches(curves: Sequence[DrawnCurve]) -> list[DrawnCurve]:
    """Return the curves if launches of one differ at all; a simulation has one launch."""
    return list(curves) if any(band for one in curves for *_, band in one.points) else []


def _lines(one: DrawnCurve, labels: Sequence[RunLabel], several: bool, machines: bool) -> Iterator[Line]:
    """Yield the line of a curve; extremes of launches are bars at its marks."""
    line = _line(one, labels, several, machines)
    if not one.statistic:
        yield line
        return
    yield replace(line, mode="lines", band=(), smooth=True)
    yield replace(line, mode="markers")


def _line(one: DrawnCurve, labels: Sequence[RunLabel], several: bool, machines: bool) -> Line:
    label = labels[one.machine]
    colour: Colour = (*label.colour, len(labels))
    if not machines and several:
        colour = ("simulated" if label.clock == "simulated" else "categorical", one.curve, 8)
    name = ", ".join(filter(None, (label.label if machines or not several else "", one.label)))
    return Line(
        name=name or label.label,
        mode="lines+markers",
        colour=colour,
        symbol=one.curve if several else one.machine,
        points=tuple((x, value) for x, value, _ in one.points),
        dash=_DASHES[one.curve % len(_DASHES)] if several and machines else _plain(label),
        band=tuple(band for _, _, band in one.points),
        meaning=one.meaning,
        hollow=label.clock == "simulated",
    )


def _plain(label: RunLabel) -> str:
    return "dot" if label.clock == "simulated" else "solid"


def _table_part(
    study: StudyDefinition,
    table: StudyTable,
    machines: Sequence[MachineResults],
    labels: Sequence[RunLabel],
    rows: Sequence[JudgedRow],
) -> Part:
    lines = table_lines(table, machines, study)
    columns: list[Column[TableLine]] = [
        Column("machine", lambda line: run_cell(labels[line.machine]), merged=True),
        Column("program" if table.programs else "ranks", _line_name, side=">"),
        *(
            Column(
                _headed(table, column),
                _shown(at, column.over),
                side=">",
                absent="–",
            )
            for at, column in enumerate(table.columns)
        ),
    ]
    title = _heading(table)
    shapes = shapes_of(table, lines, labels) if table.diagram else []
    missing = reasons(study, table, machines, {line.machine for line in lines})
    missing += [cell.reason for line in lines for cell in line.cells if table.of_metrics and cell.reason]
    return Part(
        id=f"table-{re.sub(r'[^A-Za-z0-9]+', '-', table.number)}",
        name=part_name(table),
        title=title,
        note=table.note,
        figures=numbered(
            bars_of(table, lines, labels) if table.programs else [],
            f"bars-{re.sub(r'[^A-Za-z0-9]+', '-', table.number)}",
        ),
        table=tabled(title, columns, lines, kind="cells") if lines else None,
        sentences=_told(rows, part_name(table)),
        untold=_untold(rows, part_name(table)),
        missing=list(dict.fromkeys(missing)),
        shapes=shapes,
        diagram=Markup(drawn_diagram(table, lines, shapes)),
    )


def _line_name(line: TableLine) -> str:
    return ", ".join(filter(None, (line.title, counted(line.ranks, "rank") if line.ranks else "")))


def _headed(table: StudyTable, column: StudyColumn) -> str:
    """Return the heading of a column, with the title of the one by which it is divided."""
    if not column.over:
        return column.title
    titles = {one.arrangement: one.title for one in table.columns}
    return f"{column.title}, over {titles.get(column.over, column.over)}"


def _shown(at: int, over: str) -> Callable[[TableLine], Cell]:
    return lambda line: _cell(line.cells[at], over)


def _cell(cell: TableCell, over: str) -> Cell:
    if cell.value is None:
        return Cell(None, below=f"published {value_text(cell.published)}" if cell.published else "")
    if over:
        below = format_value(cell.value, cell.unit), cell.remarks
        if cell.ratio is None:
            return Cell(None, below=below)
        return Cell(f"{cell.ratio:.2f}", below=below, drawing=_BAR.format(min(100.0, 100 * cell.ratio / 2)))
    published = ""
    if cell.published:
        judged = cell.comparable and not cell.remarks
        error = f", {100 * (cell.value / cell.published.value - 1):+.0f} %" if judged else ""
        published = f"published {value_text(cell.published)}{error}"
    return Cell(Value(cell.value, cell.unit), below=(published, cell.remarks))


# In percent of the width of the cell.
_BAR = Markup('<span class="bar" aria-hidden="true" style="--part: {}%"></span>')
