"""What a published row asks of a model: cases to simulate, and how their results become an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.record.published import Fact, Paper, Statement, System
from kiviat.record.reach import least_world
from kiviat.record.types import Record, Scalar

# A number in the row's unit, whether a statement holds, or None where nothing could be said.
Answer = float | bool | None


@dataclass(frozen=True)
class Want:
    """A case to simulate: so many ranks of a benchmark, placed as kiviat.placement.place says."""

    benchmark: str
    ranks: int
    bytes: int | None = None
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    per_node: int | None = None
    place: str | None = None
    bind: str | None = None

    @property
    def reach(self) -> int:
        """How many ranks the launch has."""
        return least_world(self.ranks, self.axes)


@dataclass(frozen=True)
class Row:
    """One published fact or statement, with where it stands."""

    paper: Paper
    system: System
    fact: Fact | Statement

    @property
    def id(self) -> str:
        return self.fact.id

    @property
    def number(self) -> Fact | None:
        return self.fact if isinstance(self.fact, Fact) else None


@dataclass(frozen=True)
class Question:
    """`answer` gets one record for each of `wants`; `not_asked` says why there are none."""

    row: Row
    wants: tuple[Want, ...] = ()
    answer: Callable[[Sequence[Record]], Answer] = lambda records: None
    not_asked: str = ""


def value_of(record: Record, name: str) -> float | None:
    """The median of a metric; None where the case failed."""
    metric = record.metric(name)
    if metric is None or record.outcome != "ok":
        return None
    return metric.mean if metric.p50 is None else metric.p50


def values_of(records: Sequence[Record], name: str) -> list[float]:
    """Of all records; empty where one of them has none, for a part of the cases is no answer."""
    values = [value_of(record, name) for record in records]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
