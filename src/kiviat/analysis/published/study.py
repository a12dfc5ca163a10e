"""Evaluation of a study: points of its figures, cells of its tables, and verdicts on its paper's rows."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.hpcc.derived import BOUNDS
from kiviat.analysis.published.cases import arrangement, measured
from kiviat.analysis.published.curves import SCALING_FORMS, scaling_verdicts
from kiviat.analysis.published.question import Case, Quantity, Row, all_rows
from kiviat.analysis.published.sources import MachineResults, lookup_across
from kiviat.analysis.published.text import remarks_text
from kiviat.analysis.published.verdict import Verdict, judge, questions
from kiviat.analysis.scaling.curve import ratio_of
from kiviat.analysis.scaling.series import Selection, Source, scaling
from kiviat.record.errors import InputError
from kiviat.record.published import COMPARED_USES, Fact
from kiviat.record.rows import Rows
from kiviat.record.studies import (
    StudyColumn,
    StudyCurve,
    StudyDefinition,
    StudyFigure,
    StudyRun,
    StudyTable,
)
from kiviat.record.types import Scalar
from kiviat.record.units import listed

Interval = tuple[float, float] | None


@dataclass(frozen=True)
class DrawnCurve:
    """A curve on one machine.

    Points are x, value and, if known, an interval, which `meaning` names; `bytes` is the message size of the
    panel. With a `statistic` of the launches, the interval is from their minimum to their maximum. `cases`
    are those of the points, empty for values of tables in records. `remarks` says of each point whether it is
    oversubscribed or disturbed.
    """

    machine: int
    curve: int
    label: str
    bytes: int | None
    unit: str
    points: tuple[tuple[float, float, Interval], ...]
    statistic: str = ""
    meaning: str = "95 %"
    cases: tuple[Summary, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A value of a table and the published value at the same place.

    `ratio` is the value divided by its denominator.

    `comparable` is False if the benchmark had other settings than the paper's, as with --quick. `remarks`
    says whether the value is oversubscribed or disturbed.
    """

    value: float | None
    unit: str = ""
    published: Fact | None = None
    ratio: float | None = None
    reason: str = ""
    comparable: bool = True
    remarks: str = ""


@dataclass(frozen=True)
class TableLine:
    """A row of a table: machine, description, and a cell for each column.

    `ranks` is the number of ranks of a program whose metrics are compared.
    """

    machine: int
    title: str
    cells: tuple[Cell, ...]
    ranks: int | None = None

    @property
    def over_first(self) -> list[float | None]:
        """Return each value over the first cell's; None where one of both is missing."""
        first = self.cells[0].value
        return [cell.value / first if first and cell.value is not None else None for cell in self.cells]


# Relative error above which a predicted number counts as missed.
_MISSED = 0.25


@dataclass(frozen=True)
class JudgedRow:
    """A verdict; `machine` is the label of the machine judged, empty if there are several or none.

    `fitted`: the model was fitted to the row, so agreement proves nothing. `foreign`: the paper's row is
    about other machines. `cause`: why the model misses the row, if it does and the study knows.
    """

    verdict: Verdict
    machine: str
    fitted: bool = False
    foreign: bool = False
    cause: str = ""

    @property
    def missed(self) -> bool:
        """True if a prediction contradicts the row, or is a number far from the published one."""
        error = self.verdict.error if self.verdict.holds is None else None
        wrong = self.verdict.holds is False or (error is not None and abs(error) > _MISSED)
        return wrong and self.verdict.predicted and not self.foreign


