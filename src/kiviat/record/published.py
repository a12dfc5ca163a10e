"""Published results: the files of published/, one per paper (schema/published.schema.json)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError
from kiviat.record.files import read_toml
from kiviat.record.schema import data_path, refuse_other_version
from kiviat.record.site import by_name
from kiviat.record.types import Scalar
from kiviat.record.valid import first_wrong

PUBLISHED_SCHEMA = "kiviat.published/3"
# Earlier schema, without licenses.
_OLDER_SCHEMAS = ("kiviat.published/2",)
# Permitted uses of rows for comparing a model with them, but not for fitting it; `check` rows were seen while
# the model was made.
COMPARED_USES = ("validate", "check")

# Units of the papers, converted to those of records; 1 MB is 10^6 bytes.
UNITS = {
    **{"MB/s": (1e6, "B/s"), "GB/s": (1e9, "B/s"), "us": (1e-6, "s")},
    **{"B": (1.0, "B"), "kB": (1e3, "B"), "MB": (1e6, "B"), "W": (1.0, "W"), "%": (1.0, "%")},
    **{"TF/s": (1e12, "flop/s"), "GFLOPS": (1e9, "flop/s"), "MFLOPS/W": (1e6, "flop/J")},
    **{"KB": (1024.0, "B"), "1/us": (1e6, "1/s"), "B/KFlop": (1e-3, "B/flop")},
    **{"B/F": (1.0, "B/flop"), "Update/F": (1.0, "update/flop")},
    **{"x": (1.0, "1"), "ratio": (1.0, "1"), "sockets": (1.0, "1")},
}


@dataclass(frozen=True, slots=True)
class Series:
    """Cases whose values a claim compares, in the order in which it compares them.

    `measures` is one of Kiviat's quantities, "benchmark.metric". `ranks`, `bytes` and each of `axes` are a
    value or several values; "32..256" for `ranks` means all powers of two in that range, and its end, up to
    the size of the machine. `arrangements` replace `ranks`: "16x1", "8x2 bind=co-processor", "16x4
    place=blocked" are nodes x ranks per node, placed cyclically by default. With `programs`, each program is
    a series of its own, and `measures` is only the metric. `machine` and `mode` are the paper's names, empty
    for those of the row.
    """

    measures: str
    ranks: tuple[int, ...] | str = ()
    bytes: tuple[int, ...] = ()
    axes: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    per_node: int | None = None
    place: str | None = None
    arrangements: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    machine: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A question that a published row puts to results, and the rule by which they answer it.

    `asks` is one of the forms that schema/published.schema.json lists. `series` are the cases that the rule
    compares; `at` is a parameter of some forms: a message size in bytes, or a number of ranks per node.

    Claims about scaling have no series. They have `benchmarks` (Kiviat's names; without, the claim is about
    the machine), `kind` ("strong", "weak", or empty for both), `size` of the whole problem, `of` (the paper's
    name of the machine; empty: the row's system), `than` (the machine it is compared with), and `ranks` if
    the claim is about one number of ranks.
    """

    asks: str
    series: tuple[Series, ...] = ()
    at: int | None = None
    benchmarks: tuple[str, ...] = ()
    kind: str = ""
    size: int | None = None
    of: str = ""
    than: str = ""
    ranks: int | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One number in a paper.

    `value` is in `unit`, one of Kiviat's units; `benchmark` and `metric` are the paper's words. `measures` is
    the corresponding quantity of Kiviat, "benchmark.metric", if there is one. `use` is the permitted use of
    the value. `balance` names an axis of the balance diagram if the value belongs there; if the value is the
    largest of several machines, `holder` is the machine that has it according to the paper. `claims` are the
    questions that the row puts to results; without claims, `measures` is the question. `unanswered` is the
    reason why results cannot answer the row.
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
    claims: tuple[Claim, ...] = ()
    unanswered: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A published statement: an ordering, or a property.

    `says` is empty if `metric` contains the whole statement. `claims` are the questions that it puts to
    results, and `unanswered` is the reason if there are none.
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
    claims: tuple[Claim, ...] = ()
    unanswered: str = ""


