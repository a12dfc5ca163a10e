"""The claim engine: answers a published row's question from results, and judges the answer."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from kiviat.analysis.published.cases import measured, quantities
from kiviat.analysis.published.forms import FORMS
from kiviat.analysis.published.question import (
    Answer,
    Lookup,
    Point,
    Question,
    Row,
    Subject,
    rows_about,
)
from kiviat.analysis.scaling.series import Study
from kiviat.record.published import Claim, Fact

# Relative error up to which a model reproduces an exact row to which it was fitted.
TOLERANCE = 0.03

AGREES, DISAGREES, CANNOT_TELL = "agrees", "disagrees", "cannot tell"
DISTURBED = "other programs disturbed the measurement"
OVERSUBSCRIBED = "more ranks than cores"
TOO_FEW = "too few launches for an interval"
WITHIN = "within the variation between launches"

_BOUNDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "ratio<=": operator.le,
    ">": operator.gt,
    "ratio>": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Verdict:
    """The verdict of results on a published row.

    `error` is relative, for numbers; `holds` is for orderings and bounds; `words` are the numbers behind the
    verdict, or the reason if there is neither. `study` is the scaling study compared, if any; `predicted`:
    the answer rests on a model; `series` are the points from which it was computed.
    """

    row: Row
    claim: Claim | None = None
    answer: Answer = None
    error: float | None = None
    holds: bool | None = None
    words: str = ""
    study: Study | None = None
    predicted: bool = False
    series: tuple[tuple[Point, ...], ...] = ()

    @property
    def verdict(self) -> str:
        """Return AGREES or DISAGREES for orderings and bounds; CANNOT_TELL if there is no answer."""
        if self.holds is None:
            return CANNOT_TELL
        return AGREES if self.holds else DISAGREES


def questions(row: Row, subject: Subject) -> Iterator[Question]:
    """Yield a question for each claim of a row; for a row without claims, the question of its metric.

    Claims about scaling, which have no cases of their own (see `curves`), are omitted.
    """
    posed = [claim for claim in row.fact.claims if claim.asks in FORMS]
    for claim in posed:
        yield _fitting(_question(row, claim, subject), subject)
    if not row.fact.claims:
        wants, reason = measured(row)
        answer = _answerer("best", Claim("best"), row)
        yield _fitting(Question(row, None, (wants,) if wants else (), answer, reason), subject)


def _question(row: Row, claim: Claim, subject: Subject) -> Question:
    series = tuple(of for one in claim.series for of in quantities(one, subject))
    if claim.series and any(len(of) < 2 for of in series) and claim.asks in _CURVES:
        reason = f"{subject.limit.format(subject.cores)}: too few to compare numbers of ranks"
        return Question(row, claim, not_asked=reason)
    return Question(row, claim, series, _answerer(claim.asks, claim, row))


_CURVES = ("falls", "rises", "alike", "best_first")


def _answerer(asks: str, claim: Claim, row: Row) -> Callable[[Sequence[Sequence[Point]]], Answer]:
    return lambda series: FORMS[asks](series, claim, row)


def _fitting(question: Question, subject: Subject) -> Question:
    own = [one.case for of in question.series for one in of if not one.machine]
    most = max((case.reach for case in own), default=0)
    enough = max(
        subject.cores or 0, max((subject.reach for case in own if case.reach > case.ranks), default=0)
    )
    if subject.cores is not None and all(case.per_node is None for case in own) and most > enough:
        reason = f"it takes {most} ranks, and {subject.limit.format(subject.cores)}"
        return Question(question.row, question.claim, not_asked=reason)
    return question


def judge(question: Question, look: Lookup) -> Verdict:
    """Return the verdict on a question; `look` returns the value of a quantity in the results."""
    row, claim = question.row, question.claim
    if question.not_asked:
        return Verdict(row, claim, words=question.not_asked)
    found = [[(one, look(one)) for one in of] for of in question.series]
    predicted = any(value.predicted for of in found for _, value in of)
    if (lacking := next((value for of in found for _, value in of if value.value is None), None)) is not None:
        return Verdict(row, claim, words=lacking.reason or "the results do not contain this quantity")
    series = tuple(tuple(Point(one, value.value or 0.0, value.unit) for one, value in of) for of in found)
    if any(value.disturbed for of in found for _, value in of):
        return Verdict(row, claim, words=DISTURBED, predicted=predicted, series=series)
    if any(value.oversubscribed for of in found for _, value in of):
        return Verdict(row, claim, words=OVERSUBSCRIBED, predicted=predicted, series=series)
    verdict = replace(judged(row, claim, question.answer(series), predicted), series=series)
    if verdict.holds is None:
        return verdict
    # Predictions and counted bytes do not vary between launches.
    varying = {
        (place, number): (value.low, value.high)
        for place, of in enumerate(found)
        for number, (_, value) in enumerate(of)
        if not value.predicted and value.unit != "B"
    }
    known = {at: (low, high) for at, (low, high) in varying.items() if low is not None and high is not None}
    if len(known) < len(varying):
        return Verdict(row, claim, words=TOO_FEW, predicted=predicted, series=series)
    varied = (judged(row, claim, question.answer(one)) for one in _at_ends(series, known))
    if any(one.holds is not verdict.holds for one in varied):
        return Verdict(row, claim, words=WITHIN, predicted=predicted, series=series)
    return verdict


def _at_ends(
    series: Sequence[Sequence[Point]], ends: Mapping[tuple[int, int], tuple[float, float]]
) -> Iterator[Sequence[Sequence[Point]]]:
    """Yield the series with every two values at the ends of their intervals, in all combinations.

    `ends` are the intervals, by series and position; two values are all that an ordering compares at a time.
    """
    for moved in combinations(ends, min(2, len(ends))):
        for values in product(*(ends[at] for at in moved)):
            at_end = dict(zip(moved, values, strict=True))
            yield [
                [
                    replace(point, value=at_end[place, number]) if (place, number) in at_end else point
                    for number, point in enumerate(of)
                ]
                for place, of in enumerate(series)
            ]


def judged(row: Row, claim: Claim | None, answer: Answer, predicted: bool = False) -> Verdict:
    """Return the verdict on an answer in the unit of the row."""
    if answer is None:
        return Verdict(row, claim, words="the results do not contain this quantity")
    fact = row.number
    if fact is None or isinstance(answer, bool):
        return Verdict(row, claim, answer, holds=bool(answer), predicted=predicted)
    holds = keeps_bound(fact.relation, fact.value, float(answer))
    error = float(answer) / fact.value - 1 if fact.value else None
    return Verdict(row, claim, answer, error, holds, predicted=predicted)


def keeps_bound(relation: str, published: float, value: float) -> bool | None:
    """Return whether `value` satisfies a published bound; None if the row is not a bound."""
    bound = _BOUNDS.get(relation)
    return None if bound is None else bound(value, published)


def validation(subject: Subject) -> list[Question]:
    """Return the questions of the rows that serve to validate a model of the machine."""
    return [
        question
        for row in rows_about(subject)
        if row.fact.use == "validate"
        for question in questions(row, subject)
        if not question.across_machines
    ]


def conflicts(asked: Sequence[Question]) -> dict[str, list[str]]:
    """Return, for each row, other exact rows about the same quantities whose values contradict it."""
    contradicting: dict[str, list[str]] = {}
    exact = [question for question in asked if is_exact(question)]
    for question in exact:
        for other in exact:
            if question is not other and _about(question) == _about(other) and _apart(question, other):
                contradicting.setdefault(question.row.id, []).append(other.row.id)
    return contradicting


def is_exact(question: Question) -> bool:
    """Return True if a model fitted to the row must reproduce it."""
    fact = question.row.number
    return bool(
        question.series and fact and fact.relation == "=" and fact.exactness in ("exact_table", "exact_text")
    )


def _about(question: Question) -> tuple[object, ...]:
    fact = question.row.number
    quantities = (one for of in question.series for one in of)
    return fact.unit if fact else "", *(
        (one.metric, one.case.benchmark, one.case.ranks, one.case.bytes, *one.case.axes.items())
        for one in quantities
    )


def _apart(one: Question, other: Question) -> bool:
    assert isinstance(one.row.fact, Fact) and isinstance(other.row.fact, Fact)
    low, high = sorted((one.row.fact.value, other.row.fact.value))
    return high > low * (1 + TOLERANCE) / (1 - TOLERANCE)