@dataclass(frozen=True)
class Summed:
    """Summary of a study's verdicts.

    Errors are relative, of the numbers that serve to validate models.
    """

    errors: tuple[float, ...]
    held: int
    judged: int
    failing: tuple[JudgedRow, ...]
    untold: tuple[tuple[str, int], ...]
    # Statements about other machines: those that hold here, and all with a verdict.
    foreign: tuple[int, int] = (0, 0)

    def within(self, fraction: float) -> int:
        """Return the number of errors up to this fraction."""
        return sum(1 for error in self.errors if abs(error) <= fraction)

    @property
    def median(self) -> float | None:
        """Return the median of the absolute errors; None if there are no errors."""
        return statistics.median(map(abs, self.errors)) if self.errors else None

    @property
    def words(self) -> str:
        """Return how many numbers were compared, and how near they are; "" without any."""
        if self.median is None:
            return ""
        near = sum(1 for error in self.errors if 0.5 <= 1 + error <= 2)
        return (
            f"{len(self.errors)} compared: {self.within(0.1)} within 10 %, {self.within(0.25)} within 25 %, "
            f"{near} within a factor of 2; median error {100 * self.median:.0f} %"
        )


def drawn(figure: StudyFigure, machines: Sequence[MachineResults], statistic: str = "") -> list[DrawnCurve]:
    """Return all curves of a figure that have points, by machine and curve.

    Values are medians of launches, or their `statistic`, which values of tables in records do not have.
    """
    found = [
        one
        for place, machine in enumerate(machines)
        for number, curve in enumerate(figure.curves)
        if not (statistic and curve.table)
        for one in _drawn(figure, place, machine, number, curve, statistic)
    ]
    return [_relative(one, figure.over) if figure.over else one for one in found]


def _relative(one: DrawnCurve, over: str) -> DrawnCurve:
    """Return the values over the first one, with the interval of the ratio of both samples of launches.

    Extremes of launches, and intervals of values in tables, are divided by the first value.
    """
    first_x, first, _ = one.points[0]
    efficiency = over == "efficiency"
    cases = () if one.statistic else one.cases
    points, meaning = [], one.meaning
    for number, (x, value, band) in enumerate(one.points):
        ends = band and (band[0] / first, band[1] / first)
        if cases:
            own, of_first = (np.array(case.launch_medians) for case in (cases[number], cases[0]))
            ratio, words = ratio_of(own, of_first, cases[0].clock)
            ends = ratio.bounds if number else None
            meaning = words or meaning
        factor = 100 * first_x / x if efficiency else 1.0
        points.append((x, factor * value / first, ends and (factor * ends[0], factor * ends[1])))
    return replace(one, unit="%" if efficiency else "1", points=tuple(points), meaning=meaning)


def _drawn(
    figure: StudyFigure,
    place: int,
    machine: MachineResults,
    number: int,
    curve: StudyCurve,
    statistic: str,
) -> Iterator[DrawnCurve]:
    for size in curve.bytes or (None,):
        if curve.table:
            points, unit, words = _of_table(figure.x, machine, curve, size)
            if points:
                at = tuple(sorted(points.values()))
                remarks = (words,) * len(at)
                yield DrawnCurve(place, number, curve.label, size, unit, at, remarks=remarks)
        elif curve.over:
            quotients, meaning, remarks = _over(figure.x, machine, curve, size)
            if quotients and not statistic:
                yield DrawnCurve(
                    place, number, curve.label, size, "1", quotients, meaning=meaning, remarks=remarks
                )
        elif cases := _cases_of(figure.x, machine, curve, size):
            at = tuple((x, *_value_of(one, statistic)) for x, one in sorted(cases.items()))
            own = tuple(cases[x] for x, *_ in at)
            named = dict.fromkeys(one.notes.get(BOUNDS, "95 %") for one in own if one.low is not None)
            meaning = "minimum to maximum of launches" if statistic else " or ".join(named)
            remarks = tuple(map(remarks_text, own))
            yield DrawnCurve(
                place, number, curve.label, size, own[0].unit, at, statistic, meaning, own, remarks
            )


