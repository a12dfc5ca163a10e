"""Findings about predictions, compared with the model's known errors on published rows.

A finding that compares two predicted quantities is stated only if the factor between them is larger than the
model's typical error on published rows of the same kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kiviat.analysis.aggregate.known_errors import (
    PAGE,
    KnownErrors,
    error_text,
    kind_of,
    known_errors,
)
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.findings.finding import ABOUT, Finding
from kiviat.record.run import Run
from kiviat.record.units import three_digits

# Kinds of quantities whose errors the evidence also mentions, although the finding does not compare them.
_BESIDE = {"contention": "b_eff"}
_IMPORTANCE = 0.3


def weighed(found: Iterable[Finding], summaries: Sequence[Summary], run: Run) -> Iterator[Finding]:
    """Yield the findings of a run.

    For a model, a finding smaller than the model's errors is replaced by "Cannot say …".

    If no error of the kinds concerned is known, the detail says that no published value tests the
    model in this respect.
    """
    model = run.machine.model
    if model is None:
        yield from found
        return
    known = known_errors(model)
    by_name = {(one.case, one.metric): one for one in summaries}
    for finding in found:
        yield finding if finding.factor is None else _weighed(finding, finding.factor, known, by_name)


def _weighed(
    finding: Finding, factor: float, known: KnownErrors, by_name: Mapping[tuple[str, str], Summary]
) -> Finding:
    named = [by_name[one] for one in finding.evidence if one in by_name]
    kinds = dict.fromkeys(kind_of(one.benchmark, one.metric, one.ranks, one.bytes) for one in named)
    kinds.pop(_BESIDE.get(finding.kind, ""), None)
    errors = {kind: known.of(kind) if kind else None for kind in kinds}
    tested = [error for error in errors.values() if error]
    worst = max(tested, key=lambda one: one.spread, default=None)
    if worst is None or worst.spread < max(factor, 1 / factor):
        untested = [kind for kind, error in errors.items() if not error]
        if tested and not untested:
            return finding
        what = (" and ".join(filter(None, untested)) or "part of this") if tested else "this"
        told = f"No published value tests the model on {what}."
        return replace(finding, detail=f"{finding.detail} {told}".strip())
    about = ABOUT.get(finding.kind, "this")
    return Finding(
        finding.kind,
        min(finding.importance, _IMPORTANCE),
        f"Cannot say {about}: the model's error is larger than what it finds",
        f"It finds a factor of up to {three_digits(max(factor, 1 / factor))}, but its predictions of such "
        f"quantities are off by a factor of {three_digits(worst.spread)}: "
        f"{worst.kind} {error_text(known, worst.kind)} ({PAGE}).",
        finding.evidence,
    )
