"""On which modelled machine a program was profiled, where it was: then all its times are simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kiviat.trace.json_object import JsonObject


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


def read_back(told: JsonObject) -> Simulated | None:
    """Of the second line of a merged file. A simulation says so also where nobody says of what."""
    if told.words.get("clock") != "simulated":
        return None
    if "simulated" not in told:
        return Simulated("", "", 0, None)
    words = told.inside("simulated")
    compute = None if words.words.get("compute") is None else words.number("compute")
    return Simulated(words.text("machine"), words.text("title"), words.whole("version"), compute)
