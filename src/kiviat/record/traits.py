"""Traits of a benchmark that reports need, from `kiviat-bench --describe`; stored in `run.json`.

Runs of earlier versions, and ingested ones, lack them; `earlier_traits.json` has the traits of the benchmarks
of that time. New benchmarks need no entry there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.types import Scalar
from kiviat.record.valid import each, made

# Sections of reports with figures of messages over sizes and ranks.
MESSAGE_SECTIONS = ("pt2pt", "onesided", "collective", "overlap")
_EARLIER = Path(__file__).with_name("earlier_traits.json")


@dataclass(frozen=True, slots=True)
class Problem:
    """How a benchmark's problem size is determined.

    `counts` names a number of the record, a metric or an axis; "class" is an axis whose values are names;
    "ranks" means that the number of ranks alone determines the size. Memory grows with that number to the
    power `power`. `each`: the size is that of one rank's problem, not of all ranks'. `words`: format of the
    size, with {} for the number.
    """

    counts: str
    power: float = 1.0
    each: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline figure of the page: `metric` at message size `bytes`, or its best value if that is None."""

    title: str
    metric: str
    bytes: int | None
    place: int


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of one benchmark; the defaults are those of a benchmark without description.

    `section`: section of the report; `place`: order within it; `tabled`: its quantities are listed in a table
    there. `scales`: metric used for speedup; `per_rank`: rates are per rank. `phases` maps names to
    "computation" or "communication". `defaults`: default values of its axes.
    `proofs`: metrics that are rounding errors, which the check bounds.
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
    proofs: frozenset[str] = frozenset()

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
            problem=made(Problem, problem) if problem else None,
            phases={phase["name"]: phase["role"] for phase in data.get("phases", ())},
            headlines=each(Headline, data.get("headlines", ())),
            defaults=dict(data.get("defaults", {})),
            proofs=frozenset(data.get("proofs", ())),
        )

    @property
    def of_messages(self) -> bool:
        """True of timed messages and collectives, False of studies, which report quantities of their own."""
        return self.section in MESSAGE_SECTIONS

    @property
    def communicating(self) -> frozenset[str]:
        """Names of the phases that communicate or wait."""
        return frozenset(name for name, role in self.phases.items() if role == "communication")


class TraitsByName(dict[str, Traits]):
    """Traits by name of the benchmark; `Traits()` if there are none."""

    def __missing__(self, name: str) -> Traits:
        return Traits()

    def is_study(self, name: str, timed: bool) -> bool:
        """True if a benchmark reports quantities of its own, of which none is the first at every size.

        Of an undescribed one that is so if it is not `timed`: if it reports no time.
        """
        return not self[name].of_messages if name in self else not timed


def traits_of(of_runs: Iterable[Mapping[str, Traits]]) -> TraitsByName:
    """Return the traits of all benchmarks of several runs; later runs take precedence."""
    found = TraitsByName(earlier_traits())
    for described in of_runs:
        found |= described
    return found


@cache
def earlier_traits() -> TraitsByName:
    """Return traits of the benchmarks of earlier versions, whose runs do not contain them."""
    return TraitsByName({name: Traits.from_json(data) for name, data in earlier().items()})


@cache
def earlier() -> dict[str, Any]:
    """Return these traits in the form of `run.json`."""
    data: dict[str, Any] = json.loads(_EARLIER.read_text())
    return data
