"""What machines counted phase by phase: hardware counters of ranks, energy of machines."""

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
    """Of the machine that a rank reads for: joules of each phase, mean watts meanwhile, and joules of its
    parts by name. `words` say how one knows, or why it is unavailable.
    """

    words: str
    joules: Values
    watts: Values
    parts: Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class RankPhases:
    """One rank; all values go by `phases`, in the order in which it came to them, None where unavailable.

    `counters` are sums by name, of user code of all threads; where counters took turns they counted
    `least_share`, 0 … 1, of the time at least, and are scaled. Bytes are those of the machine's memory, where
    this rank reads them, and so is `energy`. `words` say how one knows, or why counters are unavailable.
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
    """Of what ranks left in `folder` at MPI_Finalize, in their order."""
    found = []
    for path in folder.glob("phases-*.json"):
        try:
            told = json.loads(path.read_text())
        except ValueError:
            continue  # a disk that is full
        counters, energy = told["counters"], told.get("energy")
        found.append(
            _rank(
                JsonObject(
                    {
                        "rank": int(path.stem.partition("-")[2]),
                        "phases": told["phases"],
                        "seconds": told["seconds"],
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
    return tuple(sorted(found, key=lambda one: one.rank))


def as_words(each: Sequence[RankPhases]) -> list[dict[str, Any]]:
    """For a profile's second line."""
    return [asdict(one) for one in each]


def read_back(words: JsonObject, ranks: int) -> tuple[RankPhases, ...]:
    """Of a second line; ValueError for what is torn."""
    return tuple(_rank(one, ranks) for one in words.each("phases", ranks))


def _rank(words: JsonObject, ranks: int) -> RankPhases:
    phases = words.wholes("phases", _MOST_PHASES)

    def values(of: JsonObject, name: str) -> Values:
        found = tuple(of.numbers(name, len(phases)))
        if len(found) < len(phases) and (found or name == "seconds"):  # what is unavailable has none
            raise ValueError(f"{of.where}.{name} has {len(found)} values for {len(phases)} phases")
        return found

    def by_name(of: JsonObject, name: str) -> dict[str, Values]:
        columns = of.inside(name)
        return {of.text_of(one, name): values(columns, one) for one in columns.words}

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
