"""Results as published: the files of published/, one for each paper. See schema/published.schema.json."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError
from kiviat.record.schema import data_path, refuse_other_version

PUBLISHED_SCHEMA = "kiviat.published/1"

# The papers' units in ours: 1 MB is 10^6 bytes.
_UNITS = {"MB/s": (1e6, "B/s"), "us": (1e-6, "s")}


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of a paper. `value` is in `unit`, ours; `metric` is in the paper's words.

    `measures` names our quantity, "benchmark.metric". `use` is what the value may serve for.
    """

    id: str
    location: str
    metric: str
    measures: str
    message_size: str
    value: float
    unit: str
    relation: str
    exactness: str
    use: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A machine as it was measured: how many processes, where they ran as far as that is known."""

    machine: str
    processes: int
    facts: tuple[Fact, ...]
    mode: str = ""
    nodes: str = ""
    placement: str = ""

    def fact(self, measures: str) -> Fact | None:
        """The value of that quantity, if the paper's is known."""
        return next((fact for fact in self.facts if fact.measures == measures), None)


@dataclass(frozen=True, slots=True)
class Paper:
    """What one paper published. Venue and year are None where they could not be verified."""

    name: str
    authors: tuple[str, ...]
    title: str
    systems: tuple[System, ...]
    venue: str | None = None
    year: int | None = None

    @property
    def citation(self) -> str:
        """ "Fatoohi, Saini, Ciotti: Interconnect …, 20th IPDPS, 2006"."""
        where = (str(part) for part in (self.venue, self.year) if part)
        return ", ".join([f"{', '.join(self.authors)}: {self.title}", *where])

    @property
    def short(self) -> str:
        """ "Fatoohi et al. 2006"."""
        who = f"{self.authors[0]} et al." if len(self.authors) > 1 else self.authors[0]
        return f"{who} {self.year}" if self.year else who


@cache
def papers() -> tuple[Paper, ...]:
    """All papers that travel with the package, by name."""
    return tuple(read_paper(path) for path in sorted(data_path("published").glob("*.toml")))


def read_paper(path: Path) -> Paper:
    """One file of published results."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as published results: {error}; correct the file") from None
    try:
        refuse_other_version(data.get("schema"), PUBLISHED_SCHEMA)
        systems = tuple(_system(system) for system in data["systems"])
        return Paper(
            path.stem, tuple(data["authors"]), data["title"], systems, data.get("venue"), data.get("year")
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        wrong = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{path} {wrong}: schema/published.schema.json says what belongs into such a file"
        ) from None


def _system(data: dict[str, Any]) -> System:
    return System(**{**data, "facts": tuple(_fact(fact) for fact in data["facts"])})


def _fact(data: dict[str, Any]) -> Fact:
    if data["unit"] not in _UNITS:
        raise InputError(f"fact {data['id']} is in {data['unit']!r}; give {' or '.join(_UNITS)}")
    factor, unit = _UNITS[data["unit"]]
    return Fact(**{**data, "value": data["value"] * factor, "unit": unit})
