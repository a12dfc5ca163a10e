"""Questions of published rows to a model: cases to simulate, and the computation of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.record.published import Fact, Paper, Statement, System
from kiviat.record.reach import least_world
from kiviat.record.types import Record, Scalar

# A number in the row's unit, True or False for a statement, None if unavailable.
Answer = float | bool | None


@dataclass(frozen=True)
class Want:
    """A case to simulate, with its placement in the terms of kiviat.placement.place."""

    benchmark: str
    ranks: int
    bytes: int | None = None
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    per_node: int | None = None
    place: str | None = None
    bind: str | None = None

    @property
    def reach(self) -> int:
        """Number of ranks of the launch."""
        return least_world(self.ranks, self.axes)


@dataclass(frozen=True)
class Row:
    """A published fact or statement with its paper and system."""

    paper: Paper
    system: System
    fact: Fact | Statement

    @property
    def id(self) -> str:
        """Identifier of the row in published/."""
        return self.fact.id

    @property
    def number(self) -> Fact | None:
        """The published number; None if the row is a statement."""
        return self.fact if isinstance(self.fact, Fact) else None


@dataclass(frozen=True)
class Question:
    """`answer` computes the answer from one record for each of `wants`.

    `not_asked`: reason if there are none.
    """

    row: Row
    wants: tuple[Want, ...] = ()
    answer: Callable[[Sequence[Record]], Answer] = lambda records: None
    not_asked: str = ""


def value_of(record: Record, name: str) -> float | None:
    """Return the median of a metric, else its mean; None if it is missing or the case failed."""
    metric = record.metric(name)
    if metric is None or record.outcome != "ok":
        return None
    return metric.mean if metric.p50 is None else metric.p50


def values_of(records: Sequence[Record], name: str) -> list[float]:
    """Return the values of all records; empty if any is missing, because partial results are no answer."""
    values = [value_of(record, name) for record in records]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []
