"""A message on an idle machine takes exactly the time that the machine file defines."""

from __future__ import annotations

import tomllib

import pytest

from kiviat.machine.modelled.machine import LEVELS, segment_numbers
from tests.simulated.conftest import SMALL, Place, Simulation, number

# Relative tolerance, because recorded times have seven digits.
EXACT = 6e-7
SIZES = (0, 1, 8, 1000, 4095, 4096, 4097, 65536, 1 << 22)
PAIRS = {"socket": [(0, 0), (0, 1)], "node": [(0, 0), (0, 2)], "network": [(0, 0), (1, 0)]}


def expected_s(simulation: Simulation, level: str, size: int) -> float:
    """Return the time of a message by the machine file: send(n) + latency + hops + n / rate + receive(n)."""
    segments = [segment_numbers(segment) for segment in simulation.machine.segments[level]]
    segment = [one for one in segments if one[0] <= size][-1]
    _, latency_s, rate, send_s, send_s_per_b, receive_s, receive_s_per_b, *_ = segment
    hop_s = simulation.machine.numbers["topology.hop"].value if level == "network" else 0.0
    return send_s + receive_s + latency_s + hop_s + size * (1 / rate + send_s_per_b + receive_s_per_b)


def pingpongs(simulation: Simulation, places: list[Place], sizes: tuple[int, ...] = SIZES) -> list[float]:
    return simulation.times(places, [f"pingpong bytes={size} mode=once" for size in sizes])


@pytest.mark.parametrize("level", LEVELS)
def test_a_single_message_takes_the_time_in_the_file(small: Simulation, level: str) -> None:
    """A single message takes the defined time.

    This compensates for two properties of SMPI: it adds 16 bytes to every message, and does not charge long
    blocking sends.
    """
    wanted = [expected_s(small, level, size) for size in SIZES]
    assert pingpongs(small, PAIRS[level]) == pytest.approx(wanted, rel=EXACT)


def test_isend_takes_as_long_as_send(small: Simulation) -> None:
    """A message by MPI_Isend takes as long as one by MPI_Send: its send time is charged exactly once."""
    for places in PAIRS.values():
        sizes = (8, 4096, 65536)
        times = small.times(places, [f"uniband window=1 bytes={size} mode=once" for size in sizes])
        answer_s, *_ = pingpongs(small, places, (0,))
        assert times == pytest.approx(
            [time + answer_s for time in pingpongs(small, places, sizes)], rel=EXACT
        )


def test_a_rank_that_has_sent_is_busy_for_a_while(small: Simulation) -> None:
    """After sending, a rank stays busy for after_s, which delays its next messages, but not a ping-pong."""
    after_s = 4e-6
    segments = tomllib.loads(SMALL.read_text())["mpi"]["network"]
    network = [{**segment, "after": number(f"{after_s} s")} for segment in segments]
    busy = small.with_machine({"mpi": {"network": network}})
    places = PAIRS["network"]
    assert pingpongs(busy, places, (8, 4096)) == pingpongs(small, places, (8, 4096))
    (send_s, receive_s) = (segment_numbers(small.machine.segments["network"][0])[i] for i in (3, 5))
    per_byte_s = sum(segment_numbers(small.machine.segments["network"][0])[i] for i in (4, 6))
    (exchange_s,) = busy.times(places, ["pingping bytes=8 mode=once"])
    assert exchange_s == pytest.approx(send_s + after_s + receive_s + 8 * per_byte_s, rel=EXACT)
    one, two = (busy.times(places, [f"uniband window={window} bytes=8 mode=once"])[0] for window in (1, 2))
    assert 2 * two - one > after_s


CROSSING_S, CROSSING_S_PER_B = 30e-6, 5e-9


@pytest.fixture
def crossing(small: Simulation) -> Simulation:
    """The small machine, on which messages that cross each other are delayed."""
    network = tomllib.loads(SMALL.read_text())["mpi"]["network"]
    for segment in network:
        segment["crossing"] = number(f"{CROSSING_S * 1e6} us")
        segment["crossing_per_byte"] = number(f"{CROSSING_S_PER_B * 1e9} ns/B")
    return small.with_machine({"mpi": {"network": network}})


