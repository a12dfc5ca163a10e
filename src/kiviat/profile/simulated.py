"""On which modelled machine a program was profiled, where it was: then all its times are simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Simulated:
    """`machine` is its name in `--on`, `compute` how many times as long as here computation takes: 0 where it
    takes no time, None where the program says how long it takes, as benchmarks of ours do.
    """

    machine: str
    title: str
    version: int
    compute: float | None

    @property
    def computation(self) -> str:
        if self.compute is None:
            return "computation takes as long as the model says"
        if self.compute == 0:
            return "computation takes no time"
        return f"computation takes {self.compute:g} times as long as on the machine that simulated"

    @property
    def words(self) -> str:
        named = f" on {self.machine} (version {self.version})" if self.machine else ""
        return f"simulated{named}: all times are simulated, and {self.computation}"


def as_words(simulated: Simulated) -> dict[str, Any]:
    return {name: getattr(simulated, name) for name in Simulated.__slots__}


def read_back(told: Mapping[str, Any]) -> Simulated | None:
    """Of the second line of a merged file. A simulation says so also where nobody says of what."""
    if told.get("clock") != "simulated":
        return None
    return Simulated(**told.get("simulated", {"machine": "", "title": "", "version": 0, "compute": None}))
