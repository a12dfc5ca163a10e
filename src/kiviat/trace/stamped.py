"""What ranks did and when: their calls, messages and collectives, as the recorder wrote them with times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class Meeting(IntEnum):
    """Who waits for whom in a collective: all for all, all for the root, the root for all, each for those
    before it, each for its neighbours.
    """

    ALL = 0
    FROM_ROOT = 1
    TO_ROOT = 2
    SCAN = 3
    NEIGHBOURS = 4


@dataclass(frozen=True, slots=True)
class Clock:
    """What a rank's clock lacks to that of rank 0, ns, at two moments of its own; `error_ns` is half of the
    longer one of the two round trips that told, 0 where both ranks read the same clock.
    """

    offsets_ns: tuple[int, int]
    moments_ns: tuple[int, int]
    error_ns: float

    def shared(self, times_ns: Integers) -> Integers:
        """Times of this rank on the clock of rank 0."""
        (first, last), (begin, end) = self.offsets_ns, self.moments_ns
        slope = (last - first) / (end - begin) if end > begin else 0.0
        shift: Integers = (first + slope * (times_ns - begin)).astype(np.int64)
        return times_ns + shift


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Sends or receipts: `comm` as Communicators numbers them, `peer` a rank of the world; `began` and `done`
    are places among the rank's calls, `done` -1 where nobody waited for it.
    """

    comm: Integers
    peer: Integers
    tag: Integers
    began: Integers
    done: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Meetings:
    """Collectives: the `number`-th one of `comm`. `kind` is a Meeting, `root` a rank of the world or -1."""

    comm: Integers
    number: Integers
    kind: Integers
    root: Integers
    began: Integers
    done: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Stamped:
    """What one rank did. `entered_ns` and `left_ns` are times of its calls on the clock of rank 0, `call`
    their numbers in `names`, `counted` whether they count, which MPI_Pcontrol says.

    `probes` are receipts that were only looked for: `done` is the place of the call that did, and `began` how
    many messages of the same kind had been asked for by then. `sources` are the neighbours that a meeting
    waits for, by its place among the meetings.
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
    meetings: Meetings
    sources: Mapping[int, Sequence[int]]


@dataclass(eq=False)
class Communicators:
    """Those of all ranks by number: communicators of equal members are told apart by their order, which their
    members agree on.
    """

    members: list[tuple[int, ...]] = field(default_factory=list)
    _known: dict[tuple[tuple[int, ...] | int, ...], int] = field(default_factory=dict)

    def number(self, key: tuple[tuple[int, ...] | int, ...], members: tuple[int, ...]) -> int:
        found = self._known.setdefault(key, len(self.members))
        if found == len(self.members):
            self.members.append(members)
        return found
