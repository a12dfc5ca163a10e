"""Texts of published rows and verdicts, shared by the terminal and all pages."""

from __future__ import annotations

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.hpcc.balance import AXES
from kiviat.analysis.published.question import Point, Row, Value
from kiviat.analysis.published.verdict import CANNOT_TELL, Verdict
from kiviat.record.published import Fact, System
from kiviat.record.units import UNAVAILABLE, counted, format_size, format_value, three_digits

_RELATIONS = {"=": "", "ratio=": "", "<=": "≤ ", "ratio<=": "≤ ", ">=": "≥ ", "ratio>": "> ", "ratio~": "~ "}
_SHOWN = {"ratio~<": "~ ", "~<": "~ ", **_RELATIONS}


def about_text(row: Row) -> str:
    """Return a description of a row, such as "b_eff per proc, 256 processes, 1 MB"."""
    words = (row.fact.benchmark, row.fact.metric, processes_text(row.system), row.fact.message_size)
    return ", ".join(filter(None, words))


def processes_text(system: System) -> str:
    """Return "256 processes", "4-64 processes", or nothing if the number is not published."""
    if system.processes_range:
        return f"{system.processes_range} processes"
    return f"{system.processes} process{'es' * (system.processes != 1)}" if system.processes else ""


def statement_text(row: Row) -> str:
    """Return the published statement: "HPCCG, ordering of MFLOPS: Opteron cluster > SC072"."""
    fact = row.fact
    said = value_text(fact) if isinstance(fact, Fact) else fact.says
    return f"{fact.benchmark}, {fact.metric}" + (f": {said}" if said else "")


def place_text(row: Row) -> str:
    """Return the location of a row in its paper: "Martin et al., section 7.1 / Fig 9 (S-021)"."""
    where = row.fact.location
    return f"{row.paper.short}, {'section ' if where[:1].isdigit() else ''}{where} ({row.id})"


def published_text(row: Row) -> str:
    """Return the published value or statement.

    "yes" if the field `metric` contains the whole statement.
    """
    if row.number is None:
        return getattr(row.fact, "says", "") or "yes"
    return value_text(row.number)


def value_text(fact: Fact) -> str:
    """Return a published number with its relation: "≤ 27.0 %"."""
    relation = _SHOWN.get(fact.relation, f"{fact.relation} ")
    return relation + _number_text(fact.value, fact.unit)


def answer_text(verdict: Verdict) -> str:
    """Return the answer in the unit of the row."""
    if verdict.answer is None:
        return UNAVAILABLE
    if isinstance(verdict.answer, bool):
        return "yes" if verdict.answer else "no"
    return _number_text(verdict.answer, verdict.row.number.unit if verdict.row.number else "")


def _number_text(value: float, unit: str) -> str:
    if unit == "1" and value == int(value):
        return f"{value:g}"
    return format_value(value, unit)


def error_text(verdict: Verdict) -> str:
    """Return "holds" or "fails", the relative error, or the reason why there is no answer.

    If 0 % was published, the error is in points of percent.
    """
    fact = verdict.row.number
    if verdict.answer is None:
        return verdict.words
    if verdict.holds is not None:
        return "holds" if verdict.holds else "fails"
    if verdict.error is not None:
        return f"{100 * verdict.error:+.1f} %"
    if fact and not fact.value and fact.unit == "%":
        return f"{verdict.answer - fact.value:+.2g} points"
    return UNAVAILABLE


def gap_text(verdict: Verdict) -> str:
    """Return the difference between answer and published number in its unit: "3.00 points more"."""
    fact = verdict.row.number
    if fact is None or verdict.answer is None or verdict.holds is not None:
        return error_text(verdict)
    gap = float(verdict.answer) - fact.value
    off = round(abs(gap), 2 if fact.unit == "%" else 6)
    if not off:
        return "the same"
    words = f"{three_digits(off)} points" if fact.unit == "%" else _number_text(off, fact.unit)
    return f"{words} {'more' if gap > 0 else 'less'}"


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict, such as "agrees", with "predicted" if it rests on a model: "agrees, predicted"."""
    return verdict.verdict + (", predicted" if verdict.predicted and verdict.verdict != CANNOT_TELL else "")


def remarks_text(*results: Summary | Value) -> str:
    """Return "oversubscribed", "disturbed", both, or nothing; numbers of bytes do not depend on either."""
    timed = [one for one in results if one.unit != "B"]
    words = ["oversubscribed"] if any(one.oversubscribed for one in timed) else []
    return ", ".join([*words, "disturbed"] if any(one.disturbed for one in timed) else words)


def evidence_text(verdict: Verdict) -> str:
    """Return the values from which the verdict was computed, or the reason why there is no verdict."""
    if verdict.answer is None or verdict.words:
        return verdict.words
    return "; ".join(_series_text(points) for points in verdict.series if len(points) > 0)


def _series_text(points: tuple[Point, ...]) -> str:
    first = points[0].quantity
    machine = f"{first.machine} {first.mode}".strip()
    of_hpcc = {axis.id: axis.title for axis in AXES} if first.case.benchmark == "balance" else {}
    name = " ".join(filter(None, (machine, of_hpcc.get(first.metric, first.case.benchmark))))
    varying = {
        "ranks": len({point.quantity.case.ranks for point in points}) > 1,
        "bytes": len({point.quantity.case.bytes for point in points}) > 1,
    }
    shown = []
    for point in points:
        case = point.quantity.case
        words = [counted(case.ranks, "rank")] if varying["ranks"] else []
        words += [format_size(case.bytes)] if varying["bytes"] and case.bytes is not None else []
        words += [f"{name} {value}" for name, value in case.axes.items() if name == "distance"]
        value = format_value(point.value, point.unit)
        shown.append(f"{' '.join(words)}: {value}" if words else value)
    return f"{name} {', '.join(shown)}"
