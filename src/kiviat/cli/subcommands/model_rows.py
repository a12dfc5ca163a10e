"""`kiviat model check` and `kiviat model validate`: compare models with published results."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kiviat.analysis.aggregate.known_errors import errors_by_kind, left_out
from kiviat.analysis.published.question import Question
from kiviat.analysis.published.results import key, lookup_in
from kiviat.analysis.published.text import (
    about_text,
    answer_text,
    error_text,
    evidence_text,
    published_text,
)
from kiviat.analysis.published.verdict import TOLERANCE, Verdict, conflicts, is_exact, judge
from kiviat.analysis.published.verdict import questions as asked_of
from kiviat.cli.options.request import ModelCheckRequest, ModelValidateRequest
from kiviat.cli.subcommands.model_published import leave_one_run_out, rows_in, simulated_case
from kiviat.cli.text.table import bold, print_table
from kiviat.cli.visible import erase_line, visible_cell
from kiviat.launch.run.simulated_runner import simulate
from kiviat.machine.modelled.machine import Machine, find_machine, machines
from kiviat.model.across import cases_across, lookup_across, questions_across
from kiviat.model.changes import changed
from kiviat.model.page import ModelResult, ModelVerdict, effect_text, page, read_earlier
from kiviat.model.sensitivity import Variant, effects, variants
from kiviat.model.validation import calibration, compared, published_id, subject, unanswered, validation
from kiviat.record import InputError, Record, write_whole
from kiviat.record.published import Fact
from kiviat.record.units import counted
from kiviat.record.validated import VALIDATED_FILE, ComparedModel, read_compared, write_compared
from kiviat.report.table import Column, tabled

_PAGE = Path("docs/reference/validation.md")
_ERRORS = Path("machines") / VALIDATED_FILE
_EARLIER = Path("docs/reference/validation-1.json")


def execute(request: ModelCheckRequest | ModelValidateRequest) -> int:
    """Check a machine against the rows it is calibrated on, or compare machines with all other rows.

    A check returns 1 if an exact row that contradicts no other is off by more than the tolerance, or is not
    predicted.
    """
    return _check(request) if isinstance(request, ModelCheckRequest) else _validate(request)


def _check(request: ModelCheckRequest) -> int:
    """Return 1 if a row is off by more than the tolerance, or is not predicted; else 0.

    Rows that are not exact, or that contradict others, do not count.
    An uncalibrated variant need not fit its base's rows, and has no rows of its own.
    """
    machine = find_machine(request.machine)
    questions = calibration(machine)
    told = sys.stdout if request.format == "table" else sys.stderr
    if left := unanswered(machine, questions):
        print(f"{machine.name}: fitted to {', '.join(left)}, too, which no simulation answers", file=told)
    if not questions:
        named = (
            "no simulation answers its rows" if left else "its file names no published row in calibrated_on"
        )
        reason = machine.uncalibrated or named
        print(f"{machine.name}: nothing to check: {reason}", file=told)
        if request.format != "table":
            print_table(tabled("Rows", _COLUMNS, []), request.format)
        return 0
    contradicting = conflicts(questions)
    off, unpredicted = f"off by more than {100 * TOLERANCE:.0f} %", "not predicted"

    def note(question: Question, verdict: Verdict) -> str:
        row = verdict.row
        if row.id in contradicting:
            return f"contradicts {', '.join(contradicting[row.id])}"
        if not is_exact(question):
            return "not exact" if question.series else "no message: it sets a rate or a size"
        if published_id(row) in machine.base_rows:
            return f"a row of {machine.base}, which this is a variant of"
        if verdict.error is None:
            return unpredicted
        return off if abs(verdict.error) > TOLERANCE else ""

    judged = _judged(machine, questions)
    notes = {
        verdict.row.id: note(question, verdict) for question, verdict in zip(questions, judged, strict=True)
    }
    if request.format == "table":
        print(_heading(machine))
    noted: Column[_Line] = Column("", lambda line: notes[line.verdict.row.id], key="note")
    lines = [_Line(ModelVerdict(verdict), machine) for verdict in judged]
    print_table(tabled("Rows", [*_COLUMNS, noted], lines), request.format)
    counts = {why: count for why in (off, unpredicted) if (count := list(notes.values()).count(why))}
    if request.format == "table":
        for why, count in counts.items():
            print(f"{counted(count, 'row')} {why}")
    return 1 if counts else 0


def _heading(machine: Machine) -> str:
    return f"{bold(machine.name)}: {machine.title}, version {machine.version}, hash {machine.hash[:16]}"


def _validate(request: ModelValidateRequest) -> int:
    found = _chosen(request)
    if request.leave_one_run_out:
        return leave_one_run_out(found[0], request.free, request.format)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    tell = request.format == "table"
    results: list[tuple[Machine, list[ModelVerdict]]] = []
    written: list[ModelResult] = []
    everything: list[float] = []
    rows = rows_in(Path(request.rows)) if request.rows else []
    for machine in found:
        questions = [one for row in rows for one in asked_of(row, subject(machine))]
        questions = questions if rows else validation(machine)
        judged = _validated(machine, questions, request.sensitivity)
        results.append((machine, judged))
        pairs = [*zip(questions, (one.verdict for one in judged), strict=True)]
        own = calibration(machine) if request.write else []
        own = [one for one in own if one.row.id in machine.calibrated_on]
        fitted = _judged(machine, own)
        stored = compared(machine, today, pairs, zip(own, fitted, strict=True))
        own_errors = [abs(verdict.error) for _, verdict in pairs if verdict.error is not None]
        errors = own_errors if rows else _errors(stored)  # each of the user's own rows counts
        everything += errors
        if tell:
            _print(machine, judged, errors, request.sensitivity)
        if request.write:
            written.append(ModelResult(machine, judged, fitted, stored))
    across = [] if rows else _across(found)
    if tell:
        _print_across(across)
        if everything and len(results) > 1:
            print(f"\n{_summary(everything)}")
    else:
        lines = [_Line(one, machine) for machine, judged in results for one in judged]
        lines += [_Line(ModelVerdict(one)) for one in across]
        print_table(tabled("Rows", [*_OF_MACHINE, *_columns(request.sensitivity)], lines), request.format)
    if request.write:
        kept = {} if not request.machines else read_compared(_ERRORS)
        kept |= {one.machine.name: one.stored for one in written}
        write_compared([*kept.values()], _ERRORS)
        print(f"written: {_ERRORS}", file=sys.stdout if tell else sys.stderr)
        if not request.machines:
            earlier = read_earlier(_EARLIER) if _EARLIER.exists() else {}
            write_whole(page(written, today, across, earlier), _PAGE, "page")
            print(f"written: {_PAGE}", file=sys.stdout if tell else sys.stderr)
    return 0


def _chosen(request: ModelValidateRequest) -> list[Machine]:
    """Return the machines, changed by --set; raise InputError for options that exclude each other."""
    _refuse_writing(request)
    for option, given in (("--rows", request.rows), ("--set", request.set)):
        if given and request.write:
            raise InputError(
                f"--write stores errors on published rows of machines as they are: leave {option} out"
            )
        if given and not request.machines:
            raise InputError(
                f"{option} needs the machines that it is for: kiviat model validate MACHINE {option} …"
            )
    if request.free and not request.leave_one_run_out:
        raise InputError("--free needs --leave-one-run-out, which fits these numbers")
    if request.leave_one_run_out and (
        len(request.machines) != 1 or request.rows or request.set or request.write or request.sensitivity
    ):
        raise InputError(
            "--leave-one-run-out cross-validates one machine on its published rows: kiviat model validate "
            "MACHINE --leave-one-run-out, with --free at most"
        )
    found = [find_machine(name) for name in request.machines or machines()]
    return [changed(machine, request.set) for machine in found] if request.set else found


def _across(found: Sequence[Machine]) -> list[Verdict]:
    """Return the verdicts on ratios and orderings across these machines."""
    questions = questions_across(found)
    pairs = cases_across(found, questions)
    records = simulate([simulated_case(machine, case) for machine, case in pairs]) if pairs else []
    by_machine: dict[str, dict[str, Record]] = {}
    for (machine, case), record in zip(pairs, records, strict=True):
        by_machine.setdefault(machine.name, {})[key(case)] = record
    look = lookup_across(found, by_machine)
    return [judge(question, look) for question in questions]


def _print_across(across: Sequence[Verdict]) -> None:
    if not across:
        return
    print(f"\n{bold('Across machines')}")
    values: Column[_Line] = Column("values", lambda line: evidence_text(line.verdict))
    lines = [_Line(ModelVerdict(one)) for one in across]
    print_table(tabled("Across machines", [*_COLUMNS, values], lines))
    judged = [one.holds for one in across if one.holds is not None]
    print(f"{sum(judged)} of {len(judged)} orderings and bounds hold")


def _refuse_writing(request: ModelValidateRequest) -> None:
    """Raise InputError where `--write` has no place to write to, or would store other models' errors."""
    if not request.write:
        return
    for folder in (_PAGE.parent, _ERRORS.parent):
        if not folder.is_dir():
            raise InputError(f"--write: there is no folder {folder} here; go to the top of the source tree")
    shipped = {path.stem for path in _ERRORS.parent.glob("*.toml")}
    for name in request.machines:
        if name not in shipped:
            raise InputError(
                f"--write: {name} is not one of the machines in {_ERRORS.parent}/, whose errors are stored; "
                "leave it or --write out"
            )


