"""One case over all its launches."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from kiviat.analysis.statistics.intervals import Floats, median_intervals
from kiviat.record.earlier_numbers import earlier_numbers
from kiviat.record.errors import InputError
from kiviat.record.rows import NO_LAUNCH, CaseFacts, Ints, MetricFacts, Outcome, Rows, ends
from kiviat.record.traits import TraitsByName
from kiviat.record.types import Row, Scalar

MIXED = "mixed"  # start or mode of a case whose launches differ in it
Flags = NDArray[np.bool_]
# Selects cases and metrics to summarise; they are given by the places of their first rows.
Chosen = Callable[[Rows, Ints], Flags]


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
    maximum: float | None
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

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The 95 % interval, None with too few launches."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Return one summary per run, case and metric, in order of first appearance.

    Rows are used if their outcome is ok, their check has not failed, and they have a value: the median, or
    the mean if nothing else was reported (ingested records). A case measured again in the same launch
    replaces the earlier row. Ingested rows, which have no launch, count as a launch each.

    Raise InputError if a case of a run mixes clocks, substrates or units.
    """
    return _in_order(Rows.of(rows), lambda columns, firsts: np.ones(len(firsts), bool))


def primary(rows: Iterable[Row], metric: str | None = None) -> list[Summary]:
    """Return one summary per run and case, by which the case is compared.

    It is that of `metric`, if the case has it; by default that of `time`, or of the first metric of a case
    without time: bandwidth and message rate derive from time and would count twice. Other metrics need no
    memory here. Raise InputError like `summarise`.
    """

    def chosen(columns: Rows, firsts: Ints) -> Flags:
        name = columns.names[columns.metric_of[firsts]]
        wanted = np.isin(name, columns.names[[one.metric == (metric or "time") for one in columns.metrics]])
        if metric is None:
            case = columns.subjects[columns.case_of[columns.record_of[firsts]]]
            backwards = np.lexsort((-firsts, case))
            first = backwards[ends(case[backwards])]
            wanted[first] |= ~np.isin(case[first], case[wanted])
        return wanted

    return _in_order(Rows.of(rows), chosen)


def _in_order(columns: Rows, chosen: Chosen) -> list[Summary]:
    found = [one for places in _by_case(columns) for one in _summaries(columns, places, chosen)]
    return [summary for _, summary in sorted(found, key=itemgetter(0))]


def _by_case(columns: Rows) -> Iterator[Ints]:
    """Yield the places of the rows of some cases after the other, in the order written."""
    subject = columns.subjects[columns.case_of[columns.record_of]]
    order = np.argsort(subject, kind="stable")
    cases_end = np.cumsum(np.bincount(subject))
    begin = 0
    while begin < len(order):
        case = min(int(np.searchsorted(cases_end, begin + _ROWS_AT_ONCE)), len(cases_end) - 1)
        end = int(cases_end[case])
        yield np.sort(order[begin:end])
        begin = end


def _summaries(columns: Rows, places: Ints, chosen: Chosen) -> Iterator[tuple[int, Summary]]:
    """Yield the place of the first row, and the summary, of each chosen case and metric at `places`."""
    places, launches, firsts = _by_launch(columns, places)
    keep = chosen(columns, firsts)
    places, launches, firsts = places[np.repeat(keep, launches)], launches[keep], firsts[keep]
    begins = np.cumsum(launches) - launches
    cases = columns.case_of[columns.record_of[places[begins]]].tolist()
    levels = np.array([columns.cases[case].level for case in cases])
    for count, level in sorted({*zip(launches.tolist(), levels.tolist(), strict=True)}):
        alike = np.flatnonzero((launches == count) & (levels == level))
        of_alike = places[begins[alike][:, None] + np.arange(count)]
        yield from zip(firsts[alike].tolist(), _equal_sized(columns, of_alike, level), strict=True)