def _over(
    x: str, machine: MachineResults, curve: StudyCurve, size: int | None
) -> tuple[tuple[tuple[float, float, Interval], ...], str, tuple[str, ...]]:
    """Return the values of a curve over those of its other metric, where both have one.

    The text names their bounds, the last texts are the remarks on the values.
    """
    own = _cases_of(x, machine, curve, size)
    others = _cases_of(x, machine, replace(curve, measures=curve.over), size)
    found, remarks = [], []
    meanings: dict[str, None] = {}
    for at in sorted(own.keys() & others.keys()):
        one, other = own[at], others[at]
        above, below = (np.array(case.launch_medians) for case in (one, other))
        ratio, meaning = ratio_of(above, below, one.clock)
        found.append((at, one.median / other.median, ratio.bounds))
        meanings[meaning] = None
        remarks.append(remarks_text(one, other))
    return tuple(found), " or ".join(filter(None, meanings)), tuple(remarks)


Points = dict[float, tuple[float, float, Interval]]


def _cases_of(x: str, machine: MachineResults, curve: StudyCurve, size: int | None) -> dict[float, Summary]:
    """Return the cases of a curve by x; if several have the same x, the first one."""
    cases: dict[float, Summary] = {}
    for one in machine.of(*curve.measures.split(".")):
        at = _abscissa(x, machine, one)
        if at is not None and _fits(x, machine, one, curve, size):
            cases.setdefault(at, one)
    return cases


_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "minimum": min,
    "maximum": max,
}


def _value_of(one: Summary, statistic: str) -> tuple[float, Interval]:
    """Return the median and its 95 % interval, or the launches' statistic and their extremes."""
    if not statistic:
        return one.median, one.bounds
    launches = one.launch_medians
    extremes = (min(launches), max(launches)) if len(launches) > 1 else None
    return _STATISTICS[statistic](launches), extremes


def _fits(x: str, machine: MachineResults, one: Summary, curve: StudyCurve, size: int | None) -> bool:
    axes = {name: value for name, value in machine.axes(one.benchmark, one.axes).items() if name != x}
    return (
        (not curve.run or machine.parts.get(one.run) in (curve.run, None))
        and (x == "bytes" or size is None or one.bytes == size)
        and (x == "ranks" or curve.ranks is None or one.ranks == curve.ranks)
        and axes == machine.axes(one.benchmark, curve.axes)
    )


def _abscissa(x: str, machine: MachineResults, one: Summary) -> float | None:
    if x in ("bytes", "ranks"):
        value: Scalar | None = one.bytes if x == "bytes" else one.ranks
    elif "." in x:
        value = next((two.median for two in machine.of(*x.split(".")) if two.ranks == one.ranks), None)
    else:
        value = one.axes.get(x, machine.traits[one.benchmark].defaults.get(x))
    return float(value) if isinstance(value, int | float) else None


def _of_table(
    x: str, machine: MachineResults, curve: StudyCurve, size: int | None
) -> tuple[Points, str, str]:
    """Return the values of a table along one dimension, from the case on the most ranks.

    After them their unit, and the remarks on the case.
    """
    benchmark = curve.measures.split(".")[0]
    grids = [
        grid
        for grid in machine.grids
        if grid.benchmark == benchmark
        and grid.name == curve.table
        and (size is None or grid.bytes == size)
        and grid.has(x)
        and machine.axes(benchmark, grid.axes) == machine.axes(benchmark, curve.axes)
        and (curve.ranks is None or grid.ranks == curve.ranks)
    ]
    if not grids:
        return {}, "", ""
    grid = max(grids, key=lambda one: one.ranks)
    points: Points = {}
    for number, name in enumerate(grid.values_of(x)):
        value = float(grid.median[number])
        if np.isfinite(value):
            at = float(name) if name.isdecimal() else float(number + 1)
            low = None if grid.low is None or grid.high is None else float(grid.low[number])
            band = None if low is None or grid.high is None else (low, float(grid.high[number]))
            points[at] = (at, value, band)
    own = [one for one in machine.summaries if (one.run, one.case) == (grid.run, grid.case)]
    return points, grid.unit, remarks_text(*own)


