"""One case over all its launches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np

from kiviat.analysis.statistics.intervals import Floats, median_intervals
from kiviat.record.earlier_numbers import earlier_numbers
from kiviat.record.errors import InputError
from kiviat.record.traits import TraitsByName
from kiviat.record.types import Row, Scalar


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric of one case of one run, over its launches. Values are in `unit`.

    `median` is the median of the launch medians; `low` and `high` are its 95 % interval, None with too few
    launches. `within` is the relative half width of the interval within a launch (median over launches),
    `spread` the relative range of the launch medians. `notes` has the distinct notes of all launches,
    `numbers` those of the first launch. `disturbed` is the number of launches in which other programs or a
    hypervisor disturbed the case; `checked`: the results of all launches were checked.
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
    numbers: Mapping[str, float]
    disturbed: int = 0
    checked: bool = False


Key = tuple[str, str, str]


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Return one summary per run, case and metric, in order of first appearance.

    Rows are used if their outcome is ok, their check has not failed, and they have a value: the median, or
    the mean if nothing else was reported (ingested records). A case measured again in the same launch
    replaces the earlier row. Ingested rows, which have no launch, count as a launch each.

    Raise InputError if a case of a run mixes clocks, substrates or units.
    """
    groups: dict[Key, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        if row.outcome != "ok" or row.check == "failed" or row.metric is None:
            continue
        if row.p50 is None and row.mean is None:
            continue
        launches = groups[row.run, row.case, row.metric]
        launches[len(launches) if row.launch is None else row.launch] = row

    alike: dict[tuple[int, float], dict[Key, list[Row]]] = {}
    for key, launches in groups.items():
        measured = [launches[index] for index in sorted(launches)]
        alike.setdefault((len(measured), measured[0].level), {})[key] = measured
    summaries = {
        key: summary
        for (_, level), cases in alike.items()
        for key, summary in _equal_sized(cases, level).items()
    }
    return [summaries[key] for key in groups]


def studies(summaries: Iterable[Summary], traits: TraitsByName) -> frozenset[str]:
    """Return the names of benchmarks that report metrics of their own, as they describe themselves.

    Benchmarks without description are studies if they report no time and were not ingested.
    """
    timed: dict[str, bool] = defaultdict(bool)
    for summary in summaries:
        timed[summary.benchmark] |= summary.metric == "time" or summary.clock == "reported"
    return frozenset(name for name, has_time in timed.items() if traits.is_study(name, has_time))


# The facts about launches that a summary needs, in the order of the columns in _equal_sized.
_of_launch = attrgetter(
    *("p50", "mean", "min", "ci_low", "ci_high", "p90", "p99", "count"),
    *("clock", "substrate", "sync", "mode", "oversubscribed", "stopped_by", "notes", "disturbed", "check"),
)
_ENDED_WELL = {"target", "fixed"}


def _equal_sized(cases: Mapping[Key, Sequence[Row]], level: float) -> dict[Key, Summary]:
    """Return the summaries of cases with equal numbers of launches, computed for all cases at once."""
    columns = [tuple(zip(*map(_of_launch, rows), strict=True)) for rows in cases.values()]
    values = _matrix([_or_mean(column[0], column[1]) for column in columns])
    ci_low, ci_high, p90, p99 = (_matrix([column[place] for column in columns]) for place in range(3, 7))
    low_high = median_intervals(values, level)
    intervals = [(None, None)] * len(cases) if low_high is None else low_high.tolist()
    medians = np.median(values, axis=1)
    with np.errstate(all="ignore"):
        within = _finite(median_of_known((ci_high - ci_low) / 2 / values))
        spread = _finite(np.ptp(values, axis=1) / medians)
    p90s, p99s = _finite(median_of_known(p90)), _finite(median_of_known(p99))
    of_launches = values.tolist()  # Python's numbers: access to single elements of arrays takes much longer

    summaries = {}
    for i, (((run, case, metric), rows), column) in enumerate(zip(cases.items(), columns, strict=True)):
        (
            _,
            means,
            least,
            _,
            _,
            _,
            _,
            count,
            clock,
            substrate,
            sync,
            mode,
            crowded,
            stopped_by,
            notes,
            disturbed,
            checks,
        ) = column
        first = rows[0]
        _refuse_mixture(first, clock=clock, substrate=substrate, unit=[str(row.unit) for row in rows])
        known = means if None not in means else [mean for mean in means if mean is not None]
        smallest = least if None not in least else [value for value in least if value is not None]
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
            sync=_common(sync),
            mode=_common(mode),
            oversubscribed=any(crowded),
            launches=len(rows),
            samples=sum(count),
            median=float(medians[i]),
            low=intervals[i][0],
            high=intervals[i][1],
            minimum=min(smallest, default=None),
            mean=sum(known) / len(known) if known else None,
            p90=p90s[i],
            p99=p99s[i],
            within=within[i],
            spread=spread[i] if len(rows) > 1 else None,
            converged=_ENDED_WELL.issuperset(stopped_by),
            launch_medians=tuple(of_launches[i]),
            notes=_notes(notes),
            numbers=first.numbers or earlier_numbers(first.benchmark, first.notes),
            disturbed=len(disturbed) - disturbed.count(None),
            checked=checks.count("passed") == len(checks),
        )
    return summaries


def _or_mean(medians: Sequence[float | None], means: Sequence[float | None]) -> Sequence[float | None]:
    """Return the medians, replaced by means for launches that reported nothing else."""
    if None not in medians:
        return medians
    return [mean if median is None else median for median, mean in zip(medians, means, strict=True)]


def _refuse_mixture(first: Row, **origins: Sequence[str]) -> None:
    for what, of_launches in origins.items():
        if of_launches.count(of_launches[0]) < len(of_launches):
            seen = ", ".join(sorted(set(of_launches)))
            raise InputError(
                f"case {first.case!r} of run {first.run!r} mixes {what}s {seen}: "
                "values of different origin are not pooled; keep them in separate runs"
            )


def _common(seen: Sequence[str | None]) -> str | None:
    """Return the value that all launches have in common, else "mixed"."""
    return seen[0] if seen.count(seen[0]) == len(seen) else "mixed"


def _notes(of_launches: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    first = of_launches[0]
    if of_launches.count(first) == len(of_launches):
        return first
    said: dict[str, dict[str, None]] = {}
    for notes in of_launches:
        for name, words in notes.items():
            said.setdefault(name, {})[words] = None
    return {name: "; ".join(words) for name, words in said.items()}


def _matrix(values: Sequence[Sequence[float | None]]) -> Floats:
    """Return an array of cases × launches, with nan for None.

    np.array would do, but inspects each row first, which takes three times as long.
    """
    flat = [math.nan if value is None else value for value in chain.from_iterable(values)]
    return np.fromiter(flat, np.float64, len(flat)).reshape(len(values), -1)


def median_of_known(values: Floats) -> Floats:
    """Return the median of each row's finite values, nan for rows without any.

    It is faster than np.nanmedian, and does not warn.
    """
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=1)  # nan sorts last
    known = np.isfinite(ordered).sum(axis=1)
    row = np.arange(len(ordered))
    lower, upper = np.maximum(known - 1, 0) // 2, known // 2
    return np.asarray((ordered[row, lower] + ordered[row, upper]) / 2)


def _finite(values: Floats) -> list[float | None]:
    """Return the values of a vector, None for those that are not finite."""
    return [value if math.isfinite(value) else None for value in values.tolist()]
