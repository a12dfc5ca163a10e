"""The header of a trace; only the replayer reads its event streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kiviat.record.units import counted
from kiviat.trace.layout import Layout

ENDED = 2  # native/trace/format.hpp: Stage


@dataclass(frozen=True)
class Rate:
    """Compute rate of a core of the recording machine in flop/s, the median of several readings.

    `how` names the measurement. `flops_min` and `flops_max` are the lowest and the highest reading; None if
    there was one only, as in traces of earlier versions.
    """

    flops: float
    how: str
    flops_min: float | None = None
    flops_max: float | None = None


@dataclass(frozen=True)
class RankTrace:
    """The trace of one rank. `node` numbers nodes by their first rank; `calls` and `bytes` are by operation.

    `computed_s` is processor time outside of MPI, `elapsed_s` real time from the end of MPI_Init to the
    beginning of MPI_Finalize, None if the rank did not reach it.

    `times` is None if the stream holds computation. If it holds times of calls instead, `computed_s` is 0,
    and `times` has the words of the header that describe the rank's clock.

    `unsupported` is the first call that cannot be replayed, `crossed` the first that cannot because calls of
    other threads began or ended meanwhile, `other_threads` the number of calls by threads that were not
    recorded, `apart` that of collectives recorded as a beginning and a wait, `failed` the first call that
    failed and may have done something before, `unseen` the number of communicators and windows of unknown
    origin, `sparse` that of MPI_Alltoallv calls with empty parts. `lost` means that the stream is incomplete
    for lack of disk space. The stream has `stream_bytes`, compressed `packed_bytes`.
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
    times: Mapping[str, int] | None = None
    crossed: str | None = None
    apart: int = 0
    failed: str | None = None


@dataclass(frozen=True)
class Trace:
    """A trace file. `each` has the recorded ranks in ascending order; `rate` is None if it was not measured.

    `layout` names operations and calls of the streams. The compressed streams follow each other from offset
    `streams_at` on.
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
    layout: Layout
    subject: str | None = None

    @property
    def title(self) -> str:
        """What was recorded, and on how many ranks: "CG class A, 16 ranks"."""
        return f"{self.subject or self.program}, {counted(self.ranks, 'rank')}"

    @property
    def complete(self) -> bool:
        """True if all ranks were recorded up to MPI_Finalize."""
        return len(self.each) == self.ranks and all(rank.elapsed_s is not None for rank in self.each)

    @property
    def elapsed_s(self) -> float | None:
        """Real time of the slowest rank in seconds, None if the trace is incomplete."""
        known = [rank.elapsed_s for rank in self.each if rank.elapsed_s is not None]
        return max(known) if self.complete else None

    @property
    def computed_s(self) -> Sequence[float]:
        """Seconds that each rank computed."""
        return [rank.computed_s for rank in self.each]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len({rank.node for rank in self.each})

    @property
    def events(self) -> int:
        """Number of events of all ranks."""
        return sum(rank.events for rank in self.each)

    @property
    def timed(self) -> bool:
        """True if it holds when calls began and ended, False if it holds the time computed between them."""
        return any(rank.times is not None for rank in self.each)

    def refusal(self) -> str | None:
        """Return the reason why the trace cannot be replayed, None if it can."""
        if self.timed:
            return "it holds times of calls instead of computation; record without --times"
        for rank in self.each:
            if rank.lost:
                return f"the disk was too small for the events of rank {rank.rank}; record on a larger one"
        if not self.complete:
            missing = self.ranks - sum(rank.elapsed_s is not None for rank in self.each)
            return (
                f"{missing} of {self.ranks} ranks did not reach MPI_Finalize, and the others would wait for "
                "them; record a run that ends"
            )
        for rank in self.each:
            if rank.unsupported:
                return f"rank {rank.rank} calls MPI_{rank.unsupported}, which cannot be replayed"
            if rank.other_threads:
                return (
                    f"several threads of rank {rank.rank} call MPI without MPI_THREAD_SERIALIZED or more, or "
                    "the recorder was an older one; record the program with this level"
                )
            if rank.crossed:
                return (
                    f"rank {rank.rank} calls MPI_{rank.crossed} while another thread calls MPI, which cannot "
                    "be replayed; let other threads wait during such calls"
                )
            if rank.failed:
                return (
                    f"MPI_{rank.failed} of rank {rank.rank} failed, and what it did before is unknown; "
                    "record a run in which it succeeds"
                )
            if rank.unseen:
                return f"rank {rank.rank} uses a communicator or a window whose creation was not recorded"
        return None
