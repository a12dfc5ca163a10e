"""Comparison of two runs, case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kiviat.analysis import compare as analysis
from kiviat.analysis.aggregate.summary import Summary, primary
from kiviat.analysis.compare import THRESHOLD, Change, Comparison
from kiviat.api.arguments import fraction
from kiviat.api.runs import Named, Run, Runs, named_one, read_one
from kiviat.api.table import Table, Tabular
from kiviat.record import InputError
from kiviat.record.units import counted, listed
from kiviat.report.html import fragment

_CORRECTED = "after correction for the number of comparisons"


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
        untested = [entry.change.note for entry in self.details.cases if entry.change.verdict == "no verdict"]
        if len(set(untested)) > 1:  # by kind: how many launches were disturbed differs from case to case
            untested = [note.partition(":")[0] for note in untested]
        reason, times = Counter(untested).most_common(1)[0] if untested else ("", 0)
        of = f" (in {times} of {counted(len(untested), 'case')})" if times < len(untested) else ""
        if self.verdict == "no verdict":
            return f"no verdict: {reason}{of}"
        without = f"; {counted(len(untested), 'case')} without a verdict: {reason}{of}" if untested else ""
        return self._concluded() + without

    def _concluded(self) -> str:
        """Return the verdict with what it rests on."""
        if self.verdict == "no difference":
            return f"no difference is shown, {_CORRECTED}"
        if self.verdict == "incomplete":
            lost, whole = len(self.details.lost), len(self.details.cases) + len(self.details.only_a)
            return (
                f"incomplete: {lost} of {counted(whole, 'case')} of A {'is' if lost == 1 else 'are'} missing "
                "in B or cannot be judged there; none of the others is shown to be worse"
            )
        none_worse = ", and none is shown to be worse" if self.verdict == "better" else ""
        if any(self._survives(entry.change) for entry in self.details.cases):
            return f"{self.verdict}: some cases are, even {_CORRECTED}{none_worse}"
        means = [
            f"all {counted(group.cases, 'case')}"
            if group.name == "all"
            else f"{group.name} ({counted(group.cases, 'case')})"
            for group in self.details.groups
            if self._survives(group.change)
        ]
        are = f"mean of {listed(means)} is" if len(means) == 1 else f"means of {listed(means)} are"
        single = f"no single case is shown to be, but the geometric {are}"
        return f"{self.verdict}: {single}, even {_CORRECTED}{none_worse}"

    def _survives(self, change: Change) -> bool:
        return change.survives and change.verdict == self.verdict

    @property
    def table(self) -> Table:
        """One row for each case: values of both runs, ratio b/a with its 95 % interval, verdict.

        Rows of cases that only one run has, and of groups of cases, follow: a group has a name in place of
        the case's, the number of its cases, and the change of their geometric mean. `lost` cases make the
        verdict "incomplete".
        """
        details = self.details
        lost = frozenset(details.lost)
        rows = [
            _row(entry.change, entry.case, entry.a, entry.b.median, entry.case in lost)
            for entry in details.cases
        ]
        for side, only in (("A", details.only_a), ("B", details.only_b)):
            absent = Change(None, note=f"only in {side}")
            rows += [_row(absent, case, lost=case in lost) for case in only]
        rows += [_row(group.change, group=group.name, cases=group.cases) for group in details.groups]
        return Table.of(rows)

    def __repr__(self) -> str:
        return f"<{self.details.b} against {self.details.a}: {self.conclusion}>"

    def _repr_html_(self) -> str:
        title = f"{self.details.b} against {self.details.a}:"
        shown = ("case", "unit", "a", "b", "ratio", "low", "high", "verdict")
        groups_first = sorted(self.rows(), key=lambda row: row["group"] is None)  # long tables are cut
        body = fragment.table(shown, [[_shown(row, name) for name in shown] for row in groups_first])
        return fragment.heading(title, self.conclusion) + body


def _row(
    change: Change,
    case: str | None = None,
    a: Summary | None = None,
    b: float | None = None,
    lost: bool = False,
    group: str | None = None,
    cases: int = 1,
) -> dict[str, Any]:
    """Return the row of a case with its value of both runs, or of a group of cases."""
    return {
        "case": case,
        "group": group,
        "cases": cases,
        "metric": a and a.metric,
        "unit": a and a.unit,
        "a": a and a.median,
        "b": b,
        "lost": lost,
        **{name: getattr(change, name) for name in Change.__slots__},
    }


def _shown(row: Mapping[str, Any], name: str) -> object:
    """Return what a notebook shows; groups have a ratio, but no values of their own."""
    if row["group"] is None:
        return row[name]
    if name == "case":
        return f"{row['group']}, {counted(row['cases'], 'case')}"
    return "" if row[name] is None else row[name]


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
