"""Time-stamped events of ranks: calls, messages and collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class CollectiveKind(IntEnum):
    """Dependencies of ranks in a collective.

    Every rank waits for all; all for the root; the root for all; each rank for those before it; each rank for
    those that send it something.
    """

    ALL = 0
    FROM_ROOT = 1
    TO_ROOT = 2
    SCAN = 3
    NEIGHBOURS = 4


@dataclass(frozen=True, slots=True)
class Clock:
    """Offset of the clock of rank 0 from a rank's clock, in ns, at two moments of the latter.

    `error_ns` is half of the longer round trip of the two measurements, 0 if both ranks read the same clock.
    """

    offsets_ns: tuple[int, int]
    moments_ns: tuple[int, int]
    error_ns: float

    def shared(self, times_ns: Integers) -> Integers:
        """Return times of this rank on the clock of rank 0, interpolated linearly."""
        (first, last), (begin, end) = self.offsets_ns, self.moments_ns
        slope = (last - first) / (end - begin) if end > begin else 0.0
        shift: Integers = (first + slope * (times_ns - begin)).astype(np.int64)
        return times_ns + shift


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Sends or receives of a rank. `comm` is a number of Communicators, `peer` a rank of the world.

    `began` and `done` are indices of the rank's calls; `done` is -1 if no call completed the message.
    """

    comm: Integers
    peer: Integers
    tag: Integers
    began: Integers
    done: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Collectives:
    """The `number`-th collective of each communicator `comm`, in arrays with one element per collective.

    `kind` is a CollectiveKind, `root` a rank of the world or -1.
    """

    comm: Integers
    number: Integers
    kind: Integers
    root: Integers
    began: Integers
    done: Integers


@dataclass(frozen=True, slots=True, eq=False)
class RankEvents:
    """Events of one rank. `entered_ns` and `left_ns` are times of its calls on the clock of rank 0.

    `call` indexes the names of calls; `counted` is False for calls that MPI_Pcontrol excludes.
    Of `probes`, `done` is the index of the probing call, and `began` the number of receives of the same
    communicator, source and tag posted before. `sources` has the ranks that a collective of kind NEIGHBOURS
    waits for, by its index in `meetings`.
    """

    rank: int
    entered_ns: Integers
    left_ns: Integers
    call: Integers
    counted: Booleans
    clock: Clock
    clock_of: int
    sends: Messages
    receipts: Messages
    probes: Messages
    meetings: Collectives
    sources: Mapping[int, Sequence[int]]


@dataclass(eq=False)
class Communicators:
    """Numbers of the communicators of all ranks.

    Communicators with equal members are distinguished by their order of creation, which is the same on all
    members.
    """

    members: list[tuple[int, ...]] = field(default_factory=list)
    _known: dict[tuple[tuple[int, ...] | int, ...], int] = field(default_factory=dict)

    def number(self, key: tuple[tuple[int, ...] | int, ...], members: tuple[int, ...]) -> int:
        """Return the number of the communicator `key`; assigns a new one if it is unknown."""
        number = self._known.setdefault(key, len(self.members))
        if number == len(self.members):
            self.members.append(members)
        return number
