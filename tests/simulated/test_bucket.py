"""Links with token buckets, which let a burst of bytes pass at once after an idle period."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.simulated.conftest import Simulation, number
from tests.simulated.test_messages import PAIRS, pingpongs

# Rate of the link of small.toml, 1 GB/s.
RATE = 1e9
PACKET = 1000
LONG = 65_536
LAST_PACKET = LONG % PACKET


def bucket(out_bytes: int, in_bytes: int) -> dict[str, Any]:
    sizes = {"bucket_out": out_bytes, "bucket_in": in_bytes, "packet": PACKET}
    return {"nic": {key: number(f"{value} B") for key, value in sizes.items()}}


def saved(small: Simulation, changes: dict[str, Any], ranks: int, case: str) -> float:
    """Return the time that a case saves due to the buckets."""
    places = [(node, 0) for node in range(ranks)]
    (without,), (with_buckets,) = (one.times(places, [case]) for one in (small, small.with_machine(changes)))
    return without - with_buckets


@pytest.mark.parametrize(
    ("size", "out_bytes", "in_bytes", "at_once"),
    [
        (8192, 20_000, 30_000, 8192),
        (LONG, 20_000, 30_000, 20_000 + LAST_PACKET),
        (LONG, 30_000, 20_000, 20_000 + LAST_PACKET),
        (64_000, 20_000, 30_000, 20_000 + PACKET),
    ],
)
def test_the_narrower_bucket_lets_its_bytes_and_the_last_packet_pass_at_once(
    small: Simulation, size: int, out_bytes: int, in_bytes: int, at_once: int
) -> None:
    less_s = saved(small, bucket(out_bytes, in_bytes), 2, f"bcast bytes={size} mode=once")
    assert less_s == pytest.approx(at_once / RATE, rel=1e-3)


@pytest.mark.parametrize(("size", "at_once"), [(29_500, 20_000 + 500), (30_000, 20_000), (64_000, 20_000)])
def test_a_trailer_waits_for_the_whole_message(small: Simulation, size: int, at_once: int) -> None:
    changes = bucket(20_000, 30_000)
    changes["nic"]["trailer_from"] = number("30 kB")
    less_s = saved(small, changes, 2, f"bcast bytes={size} mode=once")
    assert less_s == pytest.approx(at_once / RATE, rel=1e-3)


def test_a_faster_adapter_saves_no_less_behind_the_same_cable(small: Simulation) -> None:
    changes = bucket(20_000, 30_000)
    changes["nic"]["bandwidth"] = number("2 GB/s")
    less_s = saved(small, changes, 2, "bcast bytes=64000 mode=once")
    assert less_s == pytest.approx((20_000 + PACKET) / RATE, rel=1e-3)


def test_messages_of_a_node_share_its_bucket(small: Simulation) -> None:
    """All messages of a node share its bucket: here each node sends three at once."""
    less_s = saved(small, bucket(20_000, 30_000), 4, "alltoall bytes=30000 mode=once")
    assert less_s == pytest.approx((20_000 + PACKET) / RATE, rel=0.02)


def test_a_bucket_is_full_again_after_a_rest(small: Simulation) -> None:
    """A bucket refills while the link is idle, so every call of a collective starts with a full bucket."""
    size = 150_000
    case = f"bcast bytes={size} mode=once"
    (without,) = small.times(PAIRS["network"], [case])
    filled = small.with_machine(bucket(200_000, 300_000))
    found = filled.times(PAIRS["network"], [case, case])
    assert [without - time for time in found] == pytest.approx([size / RATE] * 2, rel=1e-3)


def test_ping_pong_cannot_use_more_than_comes_back(small: Simulation) -> None:
    """Ping-pong with large buckets takes half of the time that its bytes need on the link.

    Each direction is idle half of the time, in which its bucket regains only the bytes of one message.
    """
    size = 100_000
    (bound,) = pingpongs(small.with_machine(bucket(200_000, 200_000)), PAIRS["network"], (size,))
    assert bound == pytest.approx(size / 2 / RATE, rel=0.05)
    (alone,) = pingpongs(small, PAIRS["network"], (size,))
    assert alone > 1.5 * bound


def test_processor_time_of_a_message_is_as_in_the_machine_file(small: Simulation) -> None:
    """A message that passes the buckets takes the processor time that the machine file defines.

    SMPI's envelope of 16 B, 16 µs on this link, is compensated, although the only latency is that of the hop.
    """
    slow = number("1 MB/s")
    segment = {"from": number("0 B"), "latency": number("0 s"), "bandwidth": slow}
    segment |= {"send": number("4 us"), "receive": number("4 us")}
    changes = bucket(200_000, 200_000)
    changes["nic"]["bandwidth"] = slow
    short = small.with_machine({**changes, "mpi": {"network": [segment], "eager": number("1 MB")}})
    assert pingpongs(short, PAIRS["network"], (0, 8, 1000)) == pytest.approx([8.5e-6] * 3, rel=0.01)


def test_buckets_save_only_the_time_on_the_link(small: Simulation) -> None:
    """For a message sent at half of the link's rate, buckets save only the time of its bytes on the link."""
    size = 8000
    segment = {"from": number("0 B"), "latency": number("9 us"), "bandwidth": number("500 MB/s")}
    half = {"mpi": {"network": [segment]}}
    (without,) = pingpongs(small.with_machine(half), PAIRS["network"], (size,))
    (with_buckets,) = pingpongs(
        small.with_machine({**half, **bucket(20_000, 30_000)}), PAIRS["network"], (size,)
    )
    assert without - with_buckets == pytest.approx(size / RATE, rel=1e-3)