def table_lines(
    table: StudyTable, machines: Sequence[MachineResults], study: StudyDefinition
) -> list[TableLine]:
    """Return the rows of a table: one per machine and number of ranks, or one per program."""
    if table.of_metrics:
        return list(_lines_of_metrics(table, machines))
    if table.programs:
        return [
            line
            for place, machine in enumerate(machines)
            for program in table.programs
            if any((line := _program_line(table, place, machine, program)).cells)
            and any(cell.value is not None for cell in line.cells)
        ]
    return [
        TableLine(
            place,
            str(ranks),
            tuple(_cell(machine, study, column, ranks) for column in table.columns),
        )
        for place, machine in enumerate(machines)
        for ranks in _ranks_of(table, machine, study)
    ]


def _ranks_of(table: StudyTable, machine: MachineResults, study: StudyDefinition) -> list[int]:
    """Return the numbers of ranks for which there are results or published values."""
    published = {
        row.system.processes
        for row in all_rows()
        if row.paper.name == study.paper
        and row.number is not None
        and row.system.processes
        and row.number.measures in {column.measures for column in table.columns}
        and any(machine.subject.is_named(*named) for named in row.machines)
    }
    found = {
        one.ranks
        for column in table.columns
        if column.measures
        for one in machine.of(*column.measures.split("."))
        if column.ranks in (None, one.ranks) and one.bytes == column.bytes
    }
    return sorted(found | published)


def _cell(machine: MachineResults, study: StudyDefinition, column: StudyColumn, ranks: int) -> Cell:
    benchmark, metric = column.measures.split(".")
    wanted = machine.axes(benchmark, column.axes)
    # A program's quick version in the study, if it has only that one, counts as the paper's.
    here = [one for one in machine.of(benchmark, metric) if (one.ranks, one.bytes) == (ranks, column.bytes)]
    same = [one for one in here if machine.axes(benchmark, one.axes) == wanted]
    found = same or (here if not column.axes else [])
    published = _published(machine, study, column.measures, ranks, column.bytes)
    if not found:
        return Cell(None, "", published, reason="no result")
    value = found[0]
    remarks = remarks_text(value)
    return Cell(value.median, value.unit, published, comparable=bool(same), remarks=remarks)


def _published(
    machine: MachineResults, study: StudyDefinition, measures: str, ranks: int, size: int | None
) -> Fact | None:
    for row in all_rows():
        if (
            row.paper.name == study.paper
            and row.number is not None
            and row.number.measures == measures
            and row.system.processes == ranks
            and _is_of_size(row, size)
            and any(machine.subject.is_named(*named) for named in row.machines)
        ):
            return row.number
    return None


def _is_of_size(row: Row, size: int | None) -> bool:
    """Return whether a row is about messages of this size; rows about whole studies are about none."""
    asked, _ = measured(row)
    return size is None or any(one.case.bytes == size for one in asked)


def _program_line(table: StudyTable, place: int, machine: MachineResults, program: str) -> TableLine:
    axes, title = _axes_of(table, machine, program)
    cells = []
    for column in table.columns:
        value = machine.look(Quantity(arrangement(program, column.arrangement, axes), table.measures))
        ratio = None
        if column.over and value.value is not None:
            base = machine.look(Quantity(arrangement(program, column.over, axes), table.measures))
            ratio = value.value / base.value if base.value else None
        cells.append(Cell(value.value, value.unit, None, ratio, value.reason, remarks=remarks_text(value)))
    return TableLine(place, title, tuple(cells))


def _lines_of_metrics(table: StudyTable, machines: Sequence[MachineResults]) -> Iterator[TableLine]:
    """Yield a line for each program and machine; the machines of a program follow each other."""
    if (ranks := table.ranks or _compared_ranks(table, machines)) is None:
        return
    for program in table.programs:
        for place, machine in enumerate(machines):
            cells = tuple(
                _cell_of_metric(machine, program, column.measures, ranks, table) for column in table.columns
            )
            if any(cell.value is not None for cell in cells):
                yield TableLine(place, program.upper(), cells, ranks)


