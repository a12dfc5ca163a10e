"""`kiviat model fit --published`: fits numbers of a machine to published rows, simulating in the loop."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kiviat.analysis.published.question import Case, Question, Row, rows_about
from kiviat.analysis.published.results import key, lookup_in
from kiviat.analysis.published.text import about_text, processes_text
from kiviat.analysis.published.verdict import judge, questions
from kiviat.cli.options.request import ModelFitRequest, TableFormat
from kiviat.cli.text.table import bold, print_table
from kiviat.launch.run.simulated_runner import SimulatedCase, simulate
from kiviat.machine.modelled.machine import Machine, find_machine, load_machine, machines
from kiviat.model.changes import assumed_places, calibrated_places, changed, changes
from kiviat.model.own_rows import own_rows
from kiviat.model.published_fit import Factors, FittedNumber, PublishedFit, fit_published
from kiviat.model.validation import subject
from kiviat.model.variant_file import variant_file
from kiviat.plan import shipped_benchmarks
from kiviat.record import InputError, write_whole
from kiviat.record.published import Fact
from kiviat.record.scratch import scratch_folder
from kiviat.record.units import counted
from kiviat.report.table import Absent, Column, Value, tabled

_FORMS = ("best", "least")


def fit_to_rows(request: ModelFitRequest, name: str, path: Path) -> int:
    """Fit, print what determines each number and the errors of the rows, and write a variant to `path`."""
    machine = find_machine(name)
    if (
        machines().get(machine.name) != machine.path
        and machine.path.parent.resolve() != path.parent.resolve()
    ):
        raise InputError(
            f"-o {path}: a variant finds its base {machine.name} among the known machines or beside itself; "
            f"write it to {machine.path.parent}"
        )
    asked = _allowed(machine, request.rows)
    free = list(dict.fromkeys(request.free)) or assumed_places(machine)
    names = [one.row.id for one in asked]
    fit = _fitted(machine, free, asked, bool(request.free))
    _print(machine, fit, asked, request.format)
    source = f"rows of {Path(request.rows).name}" if request.rows else "published rows"
    source = f"kiviat model fit --published {machine.name}, to {source} {', '.join(names)}"
    used = () if request.rows else tuple(names)
    text = variant_file(machine, path.stem, changes(machine, _settings(fit.factors)), source, used)
    with scratch_folder() as folder:
        _refuse_invalid(text, Path(folder), path, machine)
    write_whole(text, path, "machine file")
    print(
        f"{path}: a variant of {machine.name}, hash {load_machine(path).hash[:16]}",
        file=sys.stdout if request.format == "table" else sys.stderr,
    )
    return 0


def _fitted(machine: Machine, free: Sequence[str], asked: Sequence[Question], named: bool) -> PublishedFit:
    def predict(tried: Sequence[Factors]) -> list[list[float | None]]:
        return _predicted([changed(machine, _settings(one)) for one in tried], asked)

    published = [one.row.number.value for one in asked if one.row.number]
    return fit_published(free, [one.row.id for one in asked], published, predict, asked=named)


def leave_one_run_out(machine: Machine, named: Sequence[str], form: TableFormat) -> int:
    """Print the cross-validated errors: of each published run by the machine fitted to all others.

    A run without which the numbers are not determined gets the reason instead. Name the numbers that keep
    what they were fitted to, the run left out included.
    """
    free = list(dict.fromkeys(named)) or assumed_places(machine)
    runs: dict[str, list[Question]] = {}
    for question in _allowed(machine, None):
        runs.setdefault(_run(question), []).append(question)
    if len(runs) < 2:
        raise InputError(
            f"{machine.name} has rows of one published run only ({next(iter(runs))}): nothing is left to fit "
            "it to"
        )
    lines: list[_LeftOut] = []
    for name, left_out in runs.items():
        others = [one for run, of in runs.items() if run != name for one in of]
        reason, answers = "", list[float | None]([None] * len(left_out))
        try:
            fit = _fitted(machine, free, others, bool(named))
        except InputError as error:
            reason = str(error)
        else:
            (answers,) = _predicted([changed(machine, _settings(fit.factors))], left_out)
        lines += [_left_out(name, one, value, reason) for one, value in zip(left_out, answers, strict=True)]
    if form == "table":
        print(f"{bold(machine.name)}: {', '.join(free)} fitted to all runs but the one predicted")
    print_table(tabled("Cross-validation", _COLUMNS, lines), form)
    errors = [abs(line.error) for line in lines if line.error is not None]
    kept = [place for place in calibrated_places(machine) if place not in free]
    fitted = {*machine.calibrated_on, *machine.base_rows}
    if not any(line.row.id in fitted for line in lines):
        kept = []
    if form == "table" and errors:
        middle = 100 * statistics.median(errors)
        which = "not fully cross-validated" if kept else "cross-validated"
        print(f"{which}: median error {middle:.1f} %, largest {100 * max(errors):.1f} %")
    if kept:
        print(
            f"not fitted anew, so they may owe their values to the run left out: {', '.join(kept)}; "
            "name them by --free",
            file=sys.stdout if form == "table" else sys.stderr,
        )
    return 0


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """A published value, and its prediction by the machine fitted to all other runs, or why there is none."""

    run: str
    row: Row
    published: Fact
    predicted: float | None
    reason: str

    @property
    def error(self) -> float | None:
        return None if self.predicted is None else self.predicted / self.published.value - 1


def _left_out(run: str, question: Question, predicted: float | None, reason: str) -> _LeftOut:
    fact = question.row.number
    assert fact is not None
    return _LeftOut(run, question.row, fact, predicted, reason)


_COLUMNS: tuple[Column[_LeftOut], ...] = (
    Column("run left out", lambda line: line.run, key="run"),
    Column("row", lambda line: line.row.id, key="row"),
    Column("", lambda line: about_text(line.row), key="about"),
    Column(None, lambda line: line.published.unit, key="unit"),
    Column(
        "published", lambda line: Value(line.published.value, line.published.unit), key="published", side=">"
    ),
    Column("predicted", lambda line: Value(line.predicted, line.published.unit), key="predicted", side=">"),
    Column(
        "error", lambda line: Absent(line.reason) if line.error is None else line.error, "error", "error", "<"
    ),
    Column(None, lambda line: line.reason, key="reason"),
)


def _run(question: Question) -> str:
    """Return the published run that a row is of, in words."""
    system, paper = question.row.system, question.row.paper
    count = processes_text(system)
    fact = question.row.fact
    benchmark = fact.benchmark.split(" ")[0]
    return ", ".join(filter(None, (paper.short, benchmark, count, system.placement)))


def _settings(factors: Factors) -> list[str]:
    return [f"{place}={factor:.9f}x" for place, factor in factors.items()]


def _allowed(machine: Machine, file: str | None) -> list[Question]:
    """Return the questions of the rows that the machine may be fitted to: a value each, with a simulation."""
    if file:
        rows = rows_in(Path(file))
    else:
        rows = [row for row in rows_about(subject(machine)) if row.fact.use == "calibrate"]
    found = [
        question
        for row in rows
        if row.number and row.number.relation in ("=", "~") and row.number.value > 0
        for question in questions(row, subject(machine))
        if question.series and (question.claim is None or question.claim.asks in _FORMS)
    ]
    if not found:
        raise InputError(
            f"no published row that a simulation answers may calibrate {machine.name}; give --rows FILE"
        )
    return found


def rows_in(file: Path) -> list[Row]:
    """Return the user's rows in a file, of any benchmark that Kiviat has."""
    units = {
        str(one["name"]): {str(metric["name"]): str(metric["unit"]) for metric in one["metrics"]}
        for one in shipped_benchmarks()
    }
    return own_rows(file, units)


