"""Published results: the files of published/, one for each paper. See schema/published.schema.json."""

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

PUBLISHED_SCHEMA = "kiviat.published/2"

# Units of the papers, converted to those of records; 1 MB is 10^6 bytes.
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
    """Return whether `value` satisfies a published bound; None if the paper gives no bound."""
    bound = _BOUNDS.get(relation)
    return None if bound is None else bound(value, published)


@dataclass(frozen=True, slots=True)
class Claim:
    """A published claim about scaling, with which runs are compared.

    `asks`: one of the kinds in schema/published.schema.json. `benchmarks`: Kiviat's names; empty if the claim
    is about the machine whatever it runs. `kind`: "strong", "weak", or empty for both. `size`: size of the
    whole problem. `of`: machine in the paper's words, empty for the system itself; `than`: machine that it is
    compared with. `ranks`: their number, if the claim gives one.
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
    """One number of a paper. `value` is in `unit`, one of Kiviat's; `benchmark`, `metric`: the paper's words.

    `measures`: Kiviat's quantity, "benchmark.metric", if there is one. `use`: what the value may be used for.
    `balance`: axis of the balance diagram with this value. `holder`: machine that has the value, if it is the
    largest of several machines. `scaling`: claims about scaling.
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
    """A published statement: an ordering, or a property.

    `says` is empty if `metric` contains the whole statement. `scaling`: claims about scaling in the
    statement.
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
class Series:
    """A published quantity by message size. `points` are (bytes, value), the value in `unit`, ours."""

    id: str
    location: str
    benchmark: str
    metric: str
    measures: str
    unit: str
    use: str
    points: tuple[tuple[int, float], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A machine as measured: number of processes and their placement, as far as known.

    `processes` is None if the paper does not give it, or gives several numbers, which are in
    `processes_range`.
    """

    machine: str
    facts: tuple[Fact, ...] = ()
    statements: tuple[Statement, ...] = ()
    series: tuple[Series, ...] = ()
    processes: int | None = None
    processes_range: str = ""
    mode: str = ""
    nodes: str = ""
    placement: str = ""

    @property
    def rows(self) -> tuple[Fact | Statement, ...]:
        """All facts, then all statements."""
        return (*self.facts, *self.statements)

    def fact(self, measures: str) -> Fact | None:
        """Return the fact whose `measures` is this quantity; None if the paper has none."""
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
    """Return the permitted use of each fact, statement and series of all papers, by id."""
    rows: list[Fact | Statement | Series] = []
    for paper in papers():
        for system in paper.systems:
            rows += [*system.facts, *system.statements, *system.series]
    return {row.id: row.use for row in rows}


@cache
def papers() -> tuple[Paper, ...]:
    """Return all papers in the package, by name."""
    return tuple(read_paper(path) for path in sorted(data_path("published").glob("*.toml")))


def read_paper(path: Path) -> Paper:
    """Return the paper in one file of published results."""
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
    for system in data["systems"]:
        for series in system.get("series", ()):
            if len(series["bytes"]) != len(series["values"]):
                raise InputError(
                    f"{path}: the series {series['id']} has {len(series['bytes'])} sizes and "
                    f"{len(series['values'])} values; give one value for each size"
                )
    systems = tuple(_system(system) for system in data["systems"])
    return Paper(
        path.stem, tuple(data["authors"]), data["title"], systems, data.get("venue"), data.get("year")
    )


def _system(data: dict[str, Any]) -> System:
    facts = tuple(_fact(fact) for fact in data.get("facts", ()))
    statements = tuple(Statement(**_claimed(statement)) for statement in data.get("statements", ()))
    series = tuple(_series(one) for one in data.get("series", ()))
    return System(**{**data, "facts": facts, "statements": statements, "series": series})


def _series(data: dict[str, Any]) -> Series:
    factor, unit = _UNITS[data["unit"]]
    rest = {key: value for key, value in data.items() if key not in ("bytes", "values", "unit")}
    points = zip(data["bytes"], data["values"], strict=True)
    return Series(**rest, unit=unit, points=tuple((size, value * factor) for size, value in points))


def _fact(data: dict[str, Any]) -> Fact:
    factor, unit = _UNITS[data["unit"]]
    # IMB before 2019 printed MB/s with 1 MB = 2^20 bytes.
    factor *= data.get("base_bytes", 10**6) / 10**6
    rest = {key: value for key, value in _claimed(data).items() if key != "base_bytes"}
    return Fact(**{**rest, "value": data["value"] * factor, "unit": unit})


def _claimed(data: dict[str, Any]) -> dict[str, Any]:
    given = data.get("scaling", ())
    claims = (Claim(**{**claim, "benchmarks": tuple(claim.get("benchmarks", ()))}) for claim in given)
    return {**data, "scaling": tuple(claims)}