def _compared_ranks(table: StudyTable, machines: Sequence[MachineResults]) -> int | None:
    """Return the number of ranks on which most programs can be compared, the largest of equals.

    A program can be compared if two machines have results of it, or one where there is no other.
    """
    compared: Counter[int] = Counter()
    for program in table.programs:
        having = Counter(
            ranks
            for machine in machines
            for ranks in {
                one.ranks
                for column in table.columns
                for one in machine.of(program, column.measures)
                if _is_of_table(table, machine, one)
            }
        )
        compared.update(ranks for ranks, count in having.items() if count >= min(2, len(machines)))
    return max(compared, key=lambda ranks: (compared[ranks], ranks), default=None)


def _is_of_table(table: StudyTable, machine: MachineResults, one: Summary) -> bool:
    """Return whether a result has the table's axes, and a core for each rank."""
    wanted = machine.axes(one.benchmark, table.axes)
    return not one.oversubscribed and machine.axes(one.benchmark, one.axes) == wanted


def _cell_of_metric(
    machine: MachineResults, program: str, metric: str, ranks: int, table: StudyTable
) -> Cell:
    for one in machine.of(program, metric):
        if one.ranks == ranks and _is_of_table(table, machine, one):
            return Cell(one.median, one.unit, remarks=remarks_text(one))
    asked = Quantity(Case(program, ranks, None, dict(table.axes)), metric)
    return Cell(None, reason=machine.look(asked).reason)


def _axes_of(table: StudyTable, machine: MachineResults, program: str) -> tuple[Mapping[str, Scalar], str]:
    """Return the axes of a program's cases and its title, with the class if the table has another."""
    wanted = machine.axes(program, table.axes)
    found = [machine.axes(program, one.axes) for one in machine.of(program, "rate")]
    if not found or wanted in found:
        return table.axes, program.upper()
    return found[0], f"{program.upper()} class {found[0].get('class', '')}".strip()


# ---- Reasons for missing results


def reasons(
    study: StudyDefinition,
    part: StudyFigure | StudyTable,
    machines: Sequence[MachineResults],
    there: Set[int],
) -> list[str]:
    """Return why a figure or table lacks results, a line for each machine; `there` are those that it has.

    Machines whose results it has may lack some, such as those on more ranks than were recorded.
    """
    asked = list(_asked_by(part))
    found = []
    for place, machine in enumerate(machines):
        known = [
            _of_programs(machine.lacking[run.name], part)
            for run in study.runs
            if run.name in machine.lacking
            and _is_arranged(part, run)
            and any(
                run.name == named or (not named and run.measures(benchmark, axes))
                for named, benchmark, axes in asked
            )
        ]
        if place not in there and (why := _arranged_failure(part, machine)):
            known = [why]
        elif not known and place not in there:
            known = [_failure(machine, [(benchmark, axes) for _, benchmark, axes in asked])]
        found += [f"{machine.label}: cannot say: {why}" for why in known]
    return found


def _of_programs(why: str, part: StudyFigure | StudyTable) -> str:
    """Return the reasons about the recordings that a figure replays, all if none of them is."""
    curves = part.curves if isinstance(part, StudyFigure) else ()
    programs = [str(curve.axes["program"]) for curve in curves if "program" in curve.axes]
    own = [one for one in why.split("; ") if any(name in one for name in programs)]
    return "; ".join(own) or why


def _is_arranged(part: StudyFigure | StudyTable, run: StudyRun) -> bool:
    """Return whether a table of arrangements has that of a run; True for other parts and runs."""
    shapes = [] if isinstance(part, StudyFigure) else [one.arrangement.split(" ")[0] for one in part.columns]
    return not any(shapes) or not run.shape or run.shape in shapes


def _asked_by(part: StudyFigure | StudyTable) -> Iterator[tuple[str, str, Mapping[str, Scalar]]]:
    """Yield for each curve, program or column: its run of the study, if named, its benchmark and axes."""
    if isinstance(part, StudyFigure):
        for curve in part.curves:
            yield curve.run, curve.measures.split(".")[0], curve.axes
        return
    for name in part.programs or [column.measures.split(".")[0] for column in part.columns]:
        yield "", name, part.axes


