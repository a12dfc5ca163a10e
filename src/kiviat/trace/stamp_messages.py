"""Messages and requests of a rank, decoded from its time-stamped event stream."""

from __future__ import annotations

from collections import defaultdict

from kiviat.trace.rank_events import Communicators


def unfolded(word: int) -> int:
    """Return the signed number that `word` encodes (zigzag)."""
    return (word >> 1) ^ -(word & 1)


class MessageSteps:
    """Decoder of message events: the numbers of a rank's stream and a position in them.

    `sends`, `receipts` and `probes` hold the columns of rank_events.Messages. A pending request is a `done`
    column and an index into it.
    """

    def __init__(self, communicators: Communicators, numbers: list[int]) -> None:
        self.communicators, self.numbers, self.at = communicators, numbers, 0
        self.calls: list[int] = []
        self.sends: list[list[int]] = [[], [], [], [], []]
        self.receipts: list[list[int]] = [[], [], [], [], []]
        self.probes: list[list[int]] = [[], [], [], [], []]
        self.pending: dict[int, tuple[list[int], int]] = {}
        self.cancelled_sends: set[int] = set()
        self.cancelled_receipts: set[int] = set()
        self.posted: dict[tuple[int, int, int], int] = defaultdict(int)
        self.comms: dict[int, int] = {}
        self.alone = -1  # communicator of this rank only, whose messages are ignored
        # Matched probes: index of each message's receipt (-1 if ignored), index of the last probe, and index
        # of the receipt that is decoded next.
        self.matched: dict[int, int] = {}
        self.probe = -1
        self.taken: int | None = None

    def _next(self) -> int:
        self.at += 1
        return self.numbers[self.at - 1]

    def _skip(self, words: int) -> None:
        self.at += words

    def _ranks(self, comm: int) -> tuple[int, ...]:
        return self.communicators.members[comm]

    def _send(self) -> None:
        self._message(self.sends, self.at, len(self.calls))
        self.at += 5

    def _isend(self) -> None:
        self._begun(self.sends, self._message(self.sends, self.at, -1))

    def _recv(self) -> None:
        self._receipt(self.at, len(self.calls))
        self.at += 5

    def _irecv(self) -> None:
        self._begun(self.receipts, self._receipt(self.at, -1))

    def _begun(self, kind: list[list[int]], place: int) -> None:
        request = self.numbers[self.at + 5]
        self.pending.pop(request, None)
        if place >= 0:
            self.pending[request] = (kind[4], place)
        self.at += 6

    def _sendrecv(self) -> None:
        now, at = len(self.calls), self.at
        self._message(self.sends, at, now)
        # Format: comm to tag count size from tag count size. The receipt has all parameters except the
        # communicator.
        self._receipt(at + 4, now, self.numbers[at])
        self.at += 9

    def _message(self, kind: list[list[int]], at: int, done: int, over: int | None = None) -> int:
        """Append a message; return its index, -1 for MPI_PROC_NULL and communicators of unknown origin.

        `over`: the communicator, if it is not at position `at` of the event.
        """
        numbers = self.numbers
        comm = self.comms.get(numbers[at] if over is None else over)
        peer = unfolded(numbers[at + 1])
        if comm is None or comm == self.alone or peer < 0:
            return -1
        kind[0].append(comm)
        kind[1].append(self._ranks(comm)[peer])
        kind[2].append(unfolded(numbers[at + 2]))
        kind[3].append(len(self.calls))
        kind[4].append(done)
        return len(kind[4]) - 1

    def _receipt(self, at: int, done: int, over: int | None = None) -> int:
        if self.taken is not None:
            place, self.taken = self.taken, None
            if place >= 0:
                self.receipts[3][place], self.receipts[4][place] = len(self.calls), done
            return place
        place = self._message(self.receipts, at, done, over)
        if place >= 0:
            self.posted[self._channel(self.receipts, place)] += 1
        return place

    @staticmethod
    def _channel(kind: list[list[int]], place: int) -> tuple[int, int, int]:
        return kind[0][place], kind[1][place], kind[2][place]

    def _probe(self) -> None:
        self.probe = self._message(self.probes, self.at, len(self.calls))
        if self.probe >= 0:
            self.probes[3][self.probe] = self.posted[self._channel(self.probes, self.probe)]
        self.at += 3

    def _matched(self) -> None:
        """Decode a matched probe, which takes its message off the queue; the receipt may follow later."""
        message = self._next()
        if message in self.matched:
            self.taken = self.matched.pop(message)
            return
        place = -1
        if self.probe >= 0:
            channel = self._channel(self.probes, self.probe)
            for column, value in zip(self.receipts, (*channel, len(self.calls), -1), strict=True):
                column.append(value)
            self.posted[channel] += 1
            place = len(self.receipts[4]) - 1
        self.matched[message], self.probe = place, -1

    def _wait(self) -> None:
        now = len(self.calls)
        for _ in range(self._next()):
            if request := self.pending.pop(self._next(), None):
                request[0][request[1]] = now

    def _free(self) -> None:
        self.pending.pop(self._next(), None)

    def _cancel(self) -> None:
        done, place = self.pending.pop(self._next(), ([], 0))
        if done is self.sends[4]:
            self.cancelled_sends.add(place)
        elif done is self.receipts[4]:
            self.cancelled_receipts.add(place)
            self.posted[self._channel(self.receipts, place)] -= 1