def _validated(machine: Machine, questions: Sequence[Question], sensitivity: bool) -> list[ModelVerdict]:
    verdicts = _judged(machine, questions)
    if not sensitivity:
        return [ModelVerdict(verdict) for verdict in verdicts]
    varied: list[list[tuple[Variant, Verdict]]] = [[] for _ in questions]
    for variant in variants(machine):
        for at, verdict in zip(varied, _judged(variant.machine, questions), strict=True):
            at.append((variant, verdict))
    return [
        ModelVerdict(verdict, effects(verdict.answer, [(variant, other.answer) for variant, other in others]))
        for verdict, others in zip(verdicts, varied, strict=True)
    ]


def _judged(machine: Machine, questions: Sequence[Question]) -> list[Verdict]:
    """Judge all questions. Their cases are simulated together, in parallel, and each only once."""
    cases = list({key(case): case for question in questions for case in question.cases}.values())
    records = simulate([simulated_case(machine, case) for case in cases], _teller(machine)) if cases else []
    look = lookup_in({key(case): record for case, record in zip(cases, records, strict=True)})
    return [judge(question, look) for question in questions]


def _teller(machine: Machine) -> Callable[[str], None]:
    """Return a function that shows the current simulation on a terminal."""
    if not sys.stderr.isatty():
        return lambda text: None

    def show(text: str) -> None:
        erase_line()
        print(visible_cell(text)[:100], end="", file=sys.stderr, flush=True)

    return show


