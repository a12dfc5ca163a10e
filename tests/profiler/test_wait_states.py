"""Wait states computed from recordings with known times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.profile.wait_states import waits_in
from kiviat.profile.waits import Waits, packed, unpacked

from .recorded import Call, Event, call, folded, irecv, isend, recv, send, write_rank

Line = tuple[int, int, str, str, int, float]
Of = Callable[..., list[Line]]


def lines(waits: Waits) -> list[Line]:
    """rank, cause, call, kind, count, milliseconds"""
    columns = (waits.rank, waits.cause, waits.call, waits.kind, waits.count, 1e3 * waits.seconds)
    found = zip(*(column.tolist() for column in columns), strict=True)
    return [(*words, round(ms, 6)) for *words, ms in found]


@pytest.fixture
def of(tmp_path: Path) -> Of:
    """Return a function that computes the wait states of ranks with the given calls."""

    def found(*ranks: list[Call], **header: int) -> list[Line]:
        for rank, calls in enumerate(ranks):
            write_rank(tmp_path, rank, len(ranks), calls, **header)
        waits, _ = waits_in(tmp_path)
        assert waits.unavailable is None
        return lines(unpacked(packed(waits), 64))

    return found


def test_late_sender(of: Of) -> None:
    early = [call(0, 51, recv(0)), call(60, 61, recv(0), number=1)]
    assert of([call(50, 50.5, send(1)), call(51, 52, send(1))], early) == [
        (1, 0, "MPI_Call", "late sender", 1, 50.0)
    ]


def test_late_receiver_if_the_send_waits(of: Of) -> None:
    asks = [call(50, 51, recv(0)), call(80, 81, recv(0))]
    # The second send is buffered: it returned long before the receive was posted.
    assert of([call(0, 51, send(1)), call(60, 61, send(1))], asks) == [
        (0, 1, "MPI_Call", "late receiver", 1, 50.0)
    ]


def test_who_exchanges_waits_for_the_message(of: Of) -> None:
    early = [call(0, 1, isend(1, 0)), call(1, 2, irecv(1, 1)), call(2, 52, ("wait", 2, 0, 1), number=1)]
    late = [call(50, 50.2, isend(0, 0)), call(50.5, 51, irecv(0, 1)), call(51, 52, ("wait", 2, 0, 1))]
    assert of(early, late) == [(0, 1, "MPI_Other", "late sender", 1, 48.0)]


def test_a_wait_for_several_is_for_the_last(of: Of) -> None:
    waits = [
        call(0, 1, irecv(1, 0)),
        call(1, 2, irecv(2, 1)),
        call(10, 41, ("wait", 2, 0, 1), number=1),
        call(50, 51, irecv(2, 0)),  # the request number is reused
        call(52, 63, ("wait", 1, 0)),
    ]
    second = [call(30, 31, send(0))]
    third = [call(40, 41, isend(0, 0)), call(41, 42, ("wait", 1, 0)), call(60, 61, send(0))]
    assert of(waits, second, third) == [
        (0, 2, "MPI_Call", "late sender", 1, 8.0),
        (0, 2, "MPI_Other", "late sender", 1, 30.0),
    ]


def test_messages_are_distinguished_by_tag_and_order(of: Of) -> None:
    gets = [call(0, 11, recv(1, tag=7)), call(11, 11.5, recv(1, tag=5)), call(12, 21, recv(1, tag=5))]
    sends = [call(5, 6, send(0, tag=5)), call(10, 10.5, send(0, tag=7)), call(20, 20.5, send(0, tag=5))]
    assert of(gets, sends) == [(0, 1, "MPI_Call", "late sender", 2, 18.0)]


def test_cancelled_receipts_get_nothing(of: Of) -> None:
    gives_up = [
        call(0, 1, irecv(1, 0)),
        call(2, 3, ("cancel", 0)),
        call(3, 4, ("wait", 1, 0)),
        call(10, 31, recv(1)),
    ]
    assert of(gives_up, [call(30, 31, send(0))]) == [(0, 1, "MPI_Call", "late sender", 1, 20.0)]


def test_receives_that_could_not_be_cancelled_are_matched(of: Of) -> None:
    """A receive that could not be cancelled is matched like any other; the recorder then assigns an unused
    request number to the cancellation.
    """
    receives = [
        call(0, 1, irecv(1, 0)),
        call(2, 3, ("cancel", 7)),
        call(3, 11, ("wait", 1, 0)),
        call(12, 31, recv(1)),
    ]
    assert of(receives, [call(10, 11, send(0)), call(30, 31, send(0))]) == [
        (0, 1, "MPI_Call", "late sender", 2, 25.0)
    ]


def test_cancelled_sends_match_no_receive(of: Of) -> None:
    gives_up = [
        call(0, 1, isend(1, 0)),
        call(2, 3, ("cancel", 0)),
        call(3, 4, ("wait", 1, 0)),
        call(30, 31, send(1)),
    ]
    assert of(gives_up, [call(10, 31, recv(0))]) == [(1, 0, "MPI_Call", "late sender", 1, 20.0)]


def test_matched_messages_in_another_order(of: Of) -> None:
    """Messages matched by MPI_Mprobe are paired in the order of the probes, even if they are received in
    another order.
    """
    probe = ("probe", 0, folded(1), folded(0))
    gets = [
        call(0, 11, probe, ("matched", 0)),
        call(12, 31, probe, ("matched", 1)),
        call(31, 32, ("matched", 1), recv(1)),
        call(32, 33, ("matched", 0), irecv(1, 0)),
        call(33, 34, ("wait", 1, 0)),
        call(40, 51, recv(1)),
    ]
    sends = [
        call(10, 10.1, isend(0, 0)),
        call(30, 30.1, isend(0, 1)),
        call(30.5, 33, ("wait", 1, 0), number=1),
        call(33, 34, ("wait", 1, 1)),
        call(50, 50.5, send(0)),
    ]
    assert of(gets, sends) == [
        (0, 1, "MPI_Call", "late sender", 3, 38.0),
        (1, 0, "MPI_Other", "late receiver", 1, 1.5),
    ]


def test_what_is_not_counted_is_no_wait_but_a_message(of: Of) -> None:
    off, on = ("control", 0), ("control", 1)
    gets = [call(0, 11, recv(1)), call(12, 31, off, recv(1)), call(40, 51, on, recv(1))]
    sends = [call(10, 11, send(0)), call(30, 31, send(0)), call(50, 51, send(0))]
    assert of(gets, sends) == [(0, 1, "MPI_Call", "late sender", 2, 20.0)]


def test_a_probe_waits_for_the_message_that_is_received_later(of: Of) -> None:
    looks = [
        call(0, 1, irecv(2, 0, tag=3)),  # a message with another tag
        call(2, 11, recv(1)),
        call(12, 31, ("probe", 0, folded(1), folded(0)), number=1),
        call(31, 32, recv(1)),
    ]
    assert of(looks, [call(10, 11, send(0)), call(30, 31, send(0))], []) == [
        (0, 1, "MPI_Call", "late sender", 1, 8.0),
        (0, 1, "MPI_Other", "late sender", 1, 18.0),
    ]


def test_exchanges_both_ways(of: Of) -> None:
    """In MPI_Sendrecv around a ring each rank waits for its predecessor or its successor, whichever is
    later.
    """

    def around(rank: int, entered: float) -> Call:
        peers = folded((rank + 1) % 3), folded((rank - 1) % 3)
        return call(entered, 31, ("sendrecv", 0, peers[0], 0, 1, 1, peers[1], 0, 1, 1))

    assert of(*([around(rank, entered)] for rank, entered in enumerate((0, 10, 30)))) == [
        (0, 2, "MPI_Call", "late sender", 1, 30.0),
        (1, 2, "MPI_Call", "late receiver", 1, 20.0),
    ]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (("barrier", 0, 0), {0: (2, "imbalance", 30.0), 1: (2, "imbalance", 20.0)}),
        (("bcast", 0, 1, 4, 8, 0), {0: (1, "late root", 10.0)}),
        (("reduce", 0, 0, 4, 8, 1, 0), {0: (2, "early root", 30.0)}),
        (("scan", 0, 4, 8, 1, 0), {}),
        (("alltoallv", 0, 1, 7, 3, 1, 7, 1, 8, 2, 0), {0: (2, "imbalance", 30.0), 1: (2, "imbalance", 20.0)}),
        # Each rank receives from its successor; the last one receives nothing.
        (("neighbours", 0, 0, 1, 0, 8, 0), {}),
    ],
)
def test_collectives(
    event: tuple[str | int, ...], expected: dict[int, tuple[int, str, float]], of: Of
) -> None:
    """In collectives early ranks wait for late ones: ranks enter at 0, 10 and 30 ms, and all leave at
    31 ms.
    """
    found = of(*([call(entered, 31, event)] for entered in (0, 10, 30)))
    assert {rank: (cause, kind, ms) for rank, cause, _, kind, _, ms in found} == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            ("alltoallv", 0, 1, 7, 2, 0, 2, 1, 7, 2, 0, 2, 0),
            ("alltoallv", 0, 1, 0, 2, 7, 2, 1, 0, 2, 7, 2, 0),
        ),
        (("alltoallw", 0, 7, 2, 0, 2, 7, 2, 0, 2, 0), ("alltoallw", 0, 0, 2, 7, 2, 0, 2, 7, 2, 0)),
    ],
)
def test_an_exchange_waits_for_those_that_send_something(first: Event, second: Event, of: Of) -> None:
    """Two pairs of four ranks exchange in MPI_Alltoallv or MPI_Alltoallw: no pair waits for the other."""
    pairs = [[call(0, 100, first)], [call(30, 100, first)], [call(50, 110, second)], [call(90, 110, second)]]
    assert of(*pairs) == [
        (0, 1, "MPI_Call", "imbalance", 1, 30.0),
        (2, 3, "MPI_Call", "imbalance", 1, 40.0),
    ]


@pytest.mark.parametrize(
    ("event", "other"),
    [
        (("barrier", 0, 0), ("barrier", 0, 0)),
        (("bcast", 0, 1, 0, 8, 0), ("bcast", 0, 1, 0, 8, 0)),
        (("gatherv", 0, 0, 4, 1, 1, 4, 1, 0, 1, 0), ("gatherv", 0, 0, 0, 1, 0)),
    ],
)
def test_a_collective_that_returned_before_has_not_waited(event: Event, other: Event, of: Of) -> None:
    """A collective that returns before another rank enters it did not need that rank."""
    assert of([call(0, 10, event)], [call(30, 31, other)]) == []


def test_scan_waits_for_those_before(of: Of) -> None:
    scan = ("scan", 0, 4, 8, 1, 0)
    assert of([call(20, 21, scan)], [call(0, 22, scan)], [call(10, 23, scan)]) == [
        (1, 0, "MPI_Call", "imbalance", 1, 20.0),
        (2, 0, "MPI_Call", "imbalance", 1, 10.0),
    ]


def test_neighbours_wait_for_their_sources(of: Of) -> None:
    def around(entered: float, source: int) -> list[Call]:
        return [call(entered, 31, ("neighbours", 0, 1, 0, 8, 1, folded(source), 8, 0))]

    assert of(around(0, 1), around(10, 2), around(30, 0)) == [
        (0, 1, "MPI_Call", "imbalance", 1, 10.0),
        (1, 2, "MPI_Call", "imbalance", 1, 20.0),
    ]


def test_the_root_of_a_gather_tells_what_it_gets_of_each(of: Of) -> None:
    """The root's event of a gather contains the counts of all members, and the following events are read
    correctly.
    """
    root = [
        call(0, 11, ("gatherv", 0, 0, 4, 1, 1, 4, 1, 6, 1, 0)),
        call(20, 31, ("barrier", 0, 0)),
    ]
    other = [call(10, 11, ("gatherv", 0, 0, 6, 1, 0)), call(30, 31, ("barrier", 0, 0))]
    assert of(root, other) == [
        (0, 1, "MPI_Call", "early root", 1, 10.0),
        (0, 1, "MPI_Call", "imbalance", 1, 10.0),
    ]


def test_collectives_that_are_waited_for_later(of: Of) -> None:
    def begun(entered: float, waits: float) -> list[Call]:
        return [call(entered, entered + 1, ("barrier", 0, 1 + 3)), call(waits, 31, ("wait", 1, 3), number=1)]

    assert of(begun(0, 20), begun(30, 31)) == [(0, 1, "MPI_Other", "imbalance", 1, 10.0)]


def test_a_duplicate_that_is_waited_for_later(of: Of) -> None:
    def duplicates(entered: float, waits: float) -> list[Call]:
        members = ("members", 2, 2, 0, folded(1), 2)
        made = call(entered, entered + 1, ("comm_dup", 0, 2), members, ("ends", 3))
        return [made, call(waits, 41, ("wait", 1, 3), number=1)]

    assert of(duplicates(0, 20), duplicates(30, 41)) == [(0, 1, "MPI_Other", "imbalance", 1, 10.0)]


def test_communicators_by_their_members(of: Of) -> None:
    """Communicators are identified by their members: two successive ones contain ranks 1, 2 and 3 in reverse
    order.
    """
    split = call(0, 1, ("comm_split", 0, folded(0), 0, 2), ("members", 2, 3, 3, folded(-1), 3))
    alone = call(0, 1, ("comm_split", 0, folded(-1), 0, 0))

    def create(entered: float) -> Call:
        made = ("comm_create", 0, 3, 3, folded(-1), 3, 3), ("members", 3, 3, 3, folded(-1), 3)
        return call(entered, 6, *made, number=1)

    third = [
        *(split, create(5), call(20, 20.5, send(0, comm=3)), call(25, 25.5, send(0, comm=2))),
        call(40, 41, ("barrier", 3, 0)),
    ]
    first = [
        *(split, create(1), call(10, 26, recv(2, comm=2)), call(26, 27, recv(2, comm=3))),
        call(30, 41, ("barrier", 3, 0)),
    ]
    found = of([alone], third, [split, create(2), call(39, 41, ("barrier", 3, 0))], first)
    # In both communicators world rank 3 is rank 0, and world rank 1 is rank 2.
    assert found == [
        (2, 1, "MPI_Call", "imbalance", 1, 1.0),
        (2, 1, "MPI_Other", "imbalance", 1, 3.0),
        (3, 1, "MPI_Call", "late sender", 1, 15.0),
        (3, 1, "MPI_Call", "imbalance", 1, 10.0),
        (3, 1, "MPI_Other", "imbalance", 1, 4.0),
    ]


def test_fences_of_windows(of: Of) -> None:
    def fenced(entered: float) -> list[Call]:
        return [
            call(0, 1, ("win_create", 0, 8, 1, 0)),
            call(entered + 1, 32, ("win_fence", 0), number=1),
            call(40, 41, ("win_free", 0)),
        ]

    assert of(fenced(0), fenced(30)) == [(0, 1, "MPI_Other", "imbalance", 1, 30.0)]


def test_clocks_are_compared(tmp_path: Path) -> None:
    """Clock offset and drift are corrected: rank 1's clock is 7 s ahead, and gains 1 ms in one second."""
    ms, second = 1_000_000, 1_000_000_000
    write_rank(tmp_path, 0, 3, [call(0, 551, recv(1))], begun_ns=second, clock=1)
    write_rank(tmp_path, 2, 3, [], begun_ns=8 * second, clock=2)  # only the first rank of a clock compares it
    write_rank(
        tmp_path,
        1,
        3,
        [call(500.5, 501.5, send(0))],
        begun_ns=8 * second,
        clock=2,
        offset_before_ns=-7 * second,
        moment_before_ns=8 * second,
        trip_before_ns=20_000,
        offset_after_ns=-7 * second - ms,
        moment_after_ns=9 * second,
        trip_after_ns=40_000,
    )
    waits, _ = waits_in(tmp_path)
    assert (waits.clocks, waits.recorded, waits.remarks) == (2, 2, ())
    assert waits.seconds[0] == pytest.approx(0.5, abs=1e-6)
    assert waits.error_s[0] == pytest.approx(20e-6)


