"""Decodes the time-stamped event stream of a rank in one pass (format: native/trace/format.hpp)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from kiviat.trace.rank_events import (
    Clock,
    CollectiveKind,
    Collectives,
    Communicators,
    Integers,
    Messages,
    RankEvents,
)
from kiviat.trace.stamp_messages import MessageSteps, unfolded

_WORLD, _SELF = 0, 1
_CALL, _ELAPSED, _INSIDE = range(3)

# Operations with a fixed number of parameters: the communicator first, an optional request last.
_SENDS = ("send", "ssend", "bsend", "isend", "issend")
_FIXED = {
    "barrier": (1, CollectiveKind.ALL),
    "bcast": (4, CollectiveKind.FROM_ROOT),
    "scatter": (4, CollectiveKind.FROM_ROOT),
    "gather": (4, CollectiveKind.TO_ROOT),
    "reduce": (5, CollectiveKind.TO_ROOT),
    "allgather": (3, CollectiveKind.ALL),
    "alltoall": (3, CollectiveKind.ALL),
    "allreduce": (4, CollectiveKind.ALL),
    "reduce_scatter_block": (4, CollectiveKind.ALL),
    "scan": (4, CollectiveKind.SCAN),
    "exscan": (4, CollectiveKind.SCAN),
}
# Number of parameters of window operations; those with lists of ranks are decoded separately.
_ON_WINDOWS = {
    **dict.fromkeys(("put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"), 5),
    **dict.fromkeys(("win_complete", "win_wait", "win_lock_all", "win_unlock_all", "win_flush_all"), 1),
    **dict.fromkeys(("win_unlock", "win_flush"), 2),
    "win_lock": 3,
}


class StampStream(MessageSteps):
    """Decoder of the numbers of a rank."""

    def __init__(
        self,
        rank: int,
        ranks: int,
        communicators: Communicators,
        operations: Sequence[str],
        numbers: list[int],
    ) -> None:
        super().__init__(communicators, numbers)
        self.rank, self.ranks = rank, ranks
        self.entered: list[int] = []
        self.left: list[int] = []
        self.counted: list[bool] = []
        self.counts = True  # set by MPI_Pcontrol
        self.meetings: list[list[int]] = [[], [], [], [], [], []]
        self.sources: dict[int, Sequence[int]] = {}
        self.met: dict[int, int] = defaultdict(int)
        self.alike: dict[tuple[int, ...], int] = defaultdict(int)
        self.windows: dict[int, int] = {}
        self.made = False  # a communicator is being created by its members only
        self.derived = -1  # index of the collective that created the last communicator
        self.alone = communicators.number((-1, rank), (rank,))
        self.comms[_WORLD] = self._comm(tuple(range(ranks)))
        self.comms[_SELF] = self.alone
        self.steps = [self._step(name) for name in operations]

    def read(self) -> None:
        """Decode events up to the end of the stream."""
        numbers, steps = self.numbers, self.steps
        while self.at + 1 < len(numbers):
            operation = numbers[self.at + 1]
            self.at += 2
            step = steps[operation]
            if step is None:
                break
            step()

    def stamped(self, begun_ns: int, clock: Clock, clock_of: int) -> RankEvents:
        """Return the decoded events on the shared clock; decoded times count from `begun_ns`."""
        count = len(self.calls)
        entered, left = (begun_ns + np.array(times, dtype=np.int64) for times in (self.entered, self.left))
        sends = _messages(self.sends, count, self.cancelled_sends)
        receipts = _messages(self.receipts, count, self.cancelled_receipts)
        probes = _messages(self.probes, count, ())
        return RankEvents(
            self.rank,
            clock.shared(entered),
            clock.shared(left),
            np.array(self.calls, dtype=np.int64),
            np.array(self.counted, dtype=np.bool_),
            clock,
            clock_of,
            sends,
            receipts,
            probes,
            Collectives(*_columns(self.meetings, count)),
            self.sources,
        )

    def _step(self, name: str) -> Callable[[], object] | None:
        if name in _SENDS:
            return self._isend if name.startswith("i") else self._send
        if name in _FIXED:
            words, kind = _FIXED[name]
            return lambda: self._meet(words, kind)
        if name in _ON_WINDOWS:
            return lambda: self._skip(_ON_WINDOWS[name])
        return {
            "end": None,
            "recv": self._recv,
            "irecv": self._irecv,
            "sendrecv": self._sendrecv,
            "probe": self._probe,
            "wait": self._wait,
            "free_request": self._free,
            "cancel": self._cancel,
            "gatherv": lambda: self._rooted_array(CollectiveKind.TO_ROOT),
            "scatterv": lambda: self._rooted_array(CollectiveKind.FROM_ROOT),
            "allgatherv": lambda: self._with_counts(0),
            "alltoallv": lambda: self._exchange(1),
            "alltoallw": lambda: self._exchange(0),
            "reduce_scatter": lambda: self._with_counts(1),
            "neighbours": self._neighbours,
            "comm_dup": lambda: self._derive(2),
            "comm_split": lambda: self._derive(4),
            "comm_create": self._create,
            "comm_free": lambda: self._skip(1),
            "win_create": self._window,
            "win_fence": self._fence,
            "win_free": self._fence,
            "win_start": self._ranges_of_window,
            "win_post": self._ranges_of_window,
            "stamp": self._stamp,
            "members": self._members,
            "matched": self._matched,
            "ends": self._ends,
            "control": self._control,
            "thread": None,  # not with stamps
            "intercomm": None,
        }[name]

    # --- elements of the stream ---------------------------------------------------------------------

    def _skip_array(self, comm: int) -> None:
        """Skip an array of counts for all members."""
        missing = len(self._ranks(comm))
        while missing > 0:
            self.at += 2
            missing -= self.numbers[self.at - 1]

    def _array(self, comm: int) -> list[int]:
        """Decode an array of counts for all members; return the members whose count is not 0."""
        members, at, some = self._ranks(comm), 0, list[int]()
        while at < len(members):
            count, times = self._next(), self._next()
            if count:
                some += members[at : at + times]
            at += times
        return some

    def _runs(self) -> tuple[int, ...]:
        count, ranks = self._next(), list[int]()
        if count > self.ranks:
            raise ValueError(f"{count} members of {self.ranks} ranks")
        while len(ranks) < count:
            first, step, length = self._next(), unfolded(self._next()), self._next()
            if length > count - len(ranks):
                raise ValueError(f"{length} members in a row, of {count}")
            ranks += range(first, first + step * length, step) if step else [first] * length
        return tuple(ranks)

    def _comm(self, members: tuple[int, ...]) -> int:
        nth = self.alike[members]
        self.alike[members] += 1
        return self.communicators.number((members, nth), members)

    def _stamp(self) -> None:
        numbers, at = self.numbers, self.at
        entered = (self.left[-1] if self.left else 0) + numbers[at + _ELAPSED]
        self.calls.append(numbers[at + _CALL])
        self.entered.append(entered)
        self.left.append(entered + numbers[at + _INSIDE])
        self.counted.append(self.counts)
        self.probe = -1
        self.at = at + 3

    def _control(self) -> None:
        self.counts = self._next() != 0

    # --- collectives ------------------------------------------------------------------------------------

    def _meet(self, words: int, kind: CollectiveKind, requests: bool = True) -> int:
        """Decode a collective with `words` parameters, followed by a request unless `requests` is False.

        Return its index, -1 if the rank is alone in it.
        """
        at = self.at
        comm = self.comms[self.numbers[at]]
        self.at += words
        request = self._next() if requests else 0
        rooted = kind in (CollectiveKind.FROM_ROOT, CollectiveKind.TO_ROOT)
        return self._met(comm, kind, self._ranks(comm)[self.numbers[at + 1]] if rooted else -1, request)

    def _met(self, comm: int, kind: CollectiveKind, root: int = -1, request: int = 0) -> int:
        """Append a collective and return its index, -1 if the rank is alone in it."""
        number = self.met[comm]
        self.met[comm] += 1
        now = len(self.calls)
        if comm == self.alone:
            return -1
        line = (comm, number, int(kind), root, now, -1 if request else now)
        for column, value in zip(self.meetings, line, strict=True):
            column.append(value)
        place = len(self.meetings[5]) - 1
        if request:
            self.pending[request - 1] = (self.meetings[5], place)
        return place

    def _rooted_array(self, kind: CollectiveKind) -> None:
        at = self.at
        comm, root = self.comms[self.numbers[at]], self.numbers[at + 1]
        members = self._ranks(comm)
        self.at += 4
        if members[root] == self.rank:
            self.at += 1
            self._skip_array(comm)
        self._met(comm, kind, members[root], self._next())

    def _with_counts(self, after: int) -> None:
        """Decode a collective with the counts of all members and `after` more parameters."""
        comm = self.comms[self._next()]
        self.at += 1
        self._skip_array(comm)
        self.at += after
        self._met(comm, CollectiveKind.ALL, request=self._next())

    def _exchange(self, words: int) -> None:
        """Decode MPI_Alltoallv or MPI_Alltoallw: `words` before the counts to and from each member."""
        comm = self.comms[self._next()]
        self.at += words
        self._skip_array(comm)
        self.at += words
        sources = self._array(comm)
        # A rank waits only for those that send it something.
        sparse = len(sources) + (self.rank not in sources) < len(self._ranks(comm))
        kind = CollectiveKind.NEIGHBOURS if sparse else CollectiveKind.ALL
        place = self._met(comm, kind, request=self._next())
        if place >= 0 and sparse:
            self.sources[place] = sources

    def _neighbours(self) -> None:
        comm = self.comms[self._next()]
        self.at += 2 * self.numbers[self.at] + 1
        members = self._ranks(comm)
        sources = [unfolded(self.numbers[self.at + 1 + 2 * i]) for i in range(self.numbers[self.at])]
        self.at += 2 * len(sources) + 1
        place = self._met(comm, CollectiveKind.NEIGHBOURS, request=self._next())
        if place >= 0:
            self.sources[place] = [members[source] for source in sources if source >= 0]

    # --- communicators and windows ------------------------------------------------------------------------

    def _derive(self, words: int) -> None:
        self.derived = self._meet(words, CollectiveKind.ALL, requests=False)
        self.made = False

    def _ends(self) -> None:
        """Decode MPI_Comm_idup, which completes with its request."""
        request = self._next()
        if self.derived >= 0:
            self.meetings[5][self.derived] = -1
            self.pending[request] = (self.meetings[5], self.derived)

    def _create(self) -> None:
        self.at += 1
        self._runs()
        self.at += 1
        self.made = True

    def _members(self) -> None:
        number = self._next()
        comm = self.comms[number] = self._comm(self._runs())
        if self.made:  # the collective is among the new members
            self._met(comm, CollectiveKind.ALL)
        self.made = False

    def _window(self) -> None:
        comm, number = self.comms[self.numbers[self.at]], self.numbers[self.at + 3]
        self._meet(4, CollectiveKind.ALL, requests=False)
        self.windows[number] = self.communicators.number((comm, self.met[comm]), self._ranks(comm))

    def _fence(self) -> None:
        self._met(self.windows[self._next()], CollectiveKind.ALL)

    def _ranges_of_window(self) -> None:
        self.at += 1
        self._runs()


def _messages(lists: Sequence[list[int]], calls: int, cancelled: Collection[int]) -> Messages:
    """Return the messages without the cancelled ones."""
    kept = np.ones(len(lists[0]), dtype=np.bool_)
    kept[list(cancelled)] = False
    return Messages(*(column[kept] for column in _columns(lists, calls)))


def _columns(lists: Sequence[list[int]], calls: int) -> Iterator[Integers]:
    """Yield the columns as arrays; messages completed by a call that did not return count as incomplete."""
    for column in lists[:-1]:
        yield np.array(column, dtype=np.int64)
    done = np.array(lists[-1], dtype=np.int64)
    yield np.where(done < calls, done, -1)
