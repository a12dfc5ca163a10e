"""Time that ranks of a program wait for each other, by call and by the rank that causes the wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kiviat.profile import Profile, Waits
from kiviat.profile.recorded import Recorded
from kiviat.profile.waits import Floats, Integers

_MOST_PAIRS = 20
_MOST_CAUSES = 3


@dataclass(frozen=True, slots=True)
class Cause:
    """A rank that others wait for, with its share of the waiting, 0 … 1."""

    rank: int
    part: float


@dataclass(frozen=True, slots=True)
class CallWaits:
    """One call and kind of wait state, over all ranks: `mean_s` per rank, `of_time` of all time, 0 … 1."""

    call: str
    kind: str
    waits: int
    mean_s: float
    of_time: float
    longest_s: float
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class PairWaits:
    """Time that one rank waited for another, and its share of all waiting.

    `most` is the call and kind of wait state that contributes most.
    """

    rank: int
    cause: int
    seconds: float
    of_waiting: float
    most: str


@dataclass(frozen=True, slots=True)
class WaitUse:
    """Time in wait states in seconds per rank, as means over the ranks with data.

    `of_time` and `of_mpi` are shares of all time, and of the time in MPI, of all ranks; `least` and `most`
    are shares of all time of single ranks.

    `error_s` is the possible error of `mean_s`, because clocks are synchronised to a fraction of a round trip
    only: 0 if all ranks read one clock. `unavailable` is the reason why nothing is known; the other fields
    are then meaningless.
    """

    mean_s: float
    of_time: float
    of_mpi: float
    least: float
    most: float
    error_s: float
    calls: tuple[CallWaits, ...]
    causes: tuple[Cause, ...]
    pairs: tuple[PairWaits, ...]
    clocks: int
    recorded: int
    remarks: tuple[str, ...]
    unavailable: str | None


def wait_use_of(profile: Profile) -> WaitUse | None:
    """Summarise wait states for `kiviat show` and the report; None if they were not recorded."""
    waits = profile.waits
    if waits is None:
        return None
    if waits.unavailable:
        no = float("nan")
        return WaitUse(no, no, no, no, no, no, (), (), (), 0, 0, (), waits.unavailable)
    seen = np.flatnonzero(profile.seen)
    return _use(waits, seen, profile.thread_s[seen], float(profile.mpi_s[seen].sum()))


def wait_use_of_trace(recorded: Recorded) -> WaitUse:
    """Summarise the wait states of a trace of times in the same way."""
    known = np.flatnonzero(np.isfinite(recorded.elapsed_s))
    return _use(recorded.waits, known, recorded.elapsed_s[known], float(recorded.mpi_s[known].sum()))


def _use(waits: Waits, ranks: Integers, spent_s: Floats, mpi: float) -> WaitUse:
    """Summarise wait states of `ranks`, which took `spent_s` each and `mpi` in MPI in all, in seconds."""
    seen, whole, total = max(1, len(ranks)), float(spent_s.sum()), float(waits.seconds.sum())
    most_rank = int(max([*ranks.tolist(), *waits.rank.tolist()], default=0))
    each = np.bincount(waits.rank, waits.seconds, minlength=most_rank + 1)[ranks]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = each / spent_s
    known = share[np.isfinite(share)]
    return WaitUse(
        mean_s=total / seen,
        of_time=total / whole if whole > 0 else float("nan"),
        of_mpi=total / mpi if mpi > 0 else float("nan"),
        least=float(known.min()) if known.size else float("nan"),
        most=float(known.max()) if known.size else float("nan"),
        error_s=float(waits.error_s.sum()) / seen,
        calls=_calls(waits, seen, whole),
        causes=_causes(waits, np.ones(len(waits.rank), dtype=np.bool_)),
        pairs=_pairs(waits, total),
        clocks=waits.clocks,
        recorded=waits.recorded,
        remarks=waits.remarks,
        unavailable=None,
    )


def causes_in_words(causes: Sequence[Cause]) -> str:
    """Return the ranks that others waited for, with their shares: "rank 3 (80 %), rank 1 (15 %)"."""
    return ", ".join(f"rank {one.rank} ({100 * one.part:.0f} %)" for one in causes)


def _calls(waits: Waits, seen: int, whole_s: float) -> tuple[CallWaits, ...]:
    found = []
    for call, kind in sorted(set(zip(waits.call.tolist(), waits.kind.tolist(), strict=True))):
        of = (waits.call == call) & (waits.kind == kind)
        seconds = float(waits.seconds[of].sum())
        found.append(
            CallWaits(
                call=call,
                kind=kind,
                waits=int(waits.count[of].sum()),
                mean_s=seconds / seen,
                of_time=seconds / whole_s if whole_s > 0 else float("nan"),
                longest_s=float(waits.longest_s[of].max()),
                causes=_causes(waits, of),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.mean_s))


def _causes(waits: Waits, of: NDArray[np.bool_]) -> tuple[Cause, ...]:
    """Return the ranks that cause most of the waiting."""
    by_rank = np.bincount(waits.cause[of], waits.seconds[of])
    total = float(by_rank.sum())
    order = np.argsort(-by_rank, kind="stable")[:_MOST_CAUSES]
    return tuple(Cause(int(rank), float(by_rank[rank]) / total) for rank in order if by_rank[rank] > 0)


def _pairs(waits: Waits, total_s: float) -> tuple[PairWaits, ...]:
    pairs, pair = np.unique(np.stack((waits.rank, waits.cause), axis=1), axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    seconds = np.bincount(pair, waits.seconds, minlength=len(pairs))
    found = []
    for at in np.argsort(-seconds, kind="stable")[:_MOST_PAIRS].tolist():
        lines = np.flatnonzero(pair == at)
        most = lines[np.argmax(waits.seconds[lines])]
        found.append(
            PairWaits(
                rank=int(pairs[at, 0]),
                cause=int(pairs[at, 1]),
                seconds=float(seconds[at]),
                of_waiting=float(seconds[at]) / total_s,
                most=f"{waits.call[most]}, {waits.kind[most]}",
            )
        )
    return tuple(found)
