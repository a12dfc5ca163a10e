"""One case over all its launches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.intervals import Floats, median_intervals
from kiviat.record.errors import InputError
from kiviat.record.types import Row, Scalar


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric of one case of one run, over its launches. Values are in `unit`.

    `median` is the median of the launch medians; `low` and `high` bound it at 95 % where there are
    enough launches (None otherwise). `within` is the relative half width of the interval within a
    launch (median over launches), `spread` the relative range of the launch medians. `notes` has what
    launches said in different words one after the other.
    """

    run: str
    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    metric: str
    unit: str
    better: str
    clock: str
    sync: str | None
    mode: str | None
    oversubscribed: bool
    launches: int
    samples: int
    median: float
    low: float | None
    high: float | None
    minimum: float | None
    mean: float | None
    p90: float | None
    p99: float | None
    within: float | None
    spread: float | None
    converged: bool
    launch_medians: tuple[float, ...]
    notes: Mapping[str, str]


Key = tuple[str, str, str]


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """One summary per run, case and metric, in the order in which they first appear.

    Only rows count whose outcome is ok, whose check has not failed, and which have a value: the median,
    or the mean where nothing else was reported (ingested records). A case measured again in the same
    launch replaces the earlier row: it is not another launch. Rows without a launch (ingested) each
    stand for one.

    Raises InputError where one case of one run mixes clocks or substrates.
    """
    groups: dict[Key, dict[int, Row]] = {}
    for row in rows:
        if row.outcome != "ok" or row.check == "failed" or row.metric is None or _value(row) is None:
            continue
        launches = groups.setdefault((row.run, row.case, row.metric), {})
        launches[len(launches) if row.launch is None else row.launch] = row

    by_size: dict[int, dict[Key, list[Row]]] = {}
    for key, launches in groups.items():
        by_size.setdefault(len(launches), {})[key] = [launches[index] for index in sorted(launches)]
    summaries = {key: summary for cases in by_size.values() for key, summary in _equal_sized(cases).items()}
    return [summaries[key] for key in groups]


def studies(summaries: Iterable[Summary]) -> frozenset[str]:
    """The measured benchmarks that report quantities of their own instead of a time."""
    measured = [summary for summary in summaries if summary.clock != "reported"]
    timed = {summary.benchmark for summary in measured if summary.metric == "time"}
    return frozenset(summary.benchmark for summary in measured) - timed


def _equal_sized(cases: Mapping[Key, Sequence[Row]]) -> dict[Key, Summary]:
    """Summaries of cases with the same number of launches: the arithmetic is done for all at once."""
    columns = cases.values()
    values = _matrix([[_value(row) for row in rows] for rows in columns])
    low_high = median_intervals(values)
    intervals = [(None, None)] * len(cases) if low_high is None else low_high.tolist()
    medians = np.median(values, axis=1)
    ci_low = _matrix([[row.ci_low for row in rows] for rows in columns])
    ci_high = _matrix([[row.ci_high for row in rows] for rows in columns])
    with np.errstate(divide="ignore", invalid="ignore"):
        within = median_of_known((ci_high - ci_low) / 2 / values)
        spread = np.ptp(values, axis=1) / medians
    p90 = median_of_known(_matrix([[row.p90 for row in rows] for rows in columns]))
    p99 = median_of_known(_matrix([[row.p99 for row in rows] for rows in columns]))

    summaries = {}
    for i, ((run, case, metric), rows) in enumerate(cases.items()):
        first = rows[0]
        _refuse_mixture(rows)
        means = [row.mean for row in rows if row.mean is not None]
        summaries[run, case, metric] = Summary(
            run=run,
            case=case,
            benchmark=first.benchmark,
            ranks=first.ranks,
            bytes=first.bytes,
            axes=first.axes,
            metric=metric,
            unit=first.unit or "1",
            better=first.better or "lower",
            clock=first.clock,
            sync=_common([row.sync for row in rows]),
            mode=_common([row.mode for row in rows]),
            oversubscribed=any(row.oversubscribed for row in rows),
            launches=len(rows),
            samples=sum(row.count for row in rows),
            median=float(medians[i]),
            low=intervals[i][0],
            high=intervals[i][1],
            minimum=min((row.min for row in rows if row.min is not None), default=None),
            mean=sum(means) / len(means) if means else None,
            p90=_known(p90[i]),
            p99=_known(p99[i]),
            within=_known(within[i]),
            spread=_known(spread[i]) if len(rows) > 1 else None,
            converged=all(row.stopped_by in ("target", "fixed") for row in rows),
            launch_medians=tuple(values[i].tolist()),
            notes=_notes([row.notes for row in rows]),
        )
    return summaries


def _value(row: Row) -> float | None:
    return row.mean if row.p50 is None else row.p50


def _refuse_mixture(rows: Sequence[Row]) -> None:
    for what in ("clock", "substrate"):
        seen = sorted({getattr(row, what) for row in rows})
        if len(seen) > 1:
            raise InputError(
                f"case {rows[0].case!r} of run {rows[0].run!r} mixes {what}s {', '.join(seen)}: "
                "values of different origin are not pooled; keep them in separate runs"
            )


def _common(seen: Sequence[str | None]) -> str | None:
    """What all launches have, or "mixed"."""
    return seen[0] if len(set(seen)) == 1 else "mixed"


def _notes(of_launches: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    first = of_launches[0]
    if all(notes == first for notes in of_launches):
        return first
    said: dict[str, dict[str, None]] = {}
    for notes in of_launches:
        for name, words in notes.items():
            said.setdefault(name, {})[words] = None
    return {name: "; ".join(words) for name, words in said.items()}


def _matrix(values: Sequence[Sequence[float | None]]) -> Floats:
    """Cases × launches; None becomes nan."""
    return np.array(values, dtype=np.float64)


def median_of_known(values: Floats) -> Floats:
    """The median of each row's finite values; nan where there is none. (nanmedian is slow and warns.)"""
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=1)  # nan sorts last
    known = np.isfinite(ordered).sum(axis=1)
    row = np.arange(len(ordered))
    lower, upper = np.maximum(known - 1, 0) // 2, known // 2
    return np.asarray((ordered[row, lower] + ordered[row, upper]) / 2)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
