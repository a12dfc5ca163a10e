"""Records of results reported by other programs: summaries without samples, timed by their own clock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kiviat import __version__
from kiviat.record import RECORD_SCHEMA, InputError, Metric, Record
from kiviat.record.case_id import case_id
from kiviat.record.plain import whole_number
from kiviat.record.types import Scalar

_BETTER = {"s": "lower", "1": "lower"}  # all others: higher


class PartlyReadError(InputError):
    """Tables cannot be read, for example because nothing states the number of ranks.

    `records` are those of the other tables.
    """

    def __init__(self, says: str, records: Sequence[Record]) -> None:
        super().__init__(says)
        self.records = tuple(records)


@dataclass(frozen=True)
class Case:
    """The case in Kiviat's terms. `axes` has the axes that differ from the default."""

    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]

    @property
    def id(self) -> str:
        """Identity of the case, built like those of Kiviat's own."""
        return case_id(self.benchmark, self.ranks, self.bytes, self.axes)


def number(word: str, where: str) -> float:
    """Return a finite number; InputError, naming `where`, for anything else."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {word[:40]!r} is not a number; is the file complete?")
    return value


def whole(word: str, where: str) -> int:
    """Return an integer of at most 18 digits; InputError, naming `where`, for anything else."""
    number = whole_number(word)
    if number is None:
        raise InputError(f"{where}: {word[:40]!r} is not a whole number; is the file complete?")
    return number


def metric(
    name: str,
    unit: str,
    mean: float,
    count: int,
    percentiles: Mapping[int, float] | None = None,
    better: str | None = None,
) -> Metric:
    """Return a metric with a mean and possibly percentiles; `better` defaults by unit."""
    quantiles = percentiles or {}
    return Metric(
        name=name,
        unit=unit,
        better=better or _BETTER.get(unit, "higher"),
        per_call=bool(quantiles),
        count=count,
        mean=mean,
        min=None,
        max=None,
        p50=quantiles.get(50),
        p90=quantiles.get(90),
        p99=quantiles.get(99),
        ci_low=None,
        ci_high=None,
        from_=None,
        samples=None,
    )


def record(
    case: Case,
    metrics: Sequence[Metric],
    *,
    check: bool | None = None,
    skipped: str | None = None,
    wrong: str = "the payload was wrong",
) -> Record:
    """Return a record of the metrics.

    `check` is the program's own verdict, `skipped` the reason for no result.
    """
    outcome = "skipped" if skipped else "failed" if check is False else "ok"
    return Record(
        schema=RECORD_SCHEMA,
        run="",
        launch=None,
        case=case.id,
        plan=None,
        version=__version__,
        substrate="ingested",
        clock="reported",
        benchmark=case.benchmark,
        ranks=case.ranks,
        bytes=case.bytes,
        axes=case.axes,
        mode="reported",
        sync="reported",
        outcome=outcome,
        phase="setup" if skipped else "check" if check is False else None,
        reason=skipped or (wrong if check is False else None),
        check="not run" if check is None else "passed" if check else "failed",
        check_reason="not reported" if check is None else None,
        stopped_by=None,
        batch=None,
        missed_windows=None,
        clock_cost_s=None,
        elapsed_s=None,
        oversubscribed=False,
        started=None,
        metrics=tuple(metrics),
    )
