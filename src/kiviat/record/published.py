"""Results as published: the files of published/, one for each paper. See schema/published.schema.json."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError
from kiviat.record.files import read_toml
from kiviat.record.schema import data_path, refuse_other_version
from kiviat.record.valid import first_wrong

PUBLISHED_SCHEMA = "kiviat.published/1"

# The papers' units in ours: 1 MB is 10^6 bytes.
_UNITS = {
    **{"MB/s": (1e6, "B/s"), "GB/s": (1e9, "B/s"), "us": (1e-6, "s")},
    **{"B": (1.0, "B"), "kB": (1e3, "B"), "MB": (1e6, "B"), "W": (1.0, "W"), "%": (1.0, "%")},
    **{"TF/s": (1e12, "flop/s"), "GFLOPS": (1e9, "flop/s"), "MFLOPS/W": (1e6, "flop/J")},
    **{"B/F": (1.0, "B/flop"), "Update/F": (1.0, "update/flop")},
    **{"x": (1.0, "1"), "ratio": (1.0, "1"), "sockets": (1.0, "1")},
}

_BOUNDS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def keeps_bound(relation: str, published: float, value: float) -> bool | None:
    """Return whether `value` is on the published side of a bound; None if the paper gives no bound."""
    bound = _BOUNDS.get(relation)
    return None if bound is None else bound(value, published)


@dataclass(frozen=True, slots=True)
class Claim:
    """A published claim about scaling, against which runs are compared.

    `asks` is one of what schema/published.schema.json lists. Without `benchmarks`, ours, it is of the machine
    whatever runs there. `kind` is strong, weak, or empty where both are meant; `size` that of the whole
    problem; `of` the machine in the paper's words, the system's own if empty, `than` the one it is compared
    with. `ranks` is their number where the claim names one.
    """

    asks: str
    benchmarks: tuple[str, ...] = ()
    kind: str = ""
    size: int | None = None
    of: str = ""
    than: str = ""
    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of a paper. `value` is in `unit`, ours; `benchmark` and `metric` are in the paper's words.

    `measures` names our quantity, "benchmark.metric", where there is one. `use` is what the value may
    serve for. `balance` names the axis of the balance diagram that the value is; of the largest value of
    several machines, `holder` is the one that has it, by the paper. `scaling` are claims about scaling.
    """

    id: str
    location: str
    benchmark: str
    metric: str
    value: float
    unit: str
    relation: str
    exactness: str
    use: str
    measures: str = ""
    message_size: str = ""
    note: str = ""
    balance: str = ""
    holder: str = ""
    scaling: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """A published statement: an ordering, or a property that holds.

    `says` is empty where `metric` is all of it. `scaling` are the claims about scaling in it.
    """

    id: str
    location: str
    benchmark: str
    metric: str
    relation: str
    exactness: str
    use: str
    says: str = ""
    message_size: str = ""
    note: str = ""
    scaling: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """A machine as it was measured: how many processes, where they ran as far as that is known.

    `processes` is None where the paper does not say, or gives several: those are in `processes_range`.
    """

    machine: str
    facts: tuple[Fact, ...] = ()
    statements: tuple[Statement, ...] = ()
    processes: int | None = None
    processes_range: str = ""
    mode: str = ""
    nodes: str = ""
    placement: str = ""

    @property
    def rows(self) -> tuple[Fact | Statement, ...]:
        """All of it: the numbers, then the words."""
        return (*self.facts, *self.statements)

    def fact(self, measures: str) -> Fact | None:
        """The value of that quantity, if the paper's is known."""
        return next((fact for fact in self.facts if fact.measures == measures), None)


@dataclass(frozen=True, slots=True)
class Paper:
    """Contents of one paper. Venue and year are None if they could not be verified."""

    name: str
    authors: tuple[str, ...]
    title: str
    systems: tuple[System, ...]
    venue: str | None = None
    year: int | None = None

    @property
    def citation(self) -> str:
        """Authors, title, venue and year: "Fatoohi, Saini, Ciotti: Interconnect …, 20th IPDPS, 2006"."""
        where = (str(part) for part in (self.venue, self.year) if part)
        return ", ".join([f"{', '.join(self.authors)}: {self.title}", *where])

    @property
    def short(self) -> str:
        """The first author and the year: "Fatoohi et al. 2006"."""
        who = f"{self.authors[0]} et al." if len(self.authors) > 1 else self.authors[0]
        return f"{who} {self.year}" if self.year else who


def uses() -> dict[str, str]:
    """Return the permitted use of each fact and statement of all papers, by id."""
    rows: list[Fact | Statement] = []
    for paper in papers():
        for system in paper.systems:
            rows += [*system.facts, *system.statements]
    return {row.id: row.use for row in rows}


@cache
def papers() -> tuple[Paper, ...]:
    """All papers that travel with the package, by name."""
    return tuple(read_paper(path) for path in sorted(data_path("published").glob("*.toml")))


def read_paper(path: Path) -> Paper:
    """One file of published results."""
    try:
        data = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as published results: {error}; correct the file") from None
    try:
        refuse_other_version(data.get("schema"), PUBLISHED_SCHEMA)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if wrong := first_wrong(data, "published"):
        raise InputError(f"{path}: {wrong}; schema/published.schema.json says what belongs into such a file")
    systems = tuple(_system(system) for system in data["systems"])
    return Paper(
        path.stem, tuple(data["authors"]), data["title"], systems, data.get("venue"), data.get("year")
    )


def _system(data: dict[str, Any]) -> System:
    facts = tuple(_fact(fact) for fact in data.get("facts", ()))
    statements = tuple(Statement(**_claimed(statement)) for statement in data.get("statements", ()))
    return System(**{**data, "facts": facts, "statements": statements})


def _fact(data: dict[str, Any]) -> Fact:
    factor, unit = _UNITS[data["unit"]]
    # IMB before 2019 printed MB/s of 2^20 bytes.
    factor *= data.get("base_bytes", 10**6) / 10**6
    rest = {key: value for key, value in _claimed(data).items() if key != "base_bytes"}
    return Fact(**{**rest, "value": data["value"] * factor, "unit": unit})


def _claimed(data: dict[str, Any]) -> dict[str, Any]:
    given = data.get("scaling", ())
    claims = (Claim(**{**claim, "benchmarks": tuple(claim.get("benchmarks", ()))}) for claim in given)
    return {**data, "scaling": tuple(claims)}
