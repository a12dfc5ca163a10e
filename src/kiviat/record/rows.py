"""The rows of runs, by column: as objects, the millions of rows of a large run would take a kilobyte each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import isnan
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from kiviat.record.types import LEVEL, Row, Scalar

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger[Any]]
VALUES = ("mean", "min", "max", "p50", "p90", "p99", "ci_low", "ci_high")
NO_LAUNCH = -1  # of ingested records
_BLOCK = 4096  # rows that are objects at a time, while rows are iterated


class CaseFacts(NamedTuple):
    """Facts that all launches of a case share; `level` is that of intervals over launches."""

    run: str
    substrate: str
    clock: str
    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    level: float = LEVEL


class Outcome(NamedTuple):
    """The outcome of a record, and the conditions of its measurement."""

    mode: str | None
    sync: str | None
    outcome: str
    phase: str | None
    check: str
    stopped_by: str | None
    oversubscribed: bool
    notes: Mapping[str, str]
    numbers: Mapping[str, float]


class Remark(NamedTuple):
    """Words about a record; numbers within them may make them differ in each record."""

    reason: str | None
    disturbed: str | None


class MetricFacts(NamedTuple):
    """Facts that metrics of one name share; without a name for records that have no metric."""

    metric: str | None
    unit: str | None
    better: str | None
    per_call: bool


NO_METRIC = MetricFacts(None, None, None, False)
_Facts = TypeVar("_Facts", CaseFacts, Outcome, Remark, MetricFacts)


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Sequence[Row]):
    """Rows in the order written. Equal facts are stored once; a Row is made when it is asked for.

    Of each record, `launch_of` is its launch, or NO_LAUNCH, and `case_of`, `outcome_of` and `remark_of` are
    places in `cases`, `outcomes` and `remarks`. Of each row, `record_of` and `metric_of` are places of its
    record and in `metrics`, `samples` is their number, and `values` has VALUES × rows, nan for None.
    Selections of rows keep all facts, needed or not.
    """

    cases: Sequence[CaseFacts]
    outcomes: Sequence[Outcome]
    remarks: Sequence[Remark]
    metrics: Sequence[MetricFacts]
    launch_of: Ints
    case_of: Ints
    outcome_of: Ints
    remark_of: Ints
    record_of: Ints
    metric_of: Ints
    samples: Ints
    values: Floats

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Rows:
        """Return the rows as they are, or objects by column."""
        if isinstance(rows, cls):
            return rows
        made = list(rows)
        case_of, cases = _coded(made, CaseFacts)
        outcome_of, outcomes = _coded(made, Outcome)
        remark_of, remarks = _coded(made, Remark)
        metric_of, metrics = _coded(made, MetricFacts)
        values = [[_number(getattr(row, name)) for row in made] for name in VALUES]
        return cls(
            cases,
            outcomes,
            remarks,
            metrics,
            launch_of=np.array([NO_LAUNCH if row.launch is None else row.launch for row in made], np.int64),
            case_of=case_of,
            outcome_of=outcome_of,
            remark_of=remark_of,
            record_of=np.arange(len(made)),
            metric_of=metric_of,
            samples=np.array([row.count for row in made], np.int64),
            values=np.array(values, np.float64),
        )

    @classmethod
    def joined(cls, parts: Iterable[Iterable[Row]]) -> Rows:
        """Return the rows of all parts, one part after the other."""
        each = [cls.of(part) for part in parts] or [cls.of([])]
        if len(each) == 1:
            return each[0]
        return cls(
            cases=tuple(chain.from_iterable(part.cases for part in each)),
            outcomes=tuple(chain.from_iterable(part.outcomes for part in each)),
            remarks=tuple(chain.from_iterable(part.remarks for part in each)),
            metrics=tuple(chain.from_iterable(part.metrics for part in each)),
            launch_of=np.concatenate([part.launch_of for part in each]),
            case_of=_shifted((part.case_of, len(part.cases)) for part in each),
            outcome_of=_shifted((part.outcome_of, len(part.outcomes)) for part in each),
            remark_of=_shifted((part.remark_of, len(part.remarks)) for part in each),
            record_of=_shifted((part.record_of, len(part.launch_of)) for part in each),
            metric_of=_shifted((part.metric_of, len(part.metrics)) for part in each),
            samples=np.concatenate([part.samples for part in each]),
            values=np.concatenate([part.values for part in each], axis=1),
        )

    @cached_property
    def subjects(self) -> Ints:
        """For each of `cases` a number: the same for the same case of the same run."""
        numbers: dict[tuple[str, str], int] = {}
        each = [numbers.setdefault((one.run, one.case), len(numbers)) for one in self.cases]
        return np.array(each, np.int64)

    @cached_property
    def names(self) -> Ints:
        """For each of `metrics` the number of its name, -1 without one."""
        numbers: dict[str | None, int] = {None: -1}
        return np.array([numbers.setdefault(one.metric, len(numbers) - 1) for one in self.metrics], np.int64)

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """For each of `outcomes` whether there is a result that no check has refused."""
        return _bools(one.outcome == "ok" and one.check != "failed" for one in self.outcomes)

    @cached_property
    def disturbed(self) -> NDArray[np.bool_]:
        """For each of `remarks` whether others disturbed the measurement."""
        return _bools(one.disturbed is not None for one in self.remarks)

    def value(self, name: str) -> Floats:
        """Return one of VALUES of all rows, nan for None."""
        return np.asarray(self.values[VALUES.index(name)])

    def of_cases(self, wanted: Callable[[CaseFacts], bool]) -> Rows:
        """Return the rows of the cases that are wanted."""
        return self._chosen(_bools(map(wanted, self.cases))[self.case_of])

    def of_run(self, run: str) -> Rows:
        """Return the rows of a run."""
        return self.of_cases(lambda case: case.run == run)

    def without_result(self) -> Rows:
        """Return the rows of records that failed, were skipped, or whose check failed."""
        return self._chosen(~self.valid[self.outcome_of])

    def completed(self) -> frozenset[tuple[str, str]]:
        """Return the (run, case) pairs of records whose outcome is ok."""
        measured = (self.cases[place] for place in np.unique(self.case_of[self._ok()]).tolist())
        return frozenset((one.run, one.case) for one in measured)

    def stops(self) -> dict[str, Counter[str | None]]:
        """Return for each run what stopped its measurements, and how many; a repeated one counts once."""
        measured = _bools(one.clock != "simulated" for one in self.cases)[self.case_of]
        records = np.flatnonzero(measured & self._ok())
        subject, launch = self.subjects[self.case_of[records]], self.launch_of[records]
        order = np.lexsort((launch, subject))
        last = records[order[ends(subject[order], launch[order])]]
        found: dict[str, Counter[str | None]] = {}
        for case, outcome in zip(self.case_of[last].tolist(), self.outcome_of[last].tolist(), strict=True):
            of_run = found.setdefault(self.cases[case].run, Counter())
            of_run[self.outcomes[outcome].stopped_by] += 1
        return found

    def _ok(self) -> NDArray[np.bool_]:
        return _bools(one.outcome == "ok" for one in self.outcomes)[self.outcome_of]

    def _chosen(self, records: NDArray[np.bool_]) -> Rows:
        """Return the rows of the records for which `records` is true."""
        rows = records[self.record_of]
        place = np.cumsum(records) - 1
        return replace(
            self,
            launch_of=self.launch_of[records],
            case_of=self.case_of[records],
            outcome_of=self.outcome_of[records],
            remark_of=self.remark_of[records],
            record_of=place[self.record_of[rows]],
            metric_of=self.metric_of[rows],
            samples=self.samples[rows],
            values=self.values[:, rows],
        )

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return list(self._made(np.arange(places.start, places.stop, places.step)))
        return next(self._made(np.array([places])))

    def __len__(self) -> int:
        return len(self.record_of)

    def __iter__(self) -> Iterator[Row]:
        for begin in range(0, len(self), _BLOCK):
            yield from self._made(np.arange(begin, min(begin + _BLOCK, len(self))))

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"

    def _made(self, places: Ints) -> Iterator[Row]:
        records = self.record_of[places]
        for case, outcome, remark, launch, metric, samples, values in zip(
            self.case_of[records].tolist(),
            self.outcome_of[records].tolist(),
            self.remark_of[records].tolist(),
            self.launch_of[records].tolist(),
            self.metric_of[places].tolist(),
            self.samples[places].tolist(),
            self.values[:, places].T.tolist(),
            strict=True,
        ):
            facts: dict[str, Any] = self.cases[case]._asdict() | self.outcomes[outcome]._asdict()
            facts |= self.remarks[remark]._asdict() | self.metrics[metric]._asdict()
            facts |= {
                name: None if isnan(value) else value for name, value in zip(VALUES, values, strict=True)
            }
            yield Row(launch=None if launch == NO_LAUNCH else launch, count=samples, **facts)


def ends(*columns: Ints) -> NDArray[np.bool_]:
    """Return for each place whether the next one differs from it in any of the columns, or is missing."""
    last = np.ones(len(columns[0]), bool)
    last[:-1] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return last


def _shifted(codes: Iterable[tuple[Ints, int]]) -> Ints:
    """Return codes of several parts, one after the other; each part has that many things to number."""
    begin, moved = 0, []
    for of_part, count in codes:
        moved.append(of_part + begin)
        begin += count
    return np.concatenate(moved)


def _bools(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.fromiter(values, bool)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _coded(rows: Iterable[Row], form: type[_Facts]) -> tuple[Ints, Sequence[_Facts]]:
    """Return the place of each row's facts of that form, and the distinct facts."""
    places: dict[str, int] = {}
    found: list[_Facts] = []
    codes = []
    for row in rows:
        facts = form(*(getattr(row, name) for name in form._fields))
        at = places.setdefault(repr(facts), len(found))
        if at == len(found):
            found.append(facts)
        codes.append(at)
    return np.array(codes, np.int64), found
