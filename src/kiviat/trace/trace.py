"""A trace, but for its streams, which only the replayer reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ENDED = 2  # native/trace/format.hpp: Stage


@dataclass(frozen=True)
class Rate:
    """What a core of the recording machine computes; `how` says what was measured."""

    flops: float
    how: str


@dataclass(frozen=True)
class RankTrace:
    """`computed_s` is its own processor time outside of MPI, `elapsed_s` real time from the end of MPI_Init
    to the beginning of MPI_Finalize, None if it did not come to that. `calls` and `bytes` are by operation.

    `unsupported` is the first call that cannot be replayed; `other_threads` are calls that threads beside the
    first one made, `unseen` communicators and windows that nobody saw being made, `sparse` calls of
    MPI_Alltoallv with empty parts, `lost` is whether there was no room for all of its stream, which has
    `stream_bytes`, and `packed_bytes` in the file.
    """

    rank: int
    host: str
    node: int
    events: int
    computed_s: float
    elapsed_s: float | None
    calls: Mapping[str, int]
    bytes: Mapping[str, int]
    unsupported: str | None
    other_threads: int
    unseen: int
    sparse: int
    lost: bool
    polls: int
    stream_bytes: int
    packed_bytes: int
    crc32: int


@dataclass(frozen=True)
class Trace:
    """`each` has the ranks that left something, in their order; `rate` is None where nobody measured it.
    `streams_at` is where the first of their packed streams stands in the file, one after the other.
    """

    path: Path
    program: str
    library: str
    ranks: int
    started_s: int
    rate: Rate | None
    each: Sequence[RankTrace]
    streams_at: int
    crc32: int

    @property
    def complete(self) -> bool:
        """Whether all ranks came to MPI_Finalize with all that they asked for."""
        return len(self.each) == self.ranks and all(one.elapsed_s is not None for one in self.each)

    @property
    def elapsed_s(self) -> float | None:
        """Real time of the longest rank."""
        known = [one.elapsed_s for one in self.each if one.elapsed_s is not None]
        return max(known) if self.complete else None

    @property
    def computed_s(self) -> Sequence[float]:
        return [one.computed_s for one in self.each]

    @property
    def nodes(self) -> int:
        return len({one.node for one in self.each})

    @property
    def events(self) -> int:
        return sum(one.events for one in self.each)

    def refusal(self) -> str | None:
        """Why it cannot be replayed; None if it can."""
        for one in self.each:
            if one.lost:
                return (
                    f"there was no room for all that rank {one.rank} did; record it where the disk has some"
                )
        if not self.complete:
            missing = self.ranks - sum(one.elapsed_s is not None for one in self.each)
            return (
                f"{missing} of {self.ranks} ranks did not reach MPI_Finalize, and the others would wait for "
                "them; record a run that ends"
            )
        for one in self.each:
            if one.unsupported:
                return f"rank {one.rank} calls MPI_{one.unsupported}, which cannot be replayed"
            if one.other_threads:
                return (
                    f"several threads of rank {one.rank} call MPI, and in which order is their affair; "
                    "record the program with one thread that communicates"
                )
            if one.unseen:
                return (
                    f"rank {one.rank} uses a communicator or a window of which the recorder has not seen how "
                    "it was made"
                )
        return None
