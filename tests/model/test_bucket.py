"""The effect of token buckets is removed from ping-pongs before they are fitted."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from kiviat.model.bucket import Bucket, with_trailer, without
from kiviat.model.fit import fit_level, with_exchange
from kiviat.record import InputError
from tests.analysis.rows import curve
from tests.model.test_fit import KNOWN, SIZES, written

LINK = 12e6
LATENCY_S = 8e-6
BUCKET = Bucket(1500, 4000, 1448)


def seconds(size: int) -> float:
    """Closed-form ping-pong time over links with the bucket; a link carries one message per round trip."""
    of_full_bucket_s = LATENCY_S + (size - BUCKET.at_once(size, 1.0, LINK)) / LINK
    return max(of_full_bucket_s, size / 2 / LINK)


POINTS = curve([(size, seconds(size)) for size in SIZES])


@pytest.mark.parametrize(
    ("size", "at_once"),
    [(0, 0), (100, 100), (1448, 1448), (2000, 1500 + 552), (2896, 1500 + 1448), (100_000, 1500 + 88)],
)
def test_an_idle_link_lets_the_narrower_bucket_and_the_last_packet_pass(size: int, at_once: float) -> None:
    assert BUCKET.at_once(size, 1.0, LINK) == min(size, at_once)


@pytest.mark.parametrize(
    ("size", "at_once"), [(1500, 1500 + 52), (1999, 1500 + 551), (2000, 1500), (2896, 1500)]
)
def test_a_trailer_waits_for_the_whole_message(size: int, at_once: float) -> None:
    assert replace(BUCKET, trailer_from=2000).at_once(size, 1.0, LINK) == min(size, at_once)


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("alone", [(1600, 2000, 2800), (1600, 2000, 2800, 5000), ()])
def test_messages_show_a_trailer(ended: bool, alone: tuple[int, ...]) -> None:
    """Single messages or ping-pongs show it: processor costs vary less than the waits of a wrong rule."""
    sent = replace(BUCKET, trailer_from=1600) if ended else BUCKET

    def seen_s(size: int, every_s: float) -> float:
        waits_s = (size - sent.at_once(size, every_s, LINK)) / LINK
        return LATENCY_S * (1 + min(size, 2000) / 2000) + waits_s

    sizes = [] if alone else [1 << k for k in range(18)]
    ping_pongs = [(size, max(seen_s(size, 1.0), size / 2 / LINK)) for size in sizes]
    rested = {size: seen_s(size, math.inf) for size in alone}
    assert (with_trailer(BUCKET, curve(ping_pongs), LINK, rested).trailer_from < math.inf) == ended


def test_a_trailer_begins_where_it_is_needed() -> None:
    """The last packet of shorter messages, which were sent without a trailer, still passes at once."""
    sent = replace(BUCKET, trailer_from=5000)
    sizes = (1600, 2000, 3500, 5000, 7000, 9000, 12_000)
    rested = {size: LATENCY_S + (size - sent.at_once(size, math.inf, LINK)) / LINK for size in sizes}
    assert with_trailer(BUCKET, (), LINK, rested) == sent


@pytest.mark.parametrize("sizes", [(1600, 2000), (1448 * 2 + 50, 1448 * 3 + 50, 1448 * 4 + 50)])
def test_few_sizes_or_multiples_of_packets_do_not_show_it(sizes: tuple[int, ...]) -> None:
    ended = replace(BUCKET, trailer_from=1600)
    rested = {size: LATENCY_S + (size - ended.at_once(size, math.inf, LINK)) / LINK for size in sizes}
    noisy = {size: seconds * (1 + 0.1 * (-1) ** at) for at, (size, seconds) in enumerate(rested.items())}
    assert with_trailer(BUCKET, (), LINK, noisy) == BUCKET


def test_a_link_that_is_never_idle_lets_nothing_pass() -> None:
    assert BUCKET.at_once(14_480, 0.0, LINK) == 0


def test_what_the_bucket_decided_says_nothing() -> None:
    left = {one.point.bytes for one in without(BUCKET, POINTS, LINK)}
    assert set(SIZES) - left == {256, 512, 1024, 2048, 4096}


def test_the_first_messages_after_a_rest_say_what_processors_take() -> None:
    """The latency doubles above 600 B, which medians cannot show, because the bucket determines them."""
    points = [
        replace(point, minimum=2 * LATENCY_S) if size in (1024, 1448) else point
        for size, point in zip((*SIZES, 1448), (*POINTS, *curve([(1448, seconds(1448))])), strict=True)
    ]
    points.sort(key=lambda point: point.bytes or 0)
    kept = {one.point.bytes: one for one in without(BUCKET, points, LINK)}
    assert kept[1024].seen_s == 2 * LATENCY_S
    assert kept[1024].point.median == pytest.approx(2 * LATENCY_S + 1024 / LINK)
    assert 512 not in kept, "its quickest sample waited for the bucket, too"
    fitted = fit_level(points, LINK, BUCKET)
    for size, latency_s in ((64, LATENCY_S), (1024, 2 * LATENCY_S), (1448, 2 * LATENCY_S)):
        assert fitted.time(size) - size / LINK == pytest.approx(latency_s, rel=0.02), size


def test_single_messages_after_a_rest_replace_what_the_bucket_decided() -> None:
    rested = {64: 5 * LATENCY_S, 1024: 2 * LATENCY_S, 2048: 2 * LATENCY_S + 500 / LINK}
    kept = {one.point.bytes: one.point.median for one in without(BUCKET, POINTS, LINK, rested)}
    assert kept[64] == pytest.approx(LATENCY_S + 64 / LINK), "its ping-pong shows what it costs"
    assert kept[1024] == pytest.approx(2 * LATENCY_S + 1024 / LINK)
    assert kept[2048] == pytest.approx(2 * LATENCY_S + (500 + BUCKET.at_once(2048, 1.0, LINK)) / LINK)
    assert 512 not in kept
    fitted = fit_level(POINTS, LINK, BUCKET, rested)
    for size, latency_s in ((64, LATENCY_S), (1024, 2 * LATENCY_S)):
        assert fitted.time(size) - size / LINK == pytest.approx(latency_s, rel=0.02), size


def test_single_messages_that_cost_more_are_no_switch_to_rendezvous() -> None:
    """A fit once detected an eager limit at the size where single messages replace ping-pongs."""
    rate = 1e9 / 8 * 1448 / 1514
    bucket = Bucket(15_670, 31_340, 15_928, 1448, 76)
    sizes = [1 << k for k in range(23)]
    waits_s = {size: bucket.on_link_s(size, rate) - bucket.at_once(size, 1.0, rate) / rate for size in sizes}
    ping_pongs = curve([(s, max(5e-6 + waits_s[s], bucket.on_link_s(s, rate) / 2)) for s in sizes])
    rested = {size: 13e-6 + waits_s[size] for size in sizes if size <= 65536}
    fitted = fit_level(ping_pongs, rate, bucket, rested)
    assert fitted.time(2048) > fitted.time(1024) + 7e-6 and fitted.waits_from is None


def test_the_line_behind_the_bucket_is_found_again() -> None:
    fitted = fit_level(POINTS, LINK, BUCKET)
    for size in (0, 64, 256, 1024, 4096, 8192, 65536, 1 << 20):
        assert fitted.time(size) == pytest.approx(LATENCY_S + size / LINK, rel=0.02), size
    assert dict(fitted.points) == {point.bytes: point.median for point in POINTS}
    assert fitted.waits_from is None
    # A fit without the bucket attributes the time of short messages to the link, not to the latency.
    assert fit_level(POINTS, LINK).time(64) < 0.9 * LATENCY_S


def test_the_file_has_the_bucket_and_gives_the_processors_the_latency(tmp_path: Path) -> None:
    bucket = replace(BUCKET, trailer_from=2000)
    structure = replace(KNOWN, link=LINK, link_source="asked for", bucket=bucket, wire_s=0.0)
    machine = written(tmp_path, structure, network=fit_level(POINTS, LINK, BUCKET))
    assert machine.number("nic.bucket_out") == 1500
    assert machine.number("nic.bucket_in") == 4000
    assert machine.number("nic.packet") == 1448
    assert machine.number("nic.trailer_from") == 2000
    first = machine.segments["network"][0]
    assert first.latency.value == 0
    assert first.send is not None and first.send.value == pytest.approx(LATENCY_S / 2, rel=0.02)
    assert first.receive is not None and first.receive.confidence == "assumed"
    assert any("256 to 4096 B" in question for question in machine.open_questions)


@pytest.mark.parametrize("wire_s", [0.0, 5e-6])
def test_the_file_says_how_long_a_sender_is_busy(tmp_path: Path, wire_s: float) -> None:
    """Messages that arrive meanwhile wait, so the time on the wire counts, too."""
    structure = replace(KNOWN, link=LINK, link_source="asked for", bucket=BUCKET, wire_s=wire_s)
    exchanges = curve([(size, LATENCY_S + 3e-6) for size in (0, 1, 2)], benchmark="pingping")
    fitted = with_exchange(fit_level(POINTS, LINK, BUCKET), exchanges, LINK)
    segments = written(tmp_path, structure, network=fitted).segments
    assert segments["network"][0].after is not None
    assert segments["network"][0].after.value == pytest.approx(3e-6 + wire_s)
    assert segments["node"][0].after is None


def test_sizes_that_the_bucket_decided_do_not_count() -> None:
    short = [point for point in POINTS if point.bytes in (256, 1024, 4096, 8192)]
    with pytest.raises(
        InputError, match="4 sizes between these ranks, 3 of them decided by the link's bucket"
    ):
        fit_level(short, LINK, BUCKET)


def test_nothing_is_said_of_processors_that_no_message_crossed(tmp_path: Path) -> None:
    structure = replace(KNOWN, link=LINK, link_source="asked for", bucket=BUCKET, wire_s=0.0)
    machine = written(tmp_path, structure, node=fit_level(POINTS))
    assert machine.segments["network"][0].send is None


def test_a_wire_of_known_length_keeps_its_latency(tmp_path: Path) -> None:
    structure = replace(KNOWN, link=LINK, link_source="asked for", bucket=BUCKET, wire_s=5e-6)
    first = written(tmp_path, structure, network=fit_level(POINTS, LINK, BUCKET)).segments["network"][0]
    assert first.latency.value == pytest.approx(5e-6)
    assert first.send is not None and first.send.value == pytest.approx((LATENCY_S - 5e-6) / 2, rel=0.05)