def test_short_messages_occupy_the_link_with_their_frame(small: Simulation) -> None:
    """Frames carry 900 of 1000 B, so a message of 9 B occupies the link like 98.1 B, 0.9 times 109 B."""
    frames = bucket(1_000, 1_000)
    frames["nic"] |= {"bandwidth": number("1 MB/s"), "frame": number("900 B"), "header": number("100 B")}
    framed = small.with_machine(frames)
    times = framed.times(PAIRS["network"], [f"pingping bytes={size} mode=once" for size in (9, 900, 45_000)])
    assert times == pytest.approx([98.1e-6, 900e-6, 45e-3], rel=0.03)


def test_messages_that_cross_pass_the_bucket_at_once(small: Simulation) -> None:
    """Messages that cross take the extra time, but no time on the link for bytes that pass at once."""
    crossing_s, sizes = 30e-6, (8, 1000, 2000)
    segment = {"from": number("0 B"), "latency": number("9 us"), "bandwidth": number("1 GB/s")}
    segment["crossing"] = number(f"{crossing_s * 1e6} us")
    crossing = small.with_machine({"mpi": {"network": [segment]}, **bucket(20_000, 30_000)})
    times = crossing.times(PAIRS["network"], [f"pingping bytes={size} mode=once" for size in sizes])
    alone = pingpongs(crossing, PAIRS["network"], sizes)
    assert times == pytest.approx([time + crossing_s for time in alone], rel=1e-4)


def test_within_a_node_there_is_no_bucket(small: Simulation) -> None:
    changes = bucket(20_000, 30_000)
    assert pingpongs(small.with_machine(changes), PAIRS["node"]) == pingpongs(small, PAIRS["node"])


def test_patterns_take_as_long_in_however_many_processes(small: Simulation) -> None:
    """Results of patterns do not depend on the number of simulation processes.

    Rounding differences determine which rank is first, and so how full its bucket is.
    """

    def bandwidths(processes: int) -> list[float]:
        narrow = {"nic": {**bucket(3_000, 6_000)["nic"], "bandwidth": number("12 MB/s")}}
        there = replace(small.with_machine(narrow), environment={"KIVIAT_PROCESSES": str(processes)})
        places = [(node, core) for node in range(4) for core in range(2)]
        (result,) = there.cases(places, ["b_eff version=quick mode=once"])
        (table,) = (table for table in result["tables"] if table["name"] == "bandwidth")
        return list(table["values"])

    one, two, all_at_once = (bandwidths(processes) for processes in (1, 2, 100))
    assert one == two == all_at_once
    assert len(one) > 100 and min(one) > 0
