"""Writes docs/reference/validation.md.

Predictions of every model next to published results of its machine.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kiviat.analysis.aggregate.known_errors import errors_by_kind, left_out
from kiviat.analysis.published.question import all_rows
from kiviat.analysis.published.text import about_text, answer_text, error_text, evidence_text, published_text
from kiviat.analysis.published.verdict import Verdict
from kiviat.machine.modelled.machine import Machine
from kiviat.model.null import null_error
from kiviat.model.sensitivity import Effect
from kiviat.record.units import UNAVAILABLE
from kiviat.record.validated import ComparedModel

_HEAD = """\
# Validation

Predictions of the models in `machines/`, compared with published results of the machines. Written by
`kiviat model validate --write` on {date}, without later edits. All predictions are simulated
([how models are made and validated](../howto/models.md)).

A machine has up to two tables ([words](../adr/0010-words-for-errors.md)). **Fitted** rows made the model:
their errors are development, and usually small. Rows **left out** were not fitted to: their errors are
cross-validated as far as runs go, but most rows were known when mechanisms were chosen, so none of them is a
prediction. Rows that are kept back will judge the models.

An error is predicted / published - 1; if 0 % was published, it is in percentage points. Rows that say
"more than" or "less than", and statements in words, hold or fail. A best size and a difference have no
meaningful relative error: their rows are in the sections of the machines, but in no median and no largest
error. `published/` contains the place of each row in its paper. *Before* is the earlier version of the
model, by its hash.
"""


@dataclass(frozen=True)
class ModelVerdict:
    """A verdict and, if requested, the effects of assumed numbers on it."""

    verdict: Verdict
    causes: Sequence[Effect] = ()


@dataclass(frozen=True)
class Earlier:
    """What the earlier version of a model said, by row: its error, or whether it held."""

    version: int
    hash: str
    errors: Mapping[str, float]
    holds: Mapping[str, bool]


def read_earlier(path: Path) -> dict[str, Earlier]:
    """Return what earlier versions said, by machine, as kept in a file when they were replaced."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return {name: Earlier(of["version"], of["hash"], of["errors"], of["holds"]) for name, of in data.items()}


@dataclass(frozen=True)
class ModelResult:
    """Everything that was judged of a model, rows it was fitted to apart, and what is stored of it."""

    machine: Machine
    judged: Sequence[ModelVerdict]
    fitted: Sequence[Verdict]
    stored: ComparedModel


def page(
    results: Sequence[ModelResult],
    date: str,
    across: Sequence[Verdict] = (),
    earlier: Mapping[str, Earlier] | None = None,
) -> str:
    """Return the page in Markdown: an overview, errors by kind, a section per machine, rows across machines.

    `earlier` is what versions before said, by machine.
    """
    before = earlier or {}
    parts = [_HEAD.format(date=date), _OVERVIEW]
    parts += [_overview(one, before.get(one.machine.name)) for one in results]
    parts += ["", _BY_KIND]
    for one in results:
        parts += _kinds(one.stored, before.get(one.machine.name))
    parts.append("")
    for one in results:
        parts += _section(one, before.get(one.machine.name))
    return "\n".join([*parts, *_across(across)])


_OVERVIEW = """\
Each independent quantity that was left out counts as one value.

| machine | values left out | median error | largest | before: median | orderings | before | not simulated |
|---|---|---|---|---|---|---|---|"""
_BY_KIND = """\
## By kind

One row for each independent quantity. The null model is the machine's own ping-pong times the mean ratio of
other machines to theirs; **no skill** where it has the smaller error.

| machine | kind | | rows | median error | largest | null model | before |
|---|---|---|---|---|---|---|---|"""


