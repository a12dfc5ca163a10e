"""One rank's stream of events and times, read in one pass. native/trace/format.hpp says how it is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from kiviat.trace.stamp_messages import MessageSteps, unfolded
from kiviat.trace.stamped import Clock, Communicators, Integers, Meeting, Meetings, Messages, Stamped

_WORLD, _SELF = 0, 1
_CALL, _ELAPSED, _INSIDE = range(3)

# With parameters before the request (or before what `_array` reads), the communicator first.
_SENDS = ("send", "ssend", "bsend", "isend", "issend")
_FIXED = {
    "barrier": (1, Meeting.ALL),
    "bcast": (4, Meeting.FROM_ROOT),
    "scatter": (4, Meeting.FROM_ROOT),
    "gather": (4, Meeting.TO_ROOT),
    "reduce": (5, Meeting.TO_ROOT),
    "allgather": (3, Meeting.ALL),
    "alltoall": (3, Meeting.ALL),
    "allreduce": (4, Meeting.ALL),
    "reduce_scatter_block": (4, Meeting.ALL),
    "scan": (4, Meeting.SCAN),
    "exscan": (4, Meeting.SCAN),
}
# Words of what concerns windows alone; those with ranges of ranks are read apart.
_ON_WINDOWS = {
    **dict.fromkeys(("put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"), 5),
    **dict.fromkeys(("win_complete", "win_wait", "win_lock_all", "win_unlock_all", "win_flush_all"), 1),
    **dict.fromkeys(("win_unlock", "win_flush"), 2),
    "win_lock": 3,
}


class StampStream(MessageSteps):
    """One pass over the numbers of a rank."""

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
        self.counts = True  # calls, since the last MPI_Pcontrol
        self.meetings: list[list[int]] = [[], [], [], [], [], []]
        self.sources: dict[int, Sequence[int]] = {}
        self.met: dict[int, int] = defaultdict(int)
        self.alike: dict[tuple[int, ...], int] = defaultdict(int)
        self.windows: dict[int, int] = {}
        self.made = False  # a communicator, by those who are in it
        self.derived = -1  # where its meeting stands, if there was one
        self.alone = communicators.number((-1, rank), (rank,))
        self.comms[_WORLD] = self._comm(tuple(range(ranks)))
        self.comms[_SELF] = self.alone
        self.steps = [self._step(name) for name in operations]

    def read(self) -> None:
        numbers, steps = self.numbers, self.steps
        while self.at + 1 < len(numbers):
            operation = numbers[self.at + 1]
            self.at += 2
            step = steps[operation]
            if step is None:
                break
            step()

    def stamped(self, begun_ns: int, clock: Clock, clock_of: int) -> Stamped:
        count = len(self.calls)
        entered, left = (begun_ns + np.array(times, dtype=np.int64) for times in (self.entered, self.left))
        sends = _messages(self.sends, count, self.cancelled_sends)
        receipts = _messages(self.receipts, count, self.cancelled_receipts)
        probes = _messages(self.probes, count, ())
        return Stamped(
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
            Meetings(*_columns(self.meetings, count)),
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
            "gatherv": lambda: self._rooted_array(Meeting.TO_ROOT),
            "scatterv": lambda: self._rooted_array(Meeting.FROM_ROOT),
            "allgatherv": lambda: self._arrays((1,), 0),
            "alltoallv": lambda: self._arrays((1, 1), 0),
            "alltoallw": lambda: self._arrays((0, 0), 0),
            "reduce_scatter": lambda: self._arrays((1,), 1),
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
        }[name]

    # --- what the stream is made of ---------------------------------------------------------------------

    def _array(self, comm: int) -> None:
        """Counts, for all members."""
        missing = len(self._ranks(comm))
        while missing > 0:
            self.at += 2
            missing -= self.numbers[self.at - 1]

    def _runs(self) -> tuple[int, ...]:
        many, found = self._next(), list[int]()
        if many > self.ranks:
            raise ValueError(f"{many} members of {self.ranks} ranks")
        while len(found) < many:
            first, step, length = self._next(), unfolded(self._next()), self._next()
            if length > many - len(found):
                raise ValueError(f"{length} members in a row, of {many}")
            found += range(first, first + step * length, step) if step else [first] * length
        return tuple(found)

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
        self.found = -1
        self.at = at + 3

    def _control(self) -> None:
        self.counts = self._next() != 0

    # --- collectives ------------------------------------------------------------------------------------

    def _meet(self, words: int, kind: Meeting, requests: bool = True) -> int:
        """`words` before the request, where there may be one."""
        at = self.at
        comm = self.comms[self.numbers[at]]
        self.at += words
        request = self._next() if requests else 0
        rooted = kind in (Meeting.FROM_ROOT, Meeting.TO_ROOT)
        return self._met(comm, kind, self._ranks(comm)[self.numbers[at + 1]] if rooted else -1, request)

    def _met(self, comm: int, kind: Meeting, root: int = -1, request: int = 0) -> int:
        """Where it stands; -1 for that of a rank with itself."""
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

    def _rooted_array(self, kind: Meeting) -> None:
        at = self.at
        comm, root = self.comms[self.numbers[at]], self.numbers[at + 1]
        members = self._ranks(comm)
        self.at += 4
        if members[root] == self.rank:
            self.at += 1
            self._array(comm)
        self._met(comm, kind, members[root], self._next())

    def _arrays(self, sizes: tuple[int, ...], after: int) -> None:
        """Arrays of counts, a size before each or none, and words after them."""
        comm = self.comms[self._next()]
        for words in sizes:
            self.at += words
            self._array(comm)
        self.at += after
        self._met(comm, Meeting.ALL, request=self._next())

    def _neighbours(self) -> None:
        comm = self.comms[self._next()]
        self.at += 2 * self.numbers[self.at] + 1
        members = self._ranks(comm)
        sources = [unfolded(self.numbers[self.at + 1 + 2 * one]) for one in range(self.numbers[self.at])]
        self.at += 2 * len(sources) + 1
        place = self._met(comm, Meeting.NEIGHBOURS, request=self._next())
        if place >= 0:
            self.sources[place] = [members[one] for one in sources if one >= 0]

    # --- communicators and windows ------------------------------------------------------------------------

    def _derive(self, words: int) -> None:
        self.derived = self._meet(words, Meeting.ALL, requests=False)
        self.made = False

    def _ends(self) -> None:
        """Of MPI_Comm_idup: it waits when its request is waited for."""
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
        if self.made:  # by its members, whoever else has heard of it
            self._met(comm, Meeting.ALL)
        self.made = False

    def _window(self) -> None:
        comm, number = self.comms[self.numbers[self.at]], self.numbers[self.at + 3]
        self._meet(4, Meeting.ALL, requests=False)
        self.windows[number] = self.communicators.number((comm, self.met[comm]), self._ranks(comm))

    def _fence(self) -> None:
        self._met(self.windows[self._next()], Meeting.ALL)

    def _ranges_of_window(self) -> None:
        self.at += 1
        self._runs()


def _messages(lists: Sequence[list[int]], calls: int, cancelled: Collection[int]) -> Messages:
    """Those that were not cancelled."""
    kept = np.ones(len(lists[0]), dtype=np.bool_)
    kept[list(cancelled)] = False
    return Messages(*(column[kept] for column in _columns(lists, calls)))


def _columns(lists: Sequence[list[int]], calls: int) -> Iterator[Integers]:
    """As arrays; what is done in a call that did not end is not done."""
    for column in lists[:-1]:
        yield np.array(column, dtype=np.int64)
    done = np.array(lists[-1], dtype=np.int64)
    yield np.where(done < calls, done, -1)
