"""Writes docs/reference/validation.md.

Predictions of every model next to published results of its machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kiviat.analysis.published.text import about_text, answer_text, error_text, evidence_text, published_text
from kiviat.analysis.published.verdict import Verdict
from kiviat.machine.modelled.machine import Machine
from kiviat.model.sensitivity import Effect
from kiviat.record.units import UNAVAILABLE

_HEAD = """\
# Validation

Predictions of the models in `machines/`, compared with published results of the machines. Written by
`kiviat model validate --write` on {date}, without later edits. All predictions are simulated, and none of
the rows below was used to make a model: rows used for that are in each machine's `calibrated_on`
([how models are made and validated](../howto/models.md)).

An error is predicted / published - 1; if 0 % was published, it is in percentage points. Rows that say
"more than" or "less than", and statements in words, hold or fail. `published/` contains the place of
each row in its paper.
"""


@dataclass(frozen=True)
class ModelVerdict:
    """A verdict and, if requested, the effects of assumed numbers on it."""

    verdict: Verdict
    causes: Sequence[Effect] = ()


def page(
    machines: Sequence[tuple[Machine, Sequence[ModelVerdict]]], date: str, across: Sequence[Verdict] = ()
) -> str:
    """Return the page in Markdown: an overview, a section per machine, then rows across machines."""
    parts = [_HEAD.format(date=date), *_overview(machines)]
    for machine, judged in machines:
        parts += _section(machine, judged)
    parts += _across(across)
    return "\n".join(parts)


def _overview(machines: Sequence[tuple[Machine, Sequence[ModelVerdict]]]) -> Iterator[str]:
    yield "| machine | rows with a number | median error | largest | orderings | not simulated |"
    yield "|---|---|---|---|---|---|"
    for machine, judged in machines:
        numbers = errors(judged)
        orders = [one.verdict.holds for one in judged if one.verdict.holds is not None]
        left = sum(1 for one in judged if one.verdict.answer is None)
        middle = f"{100 * statistics.median(numbers):.0f} %" if numbers else "–"
        worst = f"{100 * max(numbers):.0f} %" if numbers else "–"
        held = f"{sum(orders)} of {len(orders)} hold" if orders else "–"
        yield f"| [{machine.name}](#{machine.name}) | {len(numbers)} | {middle} | {worst} | {held} | {left} |"
    yield ""


def _across(across: Sequence[Verdict]) -> Iterator[str]:
    if not across:
        return
    judged = [one.holds for one in across if one.holds is not None]
    yield "## Across machines\n"
    yield f"{sum(judged)} of {len(judged)} orderings and bounds hold.\n"
    yield "| row | what | published | predicted | error | values |"
    yield "|---|---|---|---|---|---|"
    for one in across:
        cells = [one.row.id, about_text(one.row), *columns(one), evidence_text(one)]
        yield "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
    yield ""


def errors(judged: Sequence[ModelVerdict]) -> list[float]:
    """Return the absolute errors of rows with a value rather than a bound."""
    return [
        abs(one.verdict.error)
        for one in judged
        if one.verdict.error is not None and one.verdict.holds is None
    ]


def _section(machine: Machine, judged: Sequence[ModelVerdict]) -> Iterator[str]:
    yield f"## {machine.name}\n"
    yield f"{machine.title}. Model version {machine.version}, hash `{machine.hash[:16]}`."
    if machine.uncalibrated:
        yield f"\n**Uncalibrated**: {machine.uncalibrated}"
    elif machine.calibrated_on:
        yield f"\nCalibrated on {', '.join(machine.calibrated_on)}."
    yield ""
    if not judged:
        yield "Nothing was published that it could be held to.\n"
        return
    sensitive = any(one.causes for one in judged)
    yield "| row | what | published | predicted | error |" + " ± 25 % of what is assumed |" * sensitive
    yield "|---|---|---|---|---|" + "---|" * sensitive
    for one in judged:
        cells = [one.verdict.row.id, about_text(one.verdict.row), *columns(one.verdict)]
        cells += ["; ".join(map(effect_text, one.causes[:4]))] if sensitive else []
        yield "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
    yield ""
    for name, lines in (("The model leaves out", machine.losses), ("Open", machine.open_questions)):
        if lines:
            yield f"{name}: {'; '.join(line.rstrip('.') for line in lines)}.\n"


def columns(verdict: Verdict) -> list[str]:
    """Return the cells: published, predicted, and the error, "holds" or "fails", or why there is none."""
    return [published_text(verdict.row), answer_text(verdict), error_text(verdict)]


def effect_text(effect: Effect) -> str:
    """Return an effect as text, such as "memory.bandwidth −8 % / +5 %"."""
    shown = (UNAVAILABLE if change is None else f"{100 * change:+.0f} %" for change in effect.changes)
    return f"{effect.place} {' / '.join(shown)}"
