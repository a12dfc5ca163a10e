"""An expanded plan: its cases, in the order in which each repetition runs them."""

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
    """`definition` is the plan as loaded, command line included; `left_out` says what it could not hold."""

    name: str
    launches: int
    seed: int
    cases: tuple[Case, ...]
    definition: Mapping[str, Any]
    left_out: tuple[str, ...] = ()
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        expanded = {
            "launches": self.launches,
            "seed": self.seed,
            "cases": [case.to_json() for case in self.cases],
        }
        canonical = json.dumps(expanded, sort_keys=True, separators=(",", ":"))
        object.__setattr__(self, "hash", hashlib.sha256(canonical.encode()).hexdigest())

    def worlds(self) -> dict[int, tuple[Case, ...]]:
        """The cases by the size of the launches that run them."""
        sizes = sorted({case.world for case in self.cases})
        return {size: tuple(case for case in self.cases if case.world == size) for size in sizes}

    def together(self) -> list[tuple[Case, ...]]:
        """The cases by the launch that runs them."""
        launches = sorted({case.launch for case in self.cases})
        return [tuple(case for case in self.cases if case.launch == launch) for launch in launches]

    def ordered(self, repetition: int) -> list[Case]:
        """The cases in the order of one repetition: launches shuffled, and the cases within each."""
        shuffle = random.Random(f"{self.seed}/{repetition}").shuffle
        launches = [list(cases) for cases in self.together()]
        shuffle(launches)
        for cases in launches:
            shuffle(cases)
        return [case for cases in launches for case in cases]
