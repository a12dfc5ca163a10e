"""A record: one case of one launch, with its metrics. See schema/record.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kiviat.record.activity import Activity
from kiviat.record.earlier_metrics import current_name
from kiviat.record.schema import OLDER_RECORD_SCHEMAS, RECORD_SCHEMA, refuse_other_version

Scalar = str | int | float | bool


@dataclass(frozen=True)
class Metric:
    """One quantity of a case in one launch. Values are in `unit`; unavailable ones are None, never 0."""

    name: str
    unit: str
    better: str
    per_call: bool
    count: int
    mean: float | None
    min: float | None
    max: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    ci_low: float | None
    ci_high: float | None
    from_: str | None
    samples: tuple[float, ...] | None

    @classmethod
    def once(
        cls, name: str, unit: str, value: float, better: str = "lower", derived_from: str | None = None
    ) -> Metric:
        """Return a metric with a single value; without samples if it is derived from another metric."""
        return cls(
            name=name,
            unit=unit,
            better=better,
            per_call=False,
            count=1,
            mean=value,
            min=value,
            max=value,
            p50=value,
            p90=None,
            p99=None,
            ci_low=None,
            ci_high=None,
            from_=derived_from,
            samples=None if derived_from else (value,),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Metric:
        """Return a metric from its JSON form in a record; its name must be a current one."""
        values = {field.name: data[field.name.rstrip("_")] for field in fields(cls)}
        if values["samples"] is not None:
            values["samples"] = tuple(values["samples"])
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the metric in records."""
        # asdict() would copy thousands of samples, which takes time from ranks.
        return {field.name.rstrip("_"): getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Table:
    """Values over axes in row-major order (the last axis varies fastest); None for missing values.

    `axes` are (name, values) pairs; their lengths are the shape of `values`.
    """

    name: str
    unit: str
    better: str
    axes: tuple[tuple[str, tuple[str, ...]], ...]
    values: tuple[float | None, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Table:
        """Return a table from its JSON form in a record."""
        axes = tuple((axis["name"], tuple(axis["values"])) for axis in data["axes"])
        return cls(data["name"], data["unit"], data["better"], axes, tuple(data["values"]))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the table in records."""
        axes = [{"name": name, "values": list(values)} for name, values in self.axes]
        return {
            "name": self.name,
            "unit": self.unit,
            "better": self.better,
            "axes": axes,
            "values": list(self.values),
        }


@dataclass(frozen=True)
class Record:
    """One case of one launch."""

    schema: str
    run: str
    launch: int | None
    case: str
    plan: str | None
    version: str
    substrate: str
    clock: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    mode: str | None
    sync: str | None
    outcome: str
    phase: str | None
    reason: str | None
    check: str
    check_reason: str | None
    stopped_by: str | None
    batch: int | None
    missed_windows: int | None
    clock_cost_s: float | None
    elapsed_s: float | None
    oversubscribed: bool
    started: str | None
    metrics: tuple[Metric, ...]
    tables: tuple[Table, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    activity: Activity | None = None
    disturbed: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """Return a record from a line of records.jsonl, with today's names for metrics of earlier schemas.

        Raise InputError for records of unknown schemas.
        """
        refuse_other_version(data.get("schema"), RECORD_SCHEMA, OLDER_RECORD_SCHEMAS)
        # Records of earlier versions have none of these.
        later: dict[str, Any] = {"notes": {}, "numbers": {}, "activity": None, "disturbed": None}
        values = {field.name: data[field.name] for field in fields(cls) if field.name not in later}
        values |= {name: data.get(name, other) for name, other in later.items()}
        if values["activity"] is not None:
            values["activity"] = Activity.from_json(values["activity"])
        values["metrics"] = tuple(
            Metric.from_json(
                metric | {"name": current_name(data["schema"], data["benchmark"], metric["name"])}
            )
            for metric in data["metrics"]
        )
        values["tables"] = tuple(Table.from_json(table) for table in data["tables"])
        return cls(**values)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the record, a line of records.jsonl."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["axes"] = dict(self.axes)
        data["notes"] = dict(self.notes)
        data["numbers"] = dict(self.numbers)
        data["metrics"] = [metric.to_json() for metric in self.metrics]
        data["tables"] = [table.to_json() for table in self.tables]
        data["activity"] = None if self.activity is None else self.activity.to_json()
        return data

    def metric(self, name: str) -> Metric | None:
        """Return the metric of that name, None if there is none."""
        return next((metric for metric in self.metrics if metric.name == name), None)


LEVEL = 0.95
# Looking at an interval after each launch, and going on until it is narrow, costs coverage. With this level
# it stays at 94 to 97 % (docs/explanation/method.md).
WATCHED_LEVEL = 0.965
FIRST_LOOK = 6  # launches; with five, no interval covers more than 93.75 %


# Rows must not be modified. They are not frozen, because a run has hundreds of thousands, and frozen ones
# take four times as long to create.
@dataclass(slots=True)
class Row:
    """One metric of one record without its samples, as the analysis reads it.

    A record without metrics (skipped or failed) gives one row whose `metric` is None. `level` is that of
    intervals over launches.
    """

    run: str
    launch: int | None
    substrate: str
    clock: str
    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    mode: str | None
    sync: str | None
    outcome: str
    phase: str | None
    reason: str | None
    check: str
    stopped_by: str | None
    oversubscribed: bool
    metric: str | None
    unit: str | None
    better: str | None
    per_call: bool
    count: int
    mean: float | None
    min: float | None
    max: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    ci_low: float | None
    ci_high: float | None
    notes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    disturbed: str | None = None
    level: float = LEVEL

    @property
    def failure(self) -> str:
        """Why the record has no valid result, such as "skipped: no MPI"; "" if it has one."""
        if self.outcome == "ok" and self.check != "failed":
            return ""
        outcome = "skipped" if self.outcome == "skipped" else "failed"
        return f"{outcome}: {self.reason or 'no reason given'}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One table of one record: values of a study in one launch."""

    run: str
    launch: int | None
    clock: str
    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    outcome: str
    check: str
    oversubscribed: bool
    table: Table
