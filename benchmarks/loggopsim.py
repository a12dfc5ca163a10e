"""Schedules of messages for LogGOPSim, which the user has built.

They are written in GOAL, its text format, and converted by its own program before anything is measured.

`python -m benchmarks.loggopsim PATTERN RANKS CALLS` prints a schedule.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import find_program

# The last line that LogGOPSim prints, and prints only if every message was received.
COMPLETE = "Maximum finishing time"


@dataclass(frozen=True)
class Pattern:
    """In one call, each of `ranks` ranks sends 8 B to the rank at each of `distances` after it.

    If `chained`, it sends each of these when it has received the one before; otherwise all of them at once.
    patterns.c does the same in MPI.
    """

    name: str
    ranks: int
    distances: tuple[int, ...]
    chained: bool

    @property
    def messages(self) -> int:
        """Messages of one call."""
        return self.ranks * len(self.distances)


def dissemination(ranks: int) -> Pattern:
    distances = tuple(1 << step for step in range((ranks - 1).bit_length()))
    return Pattern("dissemination", ranks, distances, chained=True)


def linear_alltoall(ranks: int) -> Pattern:
    return Pattern("linear_alltoall", ranks, tuple(range(1, ranks)), chained=False)


PATTERNS: Mapping[str, Callable[[int], Pattern]] = {
    "dissemination": dissemination,
    "linear_alltoall": linear_alltoall,
}


@dataclass(frozen=True)
class LogGopSim:
    simulator: Path
    converter: Path

    @property
    def version(self) -> str:
        said = subprocess.run([self.simulator, "--version"], check=True, capture_output=True, text=True)
        return said.stdout.split()[-1]

    def command(self, pattern: Pattern, calls: int, folder: Path) -> list[str | Path]:
        """Write the schedule of `calls` calls into `folder`, and return the command that simulates it."""
        text, schedule = folder / f"{calls}.goal", folder / f"{calls}.bin"
        text.write_text("".join(f"{line}\n" for line in goal(pattern, calls)))
        subprocess.run([self.converter, "-i", text, "-o", schedule], check=True, capture_output=True)
        text.unlink()
        return [self.simulator, "--batchmode", "-f", schedule]


def find_loggopsim() -> LogGopSim | str:
    """Return the programs below LOGGOPSIM_DIR=, or the reason why they cannot be used."""
    simulator, converter = (find_program("LOGGOPSIM_DIR", name) for name in ("LogGOPSim", "txt2bin"))
    if isinstance(simulator, str):
        return simulator
    return converter if isinstance(converter, str) else LogGopSim(simulator, converter)


def goal(pattern: Pattern, calls: int) -> Iterator[str]:
    """Yield the lines of a schedule. A rank begins a call when it has received all messages of the last."""
    yield f"num_ranks {pattern.ranks}"
    for rank in range(pattern.ranks):
        yield f"rank {rank} {{"
        for call in range(calls):
            yield from _call(pattern, rank, call)
        yield "}"


def _call(pattern: Pattern, rank: int, call: int) -> Iterator[str]:
    begin = f"c{call}"
    if call:
        yield f"{begin}: calc 0"
        yield from (f"{begin} requires r{call - 1}_{step}" for step in range(len(pattern.distances)))
    for step, distance in enumerate(pattern.distances):
        send, receive = f"s{call}_{step}", f"r{call}_{step}"
        yield f"{send}: send 8b to {(rank + distance) % pattern.ranks} tag 0"
        yield f"{receive}: recv 8b from {(rank - distance) % pattern.ranks} tag 0"
        if pattern.chained and step:
            yield f"{send} requires r{call}_{step - 1}"
        elif call:
            yield f"{send} requires {begin}"
        if call:
            yield f"{receive} requires {begin}"


def _main(name: str, ranks: str, calls: str) -> None:
    for line in goal(PATTERNS[name](int(ranks)), int(calls)):
        print(line)


if __name__ == "__main__":
    _main(*sys.argv[1:])
