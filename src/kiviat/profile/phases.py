"""Measurements by phase: hardware counters of ranks, memory traffic and energy of nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kiviat.trace.json_object import MOST_RANKS, JsonObject

_MOST_PHASES = 1 << 16
Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of a rank's node: joules and mean watts of each phase, and joules of its components by name.

    `words` name the source, or the reason why energy is unavailable.
    """

    words: str
    joules: Values
    watts: Values
    parts: Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class RankPhases:
    """Measurements of a rank. All values are by phase, in the order of `phases`; None if unavailable.

    `counters` are sums over user code of all threads, by name. Multiplexed counters are scaled; they ran for
    at least `least_share`, 0 … 1, of the time. Bytes of memory traffic and `energy` are the node's, present
    for one rank of each. `words` name the source of the counters, or the reason why they are unavailable.
    """

    rank: int
    phases: tuple[int, ...]
    seconds: Values
    words: str
    counters: Mapping[str, Values]
    least_share: Values
    read_bytes: Values
    written_bytes: Values
    energy: Energy | None


def phases_in(folder: Path) -> tuple[RankPhases, ...]:
    """Return the measurements that ranks wrote into `folder` at MPI_Finalize, by rank."""
    measured = []
    for path in folder.glob("phases-*.json"):
        try:
            data = json.loads(path.read_text())
        except ValueError:
            continue  # truncated because the disk was full
        counters, energy = data["counters"], data.get("energy")
        measured.append(
            _rank(
                JsonObject(
                    {
                        "rank": int(path.stem.partition("-")[2]),
                        "phases": data["phases"],
                        "seconds": data["seconds"],
                        "words": counters["words"],
                        "counters": counters["values"],
                        "least_share": counters["least_share"],
                        "read_bytes": counters["read_bytes"],
                        "written_bytes": counters["written_bytes"],
                        "energy": energy,
                    }
                ),
                MOST_RANKS,
            )
        )
    return tuple(sorted(measured, key=lambda phases: phases.rank))


def as_words(each: Sequence[RankPhases]) -> list[dict[str, Any]]:
    """Return the JSON form for the second line of a profile."""
    return [asdict(phases) for phases in each]


def read_back(words: JsonObject, ranks: int) -> tuple[RankPhases, ...]:
    """Return the measurements in the second line of a profile; ValueError if they are inconsistent."""
    return tuple(_rank(phases, ranks) for phases in words.each("phases", ranks))


def _rank(words: JsonObject, ranks: int) -> RankPhases:
    phases = words.wholes("phases", _MOST_PHASES)

    def values(of: JsonObject, name: str) -> Values:
        numbers = tuple(of.numbers(name, len(phases)))
        if len(numbers) < len(phases) and (numbers or name == "seconds"):  # empty if unavailable
            raise ValueError(f"{of.where}.{name} has {len(numbers)} values for {len(phases)} phases")
        return numbers

    def by_name(of: JsonObject, name: str) -> dict[str, Values]:
        columns = of.inside(name)
        return {of.text_of(column, name): values(columns, column) for column in columns.words}

    energy = words.inside("energy") if words.words.get("energy") is not None else None
    return RankPhases(
        rank=words.whole("rank", 0, ranks - 1),
        phases=tuple(phases),
        seconds=values(words, "seconds"),
        words=words.text("words"),
        counters=by_name(words, "counters"),
        least_share=values(words, "least_share"),
        read_bytes=values(words, "read_bytes"),
        written_bytes=values(words, "written_bytes"),
        energy=None
        if energy is None
        else Energy(
            words=energy.text("words"),
            joules=values(energy, "joules"),
            watts=values(energy, "watts"),
            parts=by_name(energy, "parts"),
        ),
    )