def _arranged_failure(part: StudyFigure | StudyTable, machine: MachineResults) -> str:
    """Return why a table of arrangements has no value; "" for other parts, or without its programs."""
    if isinstance(part, StudyFigure) or part.of_metrics:
        return ""
    here = [program for program in part.programs if machine.of(program, "rate")]
    cells = [cell for program in here for cell in _program_line(part, 0, machine, program).cells]
    return next((cell.reason for cell in cells if cell.reason), "").removeprefix(f"{machine.label}: ")


def _failure(machine: MachineResults, asked: Sequence[tuple[str, Mapping[str, Scalar]]]) -> str:
    """Return why the machine has no results of these benchmarks."""
    for row in Rows.of(machine.rows).without_result():
        if any(row.benchmark == benchmark for benchmark, _ in asked):
            return f"{row.case} {row.failure}"
    present = {one.benchmark for one in machine.summaries}
    if having := list(dict.fromkeys(benchmark for benchmark, _ in asked if benchmark in present)):
        return f"results of {listed(having)} are on other ranks, or have other settings"
    named = (
        f"replays of {axes['program']}" if benchmark == "replay" and "program" in axes else benchmark
        for benchmark, axes in asked
    )
    return f"no results of {' or '.join(dict.fromkeys(named))}"


# ---- Verdicts


def verdicts(study: StudyDefinition, machines: Sequence[MachineResults]) -> list[JudgedRow]:
    """Return the verdicts on all rows of the study's paper, in the order of its file.

    A row that no machine here answers has one verdict with the reason. Statements about one machine are also
    tested on machines that the paper does not contain.
    """
    found: list[JudgedRow] = []
    unknown = [replace(one, any_class=True) for one in machines if not _is_published(one)]
    by_row: dict[str, list[Verdict]] = {}
    for verdict in _of_scaling(machines):
        if verdict.row.paper.name == study.paper:
            by_row.setdefault(verdict.row.id, []).append(verdict)
    for row in all_rows():
        if row.paper.name != study.paper:
            continue
        if any(claim.asks in SCALING_FORMS for claim in row.fact.claims):
            fitted = _is_fitted(row, machines)
            of_row = by_row.get(row.id, [Verdict(row, words=_unasked(row))])
            found += [JudgedRow(one, "", fitted) for one in of_row]
        else:
            found += _judged(row, machines, unknown)
    causes = study.causes
    return [replace(one, cause=causes.get(one.verdict.row.id, "")) if one.missed else one for one in found]


def _is_fitted(row: Row, machines: Sequence[MachineResults]) -> bool:
    """Return whether a model of one of the machines was fitted to the row."""
    return any(row.id in one.calibrated_on for one in machines)


def _judged(
    row: Row, machines: Sequence[MachineResults], unknown: Sequence[MachineResults]
) -> Iterator[JudgedRow]:
    """Yield the verdicts on a row; `unknown` are the machines that no paper contains."""
    concerned = [one for one in machines if any(one.subject.is_named(*named) for named in row.machines)]
    if not row.fact.claims and not (row.number and row.number.measures):
        yield JudgedRow(Verdict(row, words=_unasked(row)), "")
        return
    across = [question for question in questions(row, machines[0].subject) if question.across_machines]
    if across:
        fitted = _is_fitted(row, machines)
        for question in across:
            yield JudgedRow(judge(question, lookup_across(machines, None)), "", fitted)
        return
    if not concerned:
        yield JudgedRow(Verdict(row, words=f"no results of {_named(row)}"), "")
    for machine in concerned:
        for question in questions(row, machine.subject):
            verdict = judge(question, lookup_across(machines, machine))
            yield JudgedRow(verdict, machine.label, row.id in machine.calibrated_on)
    if row.number is None:
        for machine in unknown:
            lookup = lookup_across(machines, machine)
            for question in questions(row, machine.subject):
                verdict = judge(question, lookup)
                if verdict.answer is not None:
                    yield JudgedRow(verdict, machine.label, foreign=True)


