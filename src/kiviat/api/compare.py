"""Comparison of two runs, case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kiviat.analysis import compare as analysis
from kiviat.analysis.aggregate.summary import Summary, primary
from kiviat.analysis.compare import THRESHOLD, Change, Comparison
from kiviat.api.arguments import fraction
from kiviat.api.runs import Named, Run, Runs, named_one, read_one
from kiviat.api.table import Table, Tabular
from kiviat.record import InputError
from kiviat.record.units import counted
from kiviat.report.html import fragment

_CORRECTED = "after correction for the number of comparisons"
_CONCLUSIONS = {
    "worse": f"worse: some cases are, even {_CORRECTED}",
    "better": f"better: some cases are, even {_CORRECTED}, and none is shown to be worse",
    "no difference": f"no difference is shown, {_CORRECTED}",
}


@dataclass(frozen=True)
class ComparisonResult(Tabular):
    """Run `b` against run `a`; `details` has cases, groups of cases, and cases that only one run has."""

    a: Run
    b: Run
    details: Comparison

    @property
    def verdict(self) -> str:
        """Return "worse", "incomplete", "better", "no difference" or "no verdict"."""
        return self.details.verdict

    @property
    def conclusion(self) -> str:
        """The verdict in a sentence, with how many cases have none, and the most frequent reason."""
        cases, lost = self.details.cases, self.details.lost
        untested = [entry.change.note for entry in cases if entry.change.verdict == "no verdict"]
        if len(set(untested)) > 1:  # by kind: how many launches were disturbed differs from case to case
            untested = [note.partition(":")[0] for note in untested]
        reason, times = Counter(untested).most_common(1)[0] if untested else ("", 0)
        of = f" (in {times} of {counted(len(untested), 'case')})" if times < len(untested) else ""
        if self.verdict == "no verdict":
            return f"no verdict: {reason}{of}"
        if self.verdict == "incomplete":
            whole = len(cases) + len(self.details.only_a)
            return (
                f"incomplete: B lacks {len(lost)} of {counted(whole, 'case')} of A, or has too few launches "
                "of them; none of the others is shown to be worse"
            )
        without = f"; {counted(len(untested), 'case')} without a verdict: {reason}{of}" if untested else ""
        return _CONCLUSIONS[self.verdict] + without

    @property
    def table(self) -> Table:
        """One row for each case: values of both runs, ratio b/a with its 95 % interval, verdict."""
        return Table.of(
            [
                {
                    "case": entry.case,
                    "metric": entry.a.metric,
                    "unit": entry.a.unit,
                    "a": entry.a.median,
                    "b": entry.b.median,
                    **{name: getattr(entry.change, name) for name in Change.__slots__},
                }
                for entry in self.details.cases
            ]
        )

    def __repr__(self) -> str:
        return f"<{self.details.b} against {self.details.a}: {self.conclusion}>"

    def _repr_html_(self) -> str:
        title = f"{self.details.b} against {self.details.a}:"
        shown = ("case", "unit", "a", "b", "ratio", "low", "high", "verdict")
        rows: Sequence[dict[str, Any]] = self.rows()
        body = fragment.table(shown, [[row[name] for name in shown] for row in rows])
        return fragment.heading(title, self.conclusion) + body


def compare(
    a: Named,
    b: Named,
    *,
    metric: str | None = None,
    threshold: float = THRESHOLD,
    tell: Callable[[str], None] | None = None,
) -> ComparisonResult:
    """Return how run `b` compares with run `a`, case by case, with a verdict over all.

    Each case is compared by its time, or by `metric`; changes up to the fraction `threshold` do not matter. A
    verdict needs at least five launches of each run, and no launch of the case disturbed by other programs.
    Remarks on the files are Python warnings; `tell`, of commands, is called with each instead. Raise
    InputError if the runs have no case in common, or times of different clocks.
    """
    least = fraction("threshold", threshold)
    first, before = _side(a, metric, tell)
    second, after = _side(b, metric, tell)
    return ComparisonResult(first, second, analysis.compare(before, after, least))


def _side(name: Named, metric: str | None, tell: Callable[[str], None] | None) -> tuple[Run, list[Summary]]:
    """Return the run and what is compared of it; the rows of two large runs would need much memory."""
    if tell is None:
        run = named_one(name, stacklevel=5)
    else:
        run = read_one(name)
        for remark in run.warnings:
            tell(remark)
    compared = primary(run.rows, metric)
    if not compared:
        wanted = f"results of metric {metric!r}" if metric else "results"
        raise InputError(f"run {run.id} has no {wanted} to compare; see `kiviat show {run.id}`")
    if not isinstance(name, Run | Runs):
        run.forget()
    return run, compared
