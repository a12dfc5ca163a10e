"""The modelled machine of a profile whose times are simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kiviat.trace.json_object import JsonObject


@dataclass(frozen=True, slots=True)
class Simulated:
    """The modelled machine, by its name in `--on`.

    `compute` is the factor from host to simulated compute time: 0 if computation takes no time, and None if
    the machine model determines it, as for benchmarks. `hash` is that of the machine model, empty in profiles
    of earlier versions.
    """

    machine: str
    title: str
    version: int
    compute: float | None
    hash: str = ""

    @property
    def computation(self) -> str:
        """A clause about how computation takes time."""
        if self.compute is None:
            return "computation times come from the machine model"
        if self.compute == 0:
            return "computation takes no time"
        return f"computation takes {self.compute:g} times as long as on the host of the simulation"

    @property
    def words(self) -> str:
        """A sentence that names the machine and says that its times are simulated."""
        named = f" on {self.machine} (version {self.version})" if self.machine else ""
        return f"simulated{named}: all times are simulated, and {self.computation}"


def as_words(simulated: Simulated) -> dict[str, Any]:
    """Return the fields by name, as the file holds them."""
    return {name: getattr(simulated, name) for name in Simulated.__slots__}


def read_back(header: JsonObject) -> Simulated | None:
    """Return the machine in a profile's header, nameless if the header lacks it; None if not simulated."""
    if header.words.get("clock") != "simulated":
        return None
    if "simulated" not in header:
        return Simulated("", "", 0, None)
    words = header.inside("simulated")
    compute = None if words.words.get("compute") is None else words.number("compute")
    return Simulated(
        words.text("machine"),
        words.text("title"),
        words.whole("version"),
        compute,
        words.text("hash") if "hash" in words else "",
    )