def _is_published(machine: MachineResults) -> bool:
    names = {name for row in all_rows() for name, _ in row.machines}
    return any(name in names for name, _ in machine.names)


def _named(row: Row) -> str:
    return ", ".join(dict.fromkeys(f"{name} {mode}".strip() for name, mode in row.machines))


def _unasked(row: Row) -> str:
    why = {
        "spec_check": "a data sheet's value, which no run measures",
        "not_simulable": "it requires hardware counters of the paper's processors",
        "context": "context of the paper; no claim about results",
        "calibrate": "it calibrates a model; nothing else is asked of it",
    }
    return row.fact.unanswered or why.get(row.fact.use, "no benchmark of Kiviat measures it")


def _of_scaling(machines: Sequence[MachineResults]) -> list[Verdict]:
    sources = [
        Source(machine.label, machine.runs, machine.rows, machine.grids)
        for machine in machines
        if machine.rows
    ]
    try:
        studies = scaling(sources, Selection()).studies
    except InputError:  # no result for this number of ranks
        return []
    return scaling_verdicts(studies, sources)


def part_name(part: StudyFigure | StudyTable) -> str:
    """Return "Figure 4", "Table 1", or the name of a part that the paper does not number."""
    if not part.number[:1].isdigit():
        return part.number
    return f"{'Table' if isinstance(part, StudyTable) else 'Figure'} {part.number}"


def paper_order(parts: Sequence[StudyFigure | StudyTable]) -> list[int]:
    """Return the places of the parts in the paper's order: tables, then figures by number.

    A part that the paper does not number follows the one before it.
    """
    keys: list[tuple[bool, int]] = []
    for part in parts:
        match = re.match(r"(Table|Figure) (\d+)", part_name(part))
        numbered = (match[1] == "Figure", int(match[2])) if match else None
        keys.append(numbered or (keys[-1] if keys else (False, 0)))
    return sorted(range(len(parts)), key=keys.__getitem__)


Judged = Sequence[JudgedRow]


def rows_of_parts(study: StudyDefinition, judged: Judged) -> tuple[list[Judged], list[Judged], Judged]:
    """Return the rows by the table or figure that their location names, and those that name none."""
    left = list(judged)

    def taken(part: StudyFigure | StudyTable) -> Judged:
        word, _, number = part_name(part).partition(" ")
        found = [one for one in left if _names(one.verdict.row.fact.location, word[:3], number)]
        left[:] = [one for one in left if one not in found]
        return found

    return [taken(table) for table in study.tables], [taken(figure) for figure in study.figures], left


def _names(location: str, word: str, number: str) -> bool:
    """Return whether a location such as "3.2 / Figs 7-10" names a figure such as "7-10", "8" or "2-3"."""
    ends = [int(part) for part in re.findall(r"\d+", number)]
    for match in re.finditer(rf"{word}[a-z]* (\d+)[a-z]?(?:-(\d+))?", location):
        first, last = int(match[1]), int(match[2] or match[1])
        if ends and first <= ends[-1] and ends[0] <= last:
            return True
    return False


def summed(found: Sequence[JudgedRow]) -> Summed:
    """Return a summary: errors of numbers, statements that hold, and reasons for missing verdicts."""
    own = [one for one in found if not one.foreign]
    numbers = [
        one.verdict.error
        for one in own
        if one.verdict.error is not None
        and one.verdict.holds is None
        and one.verdict.row.fact.use in COMPARED_USES
        and not one.fitted
    ]
    judged = [one for one in own if one.verdict.holds is not None and not one.fitted]
    foreign = [one.verdict.holds for one in found if one.foreign and one.verdict.holds is not None]
    untold = Counter(
        one.verdict.words for one in own if one.verdict.holds is None and one.verdict.error is None
    )
    return Summed(
        tuple(numbers),
        sum(1 for one in judged if one.verdict.holds),
        len(judged),
        tuple(one for one in judged if not one.verdict.holds),
        tuple(untold.most_common()),
        (sum(map(bool, foreign)), len(foreign)),
    )
