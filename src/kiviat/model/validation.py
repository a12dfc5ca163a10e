"""The published rows of a modelled machine: those it was fitted to, and those it is validated with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from kiviat.analysis.published import verdict
from kiviat.analysis.published.question import Question, Row, Subject, all_rows, rows_about
from kiviat.analysis.published.verdict import Verdict
from kiviat.machine.modelled.machine import Machine
from kiviat.record.case_id import case_id
from kiviat.record.published import COMPARED_USES, Claim, Fact, Series, SizeSeries, System, papers
from kiviat.record.units import format_size
from kiviat.record.validated import ComparedModel, ComparedRow, simulator_hash

# The mean of b_eff's random patterns is not one of its metrics; it follows from two of them.
_DERIVED = {"square_over": "randoms_at_lmax"}
_PER_PROCESS = "_per_process"
# Sizes at which a series is compared: two of each class of message sizes.
_SIZES = (8, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20)


def subject(machine: Machine) -> Subject:
    """Return the machine as published rows ask of it."""
    return Subject(tuple(machine.published), machine.cores)


def calibration(machine: Machine) -> list[Question]:
    """Return the questions of the rows that the model, or its base, was fitted to.

    Of each series, they ask a few sizes.
    """
    own = subject(machine)
    rows = {row.id: [row] for row in all_rows()}
    for row in _rows_of_series(own, ("calibrate",)):
        rows.setdefault(published_id(row), []).append(row)
    names = (*machine.calibrated_on, *machine.base_rows)
    return [
        question for name in names for row in rows.get(name, ()) for question in verdict.questions(row, own)
    ]


def published_id(row: Row) -> str:
    """Return the identifier in published/: that of the series if the row is one size of it."""
    return row.id.partition("/")[0]


def unanswered(machine: Machine, asked: Iterable[Question]) -> list[str]:
    """Return what the model was fitted to but none of the questions is about.

    These are series with a placement of their own, and sources of a core's rates.
    """
    known = {published_id(question.row) for question in asked}
    return [name for name in machine.calibrated_on if name not in known]


def validation(machine: Machine) -> list[Question]:
    """Return the questions of the rows that a model is validated with, not calibrated on.

    Of each published series that checks the model, they ask a few sizes.
    """
    own = subject(machine)
    rows = _rows_of_series(own, COMPARED_USES)
    of_series = [question for row in rows for question in verdict.questions(row, own)]
    return [*verdict.validation(own), *of_series]


def _rows_of_series(own: Subject, uses: Collection[str]) -> Iterator[Row]:
    """Yield a row for each of `_SIZES` of the series about a machine with one of these permitted uses.

    Series with a placement of their own are left out: no case describes it.
    """
    for paper in papers():
        for system in paper.systems:
            if not own.is_named(system.machine, system.mode) or system.placement or not system.processes:
                continue
            for series in system.series:
                for size, value in series.points if series.use in uses else ():
                    if size in _SIZES and value > 0:
                        yield Row(paper, system, _fact(series, system, system.processes, size, value))


def _fact(series: SizeSeries, system: System, ranks: int, size: int, value: float) -> Fact:
    per_node = ranks // int(system.nodes) if system.nodes.isdecimal() else None
    case = Series(measures=series.measures, ranks=(ranks,), bytes=(size,), per_node=per_node)
    return Fact(
        id=f"{series.id}/{size}",
        location=series.location,
        benchmark=series.benchmark,
        metric=series.metric,
        value=value,
        unit=series.unit,
        relation="=",
        exactness="exact_table",
        use=series.use,
        measures=series.measures,
        message_size=format_size(size),
        claims=(Claim("best", (case,)),),
    )


def published_values(machine: Machine) -> dict[tuple[str, str], Fact]:
    """Return the published numbers of a machine by case and metric, ranks placed in order.

    The first of several counts. A published bandwidth of one message is its time, too.
    """
    found: dict[tuple[str, str], Fact] = {}
    for row in rows_about(subject(machine)):
        fact = row.number
        for question in verdict.questions(row, subject(machine)) if fact else ():
            quantities = [one for series in question.series for one in series]
            if fact is None or question.claim or len(quantities) != 1 or quantities[0].case.per_node:
                continue
            case, metric = quantities[0].case, quantities[0].metric
            name = case_id(case.benchmark, case.ranks, case.bytes, case.axes)
            found.setdefault((name, metric), fact)
            if case.benchmark == "pingpong" and metric == "bandwidth" and case.bytes:
                found.setdefault((name, "time"), replace(fact, value=case.bytes / fact.value, unit="s"))
            whole, _, its = fact.measures.partition(".")
            if whole == "b_eff" and row.system.processes:
                found.setdefault((case_id(whole, row.system.processes, None, {}), its), fact)
    return found


def compared(
    machine: Machine,
    date: str,
    judged: Iterable[tuple[Question, Verdict]],
    fitted: Iterable[tuple[Question, Verdict]],
) -> ComparedModel:
    """Return the errors of a model as they are stored; `fitted` are the verdicts on rows it was fitted to."""
    rows = [
        *(row for one in judged if (row := _compared(*one, fitted=False))),
        *(row for one in fitted if (row := _compared(*one, fitted=True))),
    ]
    of = simulator_hash()
    return ComparedModel(machine.name, machine.version, machine.hash, date, tuple(rows), of)


def _compared(question: Question, judged: Verdict, *, fitted: bool) -> ComparedRow | None:
    """Return a row as it is stored; None for rows without an answer."""
    first = next((quantity for series in question.series for quantity in series), None)
    if first is None or judged.answer is None:
        return None
    form = question.claim.asks if question.claim else "value"
    metric, case, fact = _DERIVED.get(form, first.metric), first.case, question.row.number
    where = f" {case.per_node} on each node" if case.per_node else ""
    where += "".join(f", {word}" for word in (case.place, case.bind) if word)
    return ComparedRow(
        row=question.row.id,
        form=form,
        benchmark=case.benchmark,
        metric=metric,
        ranks=case.ranks,
        bytes=case.bytes,
        quantity=f"{case_id(case.benchmark, case.ranks, case.bytes, case.axes)}{where}: "
        f"{metric.removesuffix(_PER_PROCESS)}",
        unit=fact.unit if fact else "",
        published=fact.value if fact else None,
        predicted=None if fact is None or isinstance(judged.answer, bool) else _rounded(float(judged.answer)),
        error=None if judged.error is None else _rounded(judged.error),
        holds=judged.holds,
        fitted=fitted,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