def _overview(result: ModelResult, earlier: Earlier | None) -> str:
    found, judged = left_out(errors_by_kind(result.stored.rows)), result.judged
    numbers = [abs(error) for one in found for error in one.errors]
    orders = {one.verdict.row.id: one.verdict.holds for one in judged if one.verdict.holds is not None}
    left = sum(1 for one in judged if one.verdict.answer is None)
    middle, worst = (_percent(of(numbers)) if numbers else "–" for of in (statistics.median, max))
    held = f"{sum(map(bool, orders.values()))} of {len(orders)} hold" if orders else "–"
    known = [earlier.holds[name] for name in orders if name in earlier.holds] if earlier else []
    cells = (
        f"[{result.machine.name}](#{result.machine.name})",
        len(numbers),
        middle,
        worst,
        _median_before([row for one in found for row in one.rows], earlier),
        held,
        f"{sum(known)} of {len(known)}" if known else "–",
        left,
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _median_before(rows: Sequence[str], earlier: Earlier | None) -> str:
    old = [abs(earlier.errors[name]) for name in rows if name in earlier.errors] if earlier else []
    return _percent(statistics.median(old)) if old else "–"


def _kinds(stored: ComparedModel, earlier: Earlier | None) -> Iterator[str]:
    rows = {row.id: row for row in all_rows()}
    for of in sorted(errors_by_kind(stored.rows), key=lambda one: (one.kind, one.fitted)):
        median = statistics.median(map(abs, of.errors))
        nulls = [error for name in of.rows if name in rows and (error := null_error(rows[name])) is not None]
        null = statistics.median(map(abs, nulls)) if len(nulls) == len(of.rows) else None
        said = "–" if null is None else _percent(null)
        if null is not None and null <= median:
            said += ", **no skill**"
        cells = (
            *(stored.name, of.kind, "fitted" if of.fitted else "left out", len(of.errors)),
            *(_percent(median), _percent(abs(of.worst)), said, _median_before(of.rows, earlier)),
        )
        yield "| " + " | ".join(map(str, cells)) + " |"


def _across(across: Sequence[Verdict]) -> Iterator[str]:
    if not across:
        return
    judged = [one.holds for one in across if one.holds is not None]
    yield "## Across machines\n"
    yield (
        f"{sum(judged)} of {len(judged)} orderings and bounds hold. Power and the ratios of HPC Challenge's "
        "kernels are not asked for here: machine files declare power, and `kiviat study P4` judges the "
        "ratios.\n"
    )
    yield "| row | what | published | predicted | error | values |"
    yield "|---|---|---|---|---|---|"
    for one in across:
        cells = [one.row.id, about_text(one.row), *columns(one), evidence_text(one)]
        yield "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
    yield ""


def _section(result: ModelResult, earlier: Earlier | None) -> Iterator[str]:
    machine, judged = result.machine, result.judged
    yield f"## {machine.name}\n"
    yield f"{machine.title}. Model version {machine.version}, hash `{machine.hash[:16]}`."
    if earlier:
        yield f"Before: version {earlier.version}, hash `{earlier.hash[:16]}`."
    if machine.uncalibrated:
        yield f"\n**Uncalibrated**: {machine.uncalibrated}"
    elif machine.calibrated_on:
        yield f"\nCalibrated on {', '.join(machine.calibrated_on)}."
    yield ""
    if not judged and not result.fitted:
        yield "Nothing was published that it could be held to.\n"
        return
    own = [ModelVerdict(one) for one in result.fitted]
    for words, found in (("Left out of the fit:", judged), ("Fitted:", own)):
        if found:
            yield from _rows(words, found, earlier)
    if worse := [*_worse([*judged, *own], earlier)]:
        yield f"Worse than before: {'; '.join(worse)}.\n"
    for name, lines in (("The model leaves out", machine.losses), ("Open", machine.open_questions)):
        if lines:
            yield f"{name}: {'; '.join(line.rstrip('.') for line in lines)}.\n"


def _rows(words: str, judged: Sequence[ModelVerdict], earlier: Earlier | None) -> Iterator[str]:
    sensitive = any(one.causes for one in judged)
    yield f"{words}\n"
    before = " before |" if earlier else ""
    yield (
        "| row | what | published | predicted | error |" + before + " ± 25 % of what is assumed |" * sensitive
    )
    yield "|---|---|---|---|---|" + "---|" * (bool(earlier) + sensitive)
    for one in judged:
        cells = [one.verdict.row.id, about_text(one.verdict.row), *columns(one.verdict)]
        cells += [_before(one.verdict.row.id, earlier)] if earlier else []
        cells += ["; ".join(map(effect_text, one.causes[:4]))] if sensitive else []
        yield "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
    yield ""


def _before(name: str, earlier: Earlier) -> str:
    if name in earlier.holds:
        return "holds" if earlier.holds[name] else "fails"
    return f"{100 * earlier.errors[name]:+.1f} %" if name in earlier.errors else "–"


def _worse(judged: Sequence[ModelVerdict], earlier: Earlier | None) -> Iterator[str]:
    """Yield rows that held and fail now, and those whose error has grown by a percentage point or more."""
    if not earlier:
        return
    for one in (each.verdict for each in judged):
        name = one.row.id
        if one.holds is not None:
            if earlier.holds.get(name) and not one.holds:
                yield f"{name} held"
        elif one.error is not None and name in earlier.errors:
            old = abs(earlier.errors[name])
            if abs(one.error) >= old + 0.01:
                yield f"{name} ({100 * earlier.errors[name]:+.0f} % → {100 * one.error:+.0f} %)"


def columns(verdict: Verdict) -> list[str]:
    """Return the cells: published, predicted, and the error, "holds" or "fails", or why there is none."""
    return [published_text(verdict.row), answer_text(verdict), error_text(verdict)]


def effect_text(effect: Effect) -> str:
    """Return an effect as text, such as "memory.bandwidth −8 % / +5 %"."""
    shown = (UNAVAILABLE if change is None else f"{100 * change:+.0f} %" for change in effect.changes)
    return f"{effect.place} {' / '.join(shown)}"
