"""Compares predictions with published results: errors of numbers, and orderings that hold or fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.model.question import Answer, Question
from kiviat.record.published import Fact, keeps_bound
from kiviat.record.types import Record

# Relative error within which a model meets an exact row that it was fitted to.
TOLERANCE = 0.03


@dataclass(frozen=True)
class Verdict:
    """`error` is relative, for numbers; `holds` is for orderings and bounds.

    `reason` explains if both lack.
    """

    question: Question
    predicted: Answer
    error: float | None = None
    holds: bool | None = None
    reason: str = ""


def judge(question: Question, records: Sequence[Record]) -> Verdict:
    """Return the verdict on the question from the records of its cases."""
    if question.not_asked:
        return Verdict(question, None, reason=question.not_asked)
    predicted = question.answer(records)
    if predicted is None:
        failed = next((record for record in records if record.outcome != "ok"), None)
        reason = f"{failed.case} failed: {failed.reason}" if failed else "the simulation has no such quantity"
        return Verdict(question, None, reason=reason)
    fact = question.row.number
    if fact is None or isinstance(predicted, bool):
        return Verdict(question, predicted, holds=bool(predicted))
    holds = keeps_bound(fact.relation, fact.value, float(predicted))
    return Verdict(question, predicted, _error_of(predicted, fact), holds)


def _error_of(predicted: Answer, fact: Fact) -> float | None:
    return None if predicted is None or not fact.value else float(predicted) / fact.value - 1


def conflicts(questions: Sequence[Question]) -> dict[str, list[str]]:
    """Return, by row, other exact rows of the same cases whose values contradict it."""
    contradicting: dict[str, list[str]] = {}
    exact = [question for question in questions if is_exact(question)]
    for question in exact:
        for other in exact:
            if question is not other and _about(question) == _about(other) and _apart(question, other):
                contradicting.setdefault(question.row.id, []).append(other.row.id)
    return contradicting


def is_exact(question: Question) -> bool:
    """Return True if a model that was fitted to the row has to meet it."""
    fact = question.row.number
    return bool(
        question.wants and fact and fact.relation == "=" and fact.exactness in ("exact_table", "exact_text")
    )


def _about(question: Question) -> tuple[object, ...]:
    fact = question.row.number
    unit = fact.unit if fact else ""
    return unit, *((want.benchmark, want.bytes, tuple(want.axes.items())) for want in question.wants)


def _apart(one: Question, other: Question) -> bool:
    assert isinstance(one.row.fact, Fact) and isinstance(other.row.fact, Fact)
    low, high = sorted((one.row.fact.value, other.row.fact.value))
    return high > low * (1 + TOLERANCE) / (1 - TOLERANCE)
