"""Traits of a benchmark that reports need, from `kiviat-bench --describe`, kept in `run.json`.

Runs of earlier versions, and ingested ones, do not say it: `earlier_traits.json` does, for the benchmarks
that there were then. A benchmark that comes later needs no line there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.types import Scalar

_EARLIER = Path(__file__).with_name("earlier_traits.json")


@dataclass(frozen=True, slots=True)
class Problem:
    """How the size of a problem is counted.

    `counts` names the number: of a record's numbers, a metric or an axis; "class" is an axis whose values are
    names, "ranks" says that the problem is nothing but the ranks. Memory grows with that number to the power
    `power`. `each`: it is the size of one rank's problem, not of all ranks'. `words` say it, with {} for it.
    """

    counts: str
    power: float = 1.0
    each: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure of the head of the page: `metric` of messages of `bytes`, or of the best case where None."""

    title: str
    metric: str
    bytes: int | None
    place: int


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of one benchmark; the defaults are those of an undescribed one.

    `section` is that of the report, and `place` the benchmark's among those of the section; `tabled` says
    that a table there has its quantities. `scales` is the metric that speedup is of; `per_rank`: rates are of
    one rank. `phases` maps names to "computation" or "communication". `defaults` are those of its axes.
    """

    section: str = ""
    place: int = 0
    tabled: bool = False
    scales: str = ""
    per_rank: bool = False
    problem: Problem | None = None
    phases: Mapping[str, str] = field(default_factory=dict)
    headlines: tuple[Headline, ...] = ()
    defaults: Mapping[str, Scalar] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Traits:
        """Return the traits in the "report" object of `--describe`; keys of later versions are ignored."""
        problem = data.get("problem")
        return cls(
            section=data.get("section", ""),
            place=data.get("place", 0),
            tabled=data.get("tabled", False),
            scales=data.get("scales", ""),
            per_rank=data.get("per_rank", False),
            problem=Problem(**problem) if problem else None,
            phases={phase["name"]: phase["role"] for phase in data.get("phases", ())},
            headlines=tuple(Headline(**headline) for headline in data.get("headlines", ())),
            defaults=dict(data.get("defaults", {})),
        )

    @property
    def communicating(self) -> frozenset[str]:
        """The phases that send messages or wait for them."""
        return frozenset(name for name, role in self.phases.items() if role == "communication")


class TraitsByName(dict[str, Traits]):
    """Traits by name of the benchmark; `Traits()` for an undescribed one."""

    def __missing__(self, name: str) -> Traits:
        return Traits()


def traits_of(of_runs: Iterable[Mapping[str, Traits]]) -> TraitsByName:
    """All benchmarks of runs that describe some; where they disagree, a later one of the sequence counts."""
    found = TraitsByName(earlier_traits())
    for described in of_runs:
        found |= described
    return found


@cache
def earlier_traits() -> TraitsByName:
    """Those of benchmarks whose runs may not describe them."""
    return TraitsByName({name: Traits.from_json(data) for name, data in earlier().items()})


@cache
def earlier() -> dict[str, Any]:
    """The same as `run.json` would keep it."""
    data: dict[str, Any] = json.loads(_EARLIER.read_text())
    return data
