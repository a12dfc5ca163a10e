"""What machines counted phase by phase: hardware counters of ranks, energy of machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
            )
        )
    return tuple(sorted(found, key=lambda one: one.rank))


def as_words(each: Sequence[RankPhases]) -> list[dict[str, Any]]:
    """For a profile's second line."""
    return [asdict(one) for one in each]


def read_back(words: Sequence[Mapping[str, Any]]) -> tuple[RankPhases, ...]:
    """KeyError and TypeError for what is torn."""
    return tuple(map(_rank, words))


def _rank(words: Mapping[str, Any]) -> RankPhases:
    energy = words["energy"]
    return RankPhases(
        rank=words["rank"],
        phases=tuple(words["phases"]),
        seconds=tuple(words["seconds"]),
        words=words["words"],
        counters=_by_name(words["counters"]),
        least_share=tuple(words["least_share"]),
        read_bytes=tuple(words["read_bytes"]),
        written_bytes=tuple(words["written_bytes"]),
        energy=energy
        and Energy(
            words=energy["words"],
            joules=tuple(energy["joules"]),
            watts=tuple(energy["watts"]),
            parts=_by_name(energy["parts"]),
        ),
    )


def _by_name(columns: Mapping[str, Sequence[float | None]]) -> dict[str, Values]:
    return {name: tuple(values) for name, values in columns.items()}