def _by_launch(columns: Rows, places: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the places of the rows to use, by summary and launch; then launches and first place of each."""
    used = places[
        columns.valid[columns.outcome_of[columns.record_of[places]]]
        & (columns.names[columns.metric_of[places]] >= 0)
        & np.isfinite(_centres(columns, places))
    ]
    record = columns.record_of[used]
    keys = (
        columns.subjects[columns.case_of[record]] * len(columns.names)
        + columns.names[columns.metric_of[used]]
    )
    _, firsts, group = np.unique(keys, return_index=True, return_inverse=True)
    launch = columns.launch_of[record]
    if (launch == NO_LAUNCH).any():
        launch = np.where(launch == NO_LAUNCH, _number_within(group), launch)
    order = np.lexsort((launch, group))  # stable: the last of equal ones was written last
    last = order[ends(group[order], launch[order])]
    return used[last], np.bincount(group[last], minlength=len(firsts)), used[firsts]


def _centres(columns: Rows, places: Ints) -> Floats:
    """Return the medians at `places`, or the means of what reported nothing else."""
    medians = columns.value("p50")[places]
    return np.where(np.isnan(medians), columns.value("mean")[places], medians)


def _number_within(group: Ints) -> Ints:
    """Return how many elements of the same group come before each."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    numbers = np.empty(len(group), np.int64)
    numbers[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return numbers


def studies(summaries: Iterable[Summary], traits: TraitsByName) -> frozenset[str]:
    """Return the names of benchmarks that report metrics of their own, as they describe themselves.

    Benchmarks without description are studies if they report no time and were not ingested.
    """
    timed: dict[str, bool] = defaultdict(bool)
    for summary in summaries:
        timed[summary.benchmark] |= summary.metric == "time" or summary.clock == "reported"
    return frozenset(name for name, has_time in timed.items() if traits.is_study(name, has_time))


_OF_TIME = {"bandwidth", "message_rate"}  # of point to point and collectives they derive from time
_COMPLETE_STOPS = {"target", "fixed"}
_ROWS_AT_ONCE = 100_000  # each needs some hundred bytes meanwhile


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The conditions of a summary's launches: how they were measured, and how they ended."""

    sync: str | None
    mode: str | None
    oversubscribed: bool
    converged: bool
    notes: Mapping[str, str]
    checked: bool

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> _Conditions:
        """Return what the outcomes of all launches have in common."""
        return cls(
            sync=_common([one.sync for one in outcomes]),
            mode=_common([one.mode for one in outcomes]),
            oversubscribed=any(one.oversubscribed for one in outcomes),
            converged=_COMPLETE_STOPS.issuperset(one.stopped_by for one in outcomes),
            notes=_notes([one.notes for one in outcomes]),
            checked=all(one.check == "passed" for one in outcomes),
        )


def _equal_sized(columns: Rows, places: Ints, level: float) -> Iterator[Summary]:
    """Yield the summaries of rows at `places`, cases × launches, computed for all cases at once."""
    values = _centres(columns, places)
    of = {
        name: columns.value(name)[places]
        for name in ("mean", "min", "max", "ci_low", "ci_high", "p90", "p99")
    }
    low_high = median_intervals(values, level)
    intervals = [(None, None)] * len(places) if low_high is None else low_high.tolist()
    medians = _medians(columns, places, values)
    with np.errstate(all="ignore"):
        within = median_of_known((of["ci_high"] - of["ci_low"]) / 2 / values)
        spread = np.ptp(values, axis=1) / medians
    records = columns.record_of[places]
    conditions: dict[tuple[int, ...], _Conditions] = {}
    for (
        (cases, metrics, outcomes),
        (median, (low, high), minimum, maximum, mean, p90, p99),
        (relative_width, relative_range, samples, disturbances, launch_medians),
    ) in zip(
        zip(
            columns.case_of[records].tolist(),
            columns.metric_of[places].tolist(),
            map(tuple, columns.outcome_of[records].tolist()),
            strict=True,
        ),
        zip(
            medians.tolist(),
            intervals,
            _finite(_least_known(of["min"])),
            _finite(-_least_known(-of["max"])),
            _finite(_mean_of_known(of["mean"])),
            _finite(median_of_known(of["p90"])),
            _finite(median_of_known(of["p99"])),
            strict=True,
        ),
        zip(
            _finite(within),
            _finite(spread) if values.shape[1] > 1 else [None] * len(places),
            columns.samples[places].sum(axis=1).tolist(),
            columns.disturbed[columns.remark_of[records]].sum(axis=1).tolist(),
            values.tolist(),
            strict=True,
        ),
        strict=True,
    ):
        if cases.count(cases[0]) < len(cases) or metrics.count(metrics[0]) < len(metrics):
            _refuse_mixture([columns.cases[one] for one in cases], [columns.metrics[one] for one in metrics])
        case, metric = columns.cases[cases[0]], columns.metrics[metrics[0]]
        first = columns.outcomes[outcomes[0]]
        if outcomes not in conditions:
            conditions[outcomes] = _Conditions.of([columns.outcomes[one] for one in outcomes])
        shared = conditions[outcomes]
        yield Summary(
            run=case.run,
            case=case.case,
            benchmark=case.benchmark,
            ranks=case.ranks,
            bytes=case.bytes,
            axes=case.axes,
            metric=metric.metric or "",
            unit=metric.unit or "1",
            better=metric.better or "lower",
            clock=case.clock,
            sync=shared.sync,
            mode=shared.mode,
            oversubscribed=shared.oversubscribed,
            launches=len(cases),
            samples=samples,
            median=median,
            low=low,
            high=high,
            minimum=minimum,
            maximum=maximum,
            mean=mean,
            p90=p90,
            p99=p99,
            within=relative_width,
            spread=relative_range,
            converged=shared.converged,
            launch_medians=tuple(launch_medians),
            notes=shared.notes,
            numbers=first.numbers or earlier_numbers(case.benchmark, first.notes),
            disturbed=disturbances,
            checked=shared.checked,
        )


def _medians(columns: Rows, places: Ints, values: Floats) -> Floats:
    """Return the medians over launches.

    Of an even number, those of a rate are averaged as the times that it derives from: harmonically.
    """
    medians: Floats = np.median(values, axis=1)
    if values.shape[1] % 2 == 0:
        names = [columns.metrics[metric].metric for metric in columns.metric_of[places[:, 0]].tolist()]
        rates = np.array([name in _OF_TIME for name in names]) & (values > 0).all(axis=1)
        medians[rates] = 1 / np.median(1 / values[rates], axis=1)
    return medians


def _refuse_mixture(cases: Sequence[CaseFacts], metrics: Sequence[MetricFacts]) -> None:
    """Raise InputError if launches of a case differ in clock, substrate or unit."""
    for what, seen in (
        ("clock", {one.clock for one in cases}),
        ("substrate", {one.substrate for one in cases}),
        ("unit", {str(one.unit) for one in metrics}),
    ):
        if len(seen) > 1:
            raise InputError(
                f"case {cases[0].case!r} of run {cases[0].run!r} mixes {what}s {', '.join(sorted(seen))}: "
                "values of different origin are not pooled; keep them in separate runs"
            )


def _common(seen: Sequence[str | None]) -> str | None:
    """Return the value that all launches have in common, else `MIXED`."""
    return seen[0] if seen.count(seen[0]) == len(seen) else MIXED


def _notes(of_launches: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    first = of_launches[0]
    if of_launches.count(first) == len(of_launches):
        return first
    said: dict[str, dict[str, None]] = {}
    for notes in of_launches:
        for name, words in notes.items():
            said.setdefault(name, {})[words] = None
    return {name: "; ".join(words) for name, words in said.items()}


def _least_known(values: Floats) -> Floats:
    return np.asarray(np.where(np.isnan(values), np.inf, values).min(axis=1))


def _mean_of_known(values: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values, axis=1) / (~np.isnan(values)).sum(axis=1))


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