def test_messages_that_cross_take_longer(small: Simulation, crossing: Simulation) -> None:
    """Crossing messages are delayed, eager and rendezvous; two in each direction take twice as long."""
    places, sizes = PAIRS["network"], (0, 8, 1000, 4096, 65536)
    both = [
        time + CROSSING_S + size * CROSSING_S_PER_B
        for size, time in zip(sizes, pingpongs(small, places, sizes), strict=True)
    ]
    for name in ("sendrecv", "pingping"):
        times = crossing.times(places, [f"{name} bytes={size} mode=once" for size in sizes])
        assert times == pytest.approx(both, rel=EXACT), name
    exchanges = crossing.times(places, [f"exchange bytes={size} mode=once" for size in sizes[:3]])
    assert exchanges == pytest.approx([2 * time for time in both[:3]], rel=EXACT)


def test_messages_that_do_not_cross_take_no_longer(small: Simulation, crossing: Simulation) -> None:
    """Ping-pongs, one-way streams and broadcasts are not delayed, because their messages do not cross."""
    sizes = (0, 8, 4096, 65536)
    lines = [f"pingpong bytes={size} mode=once" for size in sizes]
    lines += [f"uniband window={window} bytes={size} mode=once" for size in sizes for window in (1, 8)]
    assert crossing.times(PAIRS["network"], lines) == small.times(PAIRS["network"], lines)
    places = [(node, 0) for node in range(4)]
    lines = [f"bcast bytes={size} mode=once" for size in (8, 1000)]
    assert crossing.times(places, lines) == small.times(places, lines)


def test_a_long_message_waits_for_a_rank_that_is_still_busy(small: Simulation) -> None:
    """A long message is delayed, too, if its sender is still busy with an earlier one.

    Only short messages once were.
    """
    after_s, size = 400e-6, 65536
    network = tomllib.loads(SMALL.read_text())["mpi"]["network"]
    for segment in network:
        segment["after"] = number(f"{after_s * 1e6} us")
    busy = small.with_machine({"mpi": {"network": network}})
    _, _, _, send_s, send_s_per_b, receive_s, receive_s_per_b, *_ = segment_numbers(
        small.machine.segments["network"][1]
    )
    # The first case lasts until messages of the launch itself have been processed.
    lines = [f"pingpong bytes={1 << 22} mode=once", f"pingping bytes={size} mode=once"]
    _, time = busy.times(PAIRS["network"], lines)
    assert time == pytest.approx(
        send_s + after_s + receive_s + size * (send_s_per_b + receive_s_per_b), rel=EXACT
    )


