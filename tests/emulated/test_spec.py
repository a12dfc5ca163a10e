"""Specifications of emulated clusters, and one-line error messages for those that cannot be emulated."""

from __future__ import annotations

import pytest

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.shaping import Shaping, shaping_of
from kiviat.launch.emulated.spec import Spec, parse_spec
from kiviat.record import InputError


@pytest.mark.parametrize(
    ("text", "spec", "label"),
    [
        ("4x2", Spec(4, 2), "4x2"),
        ("4x2,rate=1Gbit,delay=50us", Spec(4, 2, 10**9, 50e-6), "4x2,rate=1Gbit,delay=50us"),
        (" 250x1 , rate = 100mbit ", Spec(250, 1, 10**8), "250x1,rate=100Mbit"),
        ("1x1,delay=0.25µs", Spec(1, 1, None, 250e-9), "1x1,delay=250ns"),
        ("2x1,rate=2.5Gbit", Spec(2, 1, 2_500_000_000), "2x1,rate=2.5Gbit"),
        ("2x1,rate=1234567890bit", Spec(2, 1, 1_234_567_890), "2x1,rate=1234567.89kbit"),
        ("2x1,delay=0s", Spec(2, 1), "2x1"),
    ],
)
def test_specifications_are_parsed(text: str, spec: Spec, label: str) -> None:
    assert parse_spec(text) == spec
    assert spec.label == label
    assert parse_spec(label) == spec


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0x2", "0 nodes"),
        ("251x1", "251 nodes"),
        ("2x0", "0 slots"),
        ("-1x2", "-1 nodes"),
        ("4", "'4' is not a number of nodes and slots"),
        ("", "write NODESxSLOTS"),
        ("2x1,rate=0Gbit", "a rate of 0Gbit"),
        ("2x1,rate=100.1Gbit", "a rate of 100.1Gbit"),
        ("2x1,rate=-1Gbit", "a rate of -1Gbit"),
        ("2x1,rate=1GB", "rate '1GB' cannot be read; its units are bit"),
        ("2x1,rate=fast", "rate 'fast' cannot be read"),
        ("2x1,delay=-5us", "a delay of -5us"),
        ("2x1,delay=5", "delay '5' cannot be read; its units are ns"),
        ("2x1,delay=2s", "a delay of 2s"),
        ("2x1,rtae=1Gbit", "unknown key 'rtae'; did you mean 'rate'?"),
        ("2x1,", "unknown key ''"),
        ("2x1,rate", "rate is given no value"),
        ("2x1,rate=1Gbit,rate=1Gbit", "rate is given twice"),
    ],
)
def test_impossible_specifications_are_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match="emulated cluster") as error:
        parse_spec(text)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_numbers_of_a_link_follow_its_rate() -> None:
    """Buffer sizes follow from the link's rate: one frame fits into the bucket, two segments into the bridge,
    one window onto the link.
    """
    for rate in (64_000, 10**8, 10**9, 10**10, 10**11):
        shaping = Shaping(rate)
        assert shaping.bucket_bytes >= 1514
        assert shaping.bridge_bucket_bytes >= 2 * shaping.segment_bytes >= 2 * 1514
        assert shaping.queued_bytes >= 2 * shaping.segment_bytes
        assert shaping.window_bytes >= min(rate / 8 * 5e-3, 64e6)
        assert shaping.refill_s * rate / 8 >= shaping.bucket_bytes + shaping.segment_bytes - 1
    assert Shaping(10**9, delay_s=0.1).window_bytes >= 2 * 0.2 * 10**9 / 8


@pytest.mark.parametrize(
    ("longest", "too_long"),
    [
        ("rate=1Gbit,delay=134ms", "rate=1Gbit,delay=135ms"),
        ("rate=10Gbit,delay=13ms", "rate=10Gbit,delay=14ms"),
        ("rate=100Gbit", "rate=100Gbit,delay=2ms"),
        ("delay=1s", "rate=1Gbit,delay=1s"),
    ],
)
def test_delays_with_which_a_stream_would_miss_the_rate_are_refused(longest: str, too_long: str) -> None:
    """The limit of the window once capped the rate of streams over long links, and nothing said so."""
    spec = Cluster.planned(parse_spec(f"2x1,{longest}")).spec
    if shaping := shaping_of(spec):
        assert shaping.window_bytes >= 4 * shaping.delay_s * shaping.rate_bit_per_s / 8
    with pytest.raises(InputError, match="may have 64 MiB in flight, too little for this rate"):
        Cluster.planned(parse_spec(f"2x1,{too_long}"))
    with pytest.raises(InputError, match="give a shorter delay or a lower rate"):
        Cluster.up(parse_spec(f"2x1,{too_long}"))