def test_clocks_that_were_not_compared_again(tmp_path: Path) -> None:
    """A rank that did not reach MPI_Finalize has compared its clock at the beginning only, which is told."""
    write_rank(tmp_path, 0, 2, [], clock=1)
    write_rank(tmp_path, 1, 2, [], clock=2, trip_before_ns=20_000, moment_before_ns=1, stage=1)
    assert waits_in(tmp_path)[0].remarks == (
        "1 of 2 ranks did not reach MPI_Finalize",
        "clocks were compared at the beginning only; errors may be greater than stated",
    )


def test_a_rank_may_seem_to_enter_after_the_return(tmp_path: Path) -> None:
    """A rank that seems to enter later by less than the error of the clocks was waited for."""
    barrier = ("barrier", 0, 0)
    clock = {"clock": 2, "trip_before_ns": 1_000_000, "moment_before_ns": 1}
    write_rank(tmp_path, 0, 2, [call(0, 30, barrier)], clock=1)
    write_rank(tmp_path, 1, 2, [call(30.4, 31, barrier)], **clock)
    waits, _ = waits_in(tmp_path)
    assert (waits.rank.tolist(), waits.cause.tolist()) == ([0], [1])
    assert waits.seconds[0] == pytest.approx(0.03)


def test_less_than_the_clocks_tell_is_no_wait(tmp_path: Path) -> None:
    write_rank(tmp_path, 0, 2, [call(0, 1, recv(1))], clock=1)
    write_rank(tmp_path, 1, 2, [call(0.4, 1, send(0))], clock=2, trip_before_ns=1_000_000, moment_before_ns=1)
    assert waits_in(tmp_path)[0].rank.size == 0


@pytest.mark.parametrize(
    ("header", "said"),
    [({"other_threads": 3}, "several threads of rank 0"), ({"lost": 1}, "too small")],
)
def test_what_cannot_be_told_is_unavailable(header: dict[str, int], said: str, tmp_path: Path) -> None:
    write_rank(tmp_path, 0, 1, [call(0, 1, ("barrier", 0, 0))], **header)
    waits, _ = waits_in(tmp_path)
    assert waits.unavailable is not None and said in waits.unavailable
    assert unpacked(packed(waits), 64).unavailable == waits.unavailable


def test_nothing_recorded(tmp_path: Path) -> None:
    assert waits_in(tmp_path)[0].unavailable == "no rank recorded the times of its calls"