@pytest.mark.parametrize(("ranks", "rate"), [(2, 4e9), (4, 2.5e9)])
def test_messages_larger_than_the_cache_share_cross_memory(
    small: Simulation, ranks: int, rate: float
) -> None:
    """Messages beyond a rank's share of the cache cross memory: one core gets 4 GB/s, four share 10 GB/s."""
    cache, passes = 65536, 2.5
    cold = small.with_machine(
        {"memory": {"message_cache": number(f"{cache} B"), "cold_passes": {**number(""), "value": passes}}}
    )
    sizes = (8, cache // ranks, 65536, 1 << 22)
    places = [(0, 0), (0, 1), (0, 2), (0, 3)][:ranks]
    wanted = [
        expected_s(small, "socket", size) + max(0, size - cache / ranks) * passes / rate for size in sizes
    ]
    assert pingpongs(cold, places, sizes) == pytest.approx(wanted, rel=EXACT)


def test_the_protocol_switches_at_the_size_in_the_file(small: Simulation) -> None:
    below, at = pingpongs(small, PAIRS["network"], (4095, 4096))
    assert at - below == pytest.approx(
        expected_s(small, "network", 4096) - expected_s(small, "network", 4095), rel=1e-3
    )
    assert at - below > 1e-6


def test_a_message_is_no_faster_than_its_narrowest_link(small: Simulation) -> None:
    narrow = small.with_machine({"nic": {"bandwidth": number("100 MB/s")}})
    size = 1 << 22
    (time,) = pingpongs(narrow, PAIRS["network"], (size,))
    assert time == pytest.approx(expected_s(small, "network", size) + size * (1 / 100e6 - 1 / 1e9), rel=EXACT)


def test_loads_in_flight_slow_messages_over_distant_hops(small: Simulation) -> None:
    """A limit on bytes in flight slows messages over distant hops: each round trip carries only that many."""
    size, hop_s, in_flight_bytes = 1 << 20, 0.5e-6, 1000
    slowed = small.with_machine({"mpi": {"in_flight": {"network": number(f"{in_flight_bytes} B")}}})
    (time,) = pingpongs(slowed, PAIRS["network"], (size,))
    assert time == pytest.approx(
        expected_s(small, "network", size) + size * 2 * hop_s / in_flight_bytes, rel=EXACT
    )


def test_a_case_takes_as_long_whatever_ran_before_it(small: Simulation) -> None:
    """The time of a case does not depend on earlier cases.

    The maximum over ranks was once that of an earlier, longer case.
    """
    lines = ["alltoall bytes=65536 mode=once", "alltoall bytes=8 mode=once", "barrier mode=once"]
    together = small.times(small.places(8), [*lines, *lines[1:], "pingpong bytes=8 mode=once", *lines])
    alone = [small.times(small.places(8), [line])[0] for line in lines]
    assert together[:3] == together[-3:] == alone
    assert together[3:5] == alone[1:]


def test_transcripts_repeat_byte_for_byte(small: Simulation) -> None:
    def transcript() -> str:
        lines = ["b_eff version=quick mode=once", "allreduce bytes=4096", "iallgather bytes=64 mode=once"]
        small.cases(small.places(5), lines)
        return (small.folder / "events.jsonl").read_text()

    assert transcript() == transcript()


@pytest.mark.parametrize(("ranks", "crosses"), [(2, False), (4, True)])
def test_messages_cross_on_nodes_of_enough_ranks_only(small: Simulation, ranks: int, crosses: bool) -> None:
    """A single pair on a node may be as fast both ways as one way, but a full node is not."""
    mpi = tomllib.loads(SMALL.read_text())["mpi"]
    levels = {level: mpi[level] for level in ("socket", "node") if level in mpi}
    for segment in (segment for level in levels.values() for segment in level):
        segment["crossing"] = number(f"{CROSSING_S * 1e6} us")
    always = small.with_machine({"mpi": levels})
    crowded = small.with_machine({"mpi": {**levels, "crossing_ranks": {**number(""), "value": 3}}})
    places = [(0, 0), (0, 1), (0, 2), (0, 3)][:ranks]
    quick, slow, crossed = (
        one.times(places, ["sendrecv bytes=8 mode=once"])[0] for one in (small, always, crowded)
    )
    assert slow > quick + 0.9 * CROSSING_S  # part of it is hidden behind the receiver's own work
    assert crossed == (slow if crosses else quick)


def test_messages_from_rotating_buffers_are_in_no_cache(small: Simulation) -> None:
    """Buffers that rotate, as in b_eff, are read from memory, also for the network if processors copy."""
    passes, size = 2.5, 4096
    copies = {"copy_bandwidth": number("1000 GB/s"), "copy_duplex": "full", "copy_reach": "network"}
    memory = {"message_cache": number("1 GB"), "cold_passes": {**number(""), "value": passes}}
    cold = small.with_machine({"core": copies, "memory": memory})
    for level in ("socket", "network"):
        rate = 4e9  # of a core; one or two ranks do not saturate the node's memory
        lines = [f"pingpong bytes={size} mode=once cache={cache}" for cache in ("hot", "off")]
        hot, off = cold.times(PAIRS[level], lines)
        assert off - hot == pytest.approx(size * passes / rate, rel=EXACT), level