@dataclass(frozen=True, slots=True)
class SizeSeries:
    """A published quantity by message size.

    `points` are (bytes, value), with the value in `unit`, one of Kiviat's units.
    """

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
    series: tuple[SizeSeries, ...] = ()
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
    """Contents of one paper. Venue and year are None if they could not be verified.

    `license` is the license of published data: an SPDX identifier or a note; empty for papers.

    `groups` maps the paper's terms for several machines ("all four") to their names and modes.
    """

    name: str
    authors: tuple[str, ...]
    title: str
    systems: tuple[System, ...]
    venue: str | None = None
    year: int | None = None
    license: str = ""
    groups: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

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
    rows: list[Fact | Statement | SizeSeries] = []
    for paper in papers():
        for system in paper.systems:
            rows += [*system.facts, *system.statements, *system.series]
    return {row.id: row.use for row in rows}


@cache
def papers() -> tuple[Paper, ...]:
    """Return all papers in the package, and those of sites, by name."""
    return tuple(read_paper(path) for path in by_name("published", data_path("published")).values())


def read_paper(path: Path) -> Paper:
    """Return the paper in one file of published results."""
    try:
        data = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as published results: {error}; correct the file") from None
    try:
        refuse_other_version(data.get("schema"), PUBLISHED_SCHEMA, _OLDER_SCHEMAS)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if wrong := first_wrong(data, "published"):
        raise InputError(f"{path}: {wrong}; schema/published.schema.json defines the format")
    for system in data["systems"]:
        for series in system.get("series", ()):
            if len(series["bytes"]) != len(series["values"]):
                raise InputError(
                    f"{path}: the series {series['id']} has {len(series['bytes'])} sizes and "
                    f"{len(series['values'])} values; give one value for each size"
                )
    systems = tuple(_system(system) for system in data["systems"])
    groups = {
        group["name"]: tuple((one["machine"], one.get("mode", "")) for one in group["of"])
        for group in data.get("groups", ())
    }
    authors, venue, year = tuple(data["authors"]), data.get("venue"), data.get("year")
    return Paper(path.stem, authors, data["title"], systems, venue, year, data.get("license", ""), groups)


def _system(data: dict[str, Any]) -> System:
    facts = tuple(_fact(fact) for fact in data.get("facts", ()))
    statements = tuple(Statement(**_claimed(statement)) for statement in data.get("statements", ()))
    series = tuple(_size_series(one) for one in data.get("series", ()))
    return System(**{**data, "facts": facts, "statements": statements, "series": series})


def _size_series(data: dict[str, Any]) -> SizeSeries:
    factor, unit = UNITS[data["unit"]]
    rest = {key: value for key, value in data.items() if key not in ("bytes", "values", "unit")}
    points = zip(data["bytes"], data["values"], strict=True)
    return SizeSeries(**rest, unit=unit, points=tuple((size, value * factor) for size, value in points))


def _fact(data: dict[str, Any]) -> Fact:
    factor, unit = UNITS[data["unit"]]
    # IMB before 2019 printed MB/s with 1 MB = 2^20 bytes.
    factor *= data.get("base_bytes", 10**6) / 10**6
    rest = {key: value for key, value in _claimed(data).items() if key != "base_bytes"}
    return Fact(**{**rest, "value": data["value"] * factor, "unit": unit})


def _claimed(data: dict[str, Any]) -> dict[str, Any]:
    claims = (
        Claim(
            **{
                **claim,
                "benchmarks": tuple(claim.get("benchmarks", ())),
                "series": tuple(map(_series, claim.get("series", ()))),
            }
        )
        for claim in data.get("claims", ())
    )
    return {**data, "claims": tuple(claims)}


def _series(data: dict[str, Any]) -> Series:
    ranks = data.get("ranks", ())
    listed = {name: _several(data.get(name, ())) for name in ("bytes", "arrangements", "programs")}
    axes = {name: _several(value) for name, value in data.get("axes", {}).items()}
    many = ranks if isinstance(ranks, str) else _several(ranks)
    return Series(**{**data, **listed, "ranks": many, "axes": axes})


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)