def simulated_case(machine: Machine, case: Case) -> SimulatedCase:
    """Return the simulation of a case that rows ask for."""
    return SimulatedCase(
        machine, case.benchmark, case.ranks, case.bytes, case.axes, case.place, case.per_node, case.bind
    )


def _predicted(tried: Sequence[Machine], asked: Sequence[Question]) -> list[list[float | None]]:
    """Return the answers of each machine to all questions; all cases are simulated together."""
    cases = list({key(case): case for question in asked for case in question.cases}.values())
    records = simulate([simulated_case(machine, case) for machine in tried for case in cases])
    answers: list[list[float | None]] = []
    for at in range(len(tried)):
        own = records[at * len(cases) : (at + 1) * len(cases)]
        look = lookup_in({key(case): record for case, record in zip(cases, own, strict=True)})
        found = [judge(question, look).answer for question in asked]
        answers.append([None if one is None else float(one) for one in found])
    return answers


def _print(machine: Machine, fit: PublishedFit, asked: Sequence[Question], form: TableFormat) -> None:
    """Print the fitted numbers and the errors of the rows; programs get the errors."""
    columns: list[Column[tuple[Question, float, float]]] = [
        Column("row", lambda line: line[0].row.id, key="row"),
        Column("", lambda line: about_text(line[0].row), key="about"),
        Column("before", lambda line: line[1], "error", "before"),
        Column("after", lambda line: line[2], "error", "after"),
    ]
    rows = tabled("Rows", columns, zip(asked, fit.before, fit.after, strict=True))
    if form != "table":
        print_table(rows, form)
        return
    numbers: list[Column[FittedNumber]] = [
        Column("number", lambda one: one.place),
        Column(f"of {machine.name}", lambda one: f"×{one.factor:.4g}", side=">"),
        Column("error", lambda one: f"±{100 * one.error:.2g} %", side=">"),
        Column("determined by", lambda one: ", ".join(f"{row} ({100 * s:.0f} %)" for row, s in one.rows)),
    ]
    print_table(tabled("Numbers", numbers, fit.numbers))
    if fit.undetermined:
        print(f"left as they are, for no row determines them: {', '.join(fit.undetermined)}")
    print()
    print_table(rows)
    print(f"development errors of {counted(len(asked), 'row')}: none of them is a prediction")


def _refuse_invalid(text: str, folder: Path, path: Path, machine: Machine) -> None:
    draft = folder / path.name
    write_whole(text, draft, "machine file")
    if machines().get(machine.name) != machine.path:
        write_whole(machine.path.read_text(encoding="utf-8"), folder / machine.path.name, "machine file")
    try:
        load_machine(draft)
    except InputError as error:
        raise InputError(str(error).replace(str(draft), f"{path} (not written)")) from None
