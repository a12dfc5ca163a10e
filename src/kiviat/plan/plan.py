"""Expanded plans: cases and their order in each repetition."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kiviat.plan.case import Case


@dataclass(frozen=True)
class Plan:
    """A plan with its cases.

    Cases whose interval over `launches` is wider than ± `interval` of the median get more, up to
    `launches_max`; None: all have equally many.

    `definition` includes the command line; `left_out` has reasons for omitted cases. `benchmarks` has the
    facts about each benchmark that reports need, by name.
    """

    name: str
    launches: int
    seed: int
    cases: tuple[Case, ...]
    definition: Mapping[str, Any]
    left_out: tuple[str, ...] = ()
    benchmarks: Mapping[str, Any] = field(default_factory=dict)
    interval: float | None = None
    launches_max: int | None = None
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        expanded = {
            "launches": self.launches,
            "seed": self.seed,
            "cases": [case.to_json() for case in self.cases],
        }
        if self.interval is not None:
            expanded |= {"interval": self.interval, "launches_max": self.launches_max}
        canonical = json.dumps(expanded, sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "hash", hashlib.sha256(canonical.encode()).hexdigest())

    def worlds(self) -> dict[int, tuple[Case, ...]]:
        """Return the cases by the size of their launches."""
        sizes = sorted({case.world for case in self.cases})
        return {size: tuple(case for case in self.cases if case.world == size) for size in sizes}

    def together(self) -> list[tuple[Case, ...]]:
        """Return the cases of each launch."""
        launches = sorted({case.launch for case in self.cases})
        return [tuple(case for case in self.cases if case.launch == launch) for launch in launches]

    def ordered(self, repetition: int) -> list[Case]:
        """Return the cases in the order of a repetition: launches and the cases in each are shuffled."""
        shuffle = random.Random(f"{self.seed}/{repetition}").shuffle
        launches = [list(cases) for cases in self.together()]
        shuffle(launches)
        for cases in launches:
            shuffle(cases)
        return [case for cases in launches for case in cases]