def _errors(stored: ComparedModel) -> list[float]:
    """Return the absolute errors of independent quantities, as docs/reference/validation.md counts them."""
    return [abs(error) for one in left_out(errors_by_kind(stored.rows)) for error in one.errors]


def _summary(errors: Sequence[float]) -> str:
    middle, largest = statistics.median(errors), max(errors)
    return (
        f"{counted(len(errors), 'value')}: median error {100 * middle:.0f} %, largest {100 * largest:.0f} %"
    )


def _print(
    machine: Machine, judged: Sequence[ModelVerdict], errors: Sequence[float], sensitivity: bool
) -> None:
    if sys.stderr.isatty():
        erase_line()
    print(f"\n{_heading(machine)}")
    if machine.uncalibrated:
        print(f"uncalibrated: {machine.uncalibrated}")
    if not judged:
        print("no published row to hold it to")
        return
    print_table(tabled("Rows", _columns(sensitivity), [_Line(one, machine) for one in judged]))
    if errors:
        print(_summary(errors))


@dataclass(frozen=True, slots=True)
class _Line:
    """A row with its verdict; without a machine, across several."""

    judged: ModelVerdict
    machine: Machine | None = None

    @property
    def verdict(self) -> Verdict:
        return self.judged.verdict

    @property
    def number(self) -> Fact | None:
        return self.verdict.row.number


def _published(line: _Line) -> float | str:
    return line.number.value if line.number else published_text(line.verdict.row)


_OF_MACHINE: tuple[Column[_Line], ...] = (
    Column(None, lambda line: line.machine.name if line.machine else "", key="machine"),
    Column(None, lambda line: line.machine.hash if line.machine else "", key="hash"),
)
_COLUMNS: tuple[Column[_Line], ...] = (
    Column("row", lambda line: line.verdict.row.id, key="row"),
    Column("", lambda line: about_text(line.verdict.row), key="about"),
    Column("published", lambda line: published_text(line.verdict.row), side=">"),
    Column("predicted", lambda line: answer_text(line.verdict), side=">"),
    Column("error", lambda line: error_text(line.verdict)),
    Column(None, lambda line: line.number.unit if line.number else "", key="unit"),
    Column(None, _published, key="published"),
    Column(None, lambda line: line.verdict.answer, key="predicted"),
    Column(None, lambda line: line.verdict.error if line.verdict.holds is None else None, key="error"),
    Column(None, lambda line: line.verdict.holds, key="holds"),
    Column(None, lambda line: line.verdict.words if line.verdict.answer is None else "", key="reason"),
)


def _columns(sensitivity: bool) -> list[Column[_Line]]:
    effects: Column[_Line] = Column(
        "± 25 % of what is assumed",
        lambda line: "; ".join(map(effect_text, line.judged.causes[:4])),
        key="effects",
    )
    return [*_COLUMNS, *([effects] if sensitivity else [])]
