"""Questions of published rows: the cases that they compare, and the rule that computes the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.record.published import Claim, Fact, Paper, Statement, System, papers
from kiviat.record.reach import least_world
from kiviat.record.types import Scalar

# A number in the row's unit, True or False for a statement, or None if unavailable.
Answer = float | bool | None


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

    @property
    def machines(self) -> tuple[tuple[str, str], ...]:
        """Names and modes of the machines that the row is about."""
        system = self.system
        return self.paper.groups.get(system.machine, ((system.machine, system.mode),))


@dataclass(frozen=True)
class Case:
    """A case of a benchmark and its placement, in the terms of kiviat.placement.place."""

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

    def node(self, rank: int) -> int:
        """Return the index of a rank's node; one rank per node without `per_node`."""
        per_node = self.per_node or 1
        return rank % (self.ranks // per_node) if self.place == "cyclic" else rank // per_node


@dataclass(frozen=True)
class Quantity:
    """A metric of a case.

    `machine` and `mode` are the paper's names, empty for the machine being compared.
    """

    case: Case
    metric: str
    machine: str = ""
    mode: str = ""


@dataclass(frozen=True)
class Value:
    """Value of a quantity in results, in `unit`; or None and the reason.

    `disturbed`: other programs disturbed the measurement; `oversubscribed`: its ranks shared cores. Such
    values are not judged. `low` and `high` are the 95 % interval over launches, None if it is unknown.
    """

    value: float | None
    reason: str = ""
    predicted: bool = False
    unit: str = ""
    disturbed: bool = False
    oversubscribed: bool = False
    low: float | None = None
    high: float | None = None


Lookup = Callable[[Quantity], Value]


@dataclass(frozen=True)
class Point:
    """A quantity with its value."""

    quantity: Quantity
    value: float
    unit: str = ""


Answerer = Callable[[Sequence[Sequence[Point]]], Answer]


@dataclass(frozen=True)
class Question:
    """A question: `answer` computes the answer from the points of all `series`.

    `not_asked` is the reason if there are no series.
    """

    row: Row
    claim: Claim | None = None
    series: tuple[tuple[Quantity, ...], ...] = ()
    answer: Answerer = lambda series: None
    not_asked: str = ""

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, each once, in the order of the series."""
        return tuple({repr(one.case): one.case for of in self.series for one in of}.values())

    @property
    def across_machines(self) -> bool:
        """True if the answer needs results of other machines, too."""
        return any(one.machine for of in self.series for one in of)


@dataclass(frozen=True)
class Subject:
    """The machine that is compared with papers: its published names and modes, and number of cores.

    `cores` is None if unlimited; `limit` names what limits the number of cores or ranks. `reach`: ranks of
    the largest launch, if some of its ranks may have been measured while the others slept.
    """

    names: tuple[tuple[str, str], ...]
    cores: int | None = None
    limit: str = "the machine has {} cores"
    reach: int = 0

    def is_named(self, name: str, mode: str) -> bool:
        """Return True if a paper's name denotes this machine; a name without mode denotes all modes."""
        return any(
            name == ours and (not wanted or not mode or wanted in mode.split(" and "))
            for ours, wanted in self.names
        )


def all_rows() -> Iterator[Row]:
    """Yield the rows of all papers."""
    for paper in papers():
        for system in paper.systems:
            for fact in system.rows:
                yield Row(paper, system, fact)


def rows_about(subject: Subject) -> Iterator[Row]:
    """Yield the rows about a machine, including rows about several machines."""
    return (row for row in all_rows() if any(subject.is_named(*named) for named in row.machines))
