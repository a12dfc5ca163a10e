"""LogGP parameters fitted to measured curves."""

import json
import math
import re
from pathlib import Path

import pytest

from kiviat.analysis.aggregate.curves import curve as pick
from kiviat.analysis.aggregate.curves import half_bandwidth_size, time_at
from kiviat.analysis.loggp import eager_limit, fit_loggp, fit_warning, pieces_of, switch_words
from kiviat.analysis.statistics.changepoints import Switch
from tests.analysis.rows import case, curve

SIZES = [2**k for k in range(23)]
LINE = [(size, 2e-6 + size / 10e9) for size in SIZES]


def rate(value: float, ranks: int) -> object:
    return case(
        [value] * 5,
        case=f"uniband/ranks={ranks}",
        benchmark="uniband",
        ranks=ranks,
        metric="message_rate",
        unit="1/s",
        better="higher",
    )


def test_parameters_of_a_line() -> None:
    model = fit_loggp([*curve(LINE), rate(8e6, 4)])  # type: ignore[list-item]
    assert model is not None
    assert (model.latency_s, 1 / model.s_per_byte) == pytest.approx((2e-6, 10e9))
    assert model.gap_s == pytest.approx(2 / 8e6)  # two pairs communicate at once
    assert model.max_error < 1e-9
    assert model.switches == ()
    assert (model.peak_bytes, model.peak_bandwidth) == (1 << 22, pytest.approx(4194304 / LINE[-1][1]))


def test_each_protocol_has_its_line() -> None:
    model = fit_loggp(curve((size, time * (1.5 if size >= 8192 else 1)) for size, time in LINE))
    assert model is not None
    assert [(s.below, s.above) for s in model.switches] == [(4096, 8192)]
    assert [1 / s.s_per_byte for s in model.segments] == pytest.approx([10e9, 10e9 / 1.5])
    assert model.latency_s == pytest.approx(2e-6)
    assert 1 / model.s_per_byte == pytest.approx(10e9 / 1.5)
    assert model.max_error < 1e-9
    assert model.gap_s is None


@pytest.mark.parametrize("launches", [3, 5])
def test_no_switch_where_launches_differ_as_much(launches: int) -> None:
    jumping = [(size, time * (1.5 if size >= 8192 else 1)) for size, time in LINE]
    for spread, switches in ((0.01, 1), (0.5, 0)):
        values = [1 - spread, *[1.0] * (launches - 2), 1 + spread]
        points = [case([t * v for v in values], case=f"pingpong/{b}", bytes=b) for b, t in jumping]
        model = fit_loggp(points)
        assert model is not None and len(model.switches) == switches


def test_eager_limits_that_were_set() -> None:
    """In seven curves measured with a set eager limit, at least five limits are found, and none wrongly."""
    sizes = [0, *SIZES]
    text = Path(__file__).with_name("pingpong_curves.json").read_text(encoding="utf-8")
    shown = 0
    for each in json.loads(text)["curves"]:
        known = re.search(r"(?:eager limit|THRESH) (\d+) KiB", each["name"])
        if known:
            points = curve((size, 1e-6 * time) for size, time in zip(sizes, each["us"], strict=True))
            found = eager_limit(pieces_of(points))
            limit = 1024 * int(known[1])
            assert found is None or limit / 2 <= found <= limit
            shown += found is not None
    assert shown >= 5


def test_a_poor_fit_has_a_warning() -> None:
    model = fit_loggp(curve([(1, 1.0), (2, 2.0), (3, 9.0)]))
    assert model is not None and model.poor
    assert "read times from the curve" in fit_warning(model)
    good = fit_loggp(curve(LINE))
    assert good is not None and not fit_warning(good)


def test_errors_are_those_of_the_whole() -> None:
    model = fit_loggp(curve([(1, 1.0), (2, 2.0), (3, 3.3)]))
    assert model is not None
    assert 0.01 < model.median_error < model.max_error < 0.1


def test_no_model_without_data() -> None:
    assert fit_loggp([]) is None
    assert fit_loggp(curve(LINE[:2])) is None
    # times that decrease with size yield no model
    assert fit_loggp(curve([(1, 3e-6), (2, 2e-6), (4, 1e-6)])) is None


def test_half_bandwidth_by_hand() -> None:
    # The rates are 1, 2 and 8 B/s. Between 2 and 4 B the time is 1.5 s − b/4 s, so 3 B reach 4 B/s.
    points = curve([(1, 1.0), (2, 1.0), (4, 0.5)])
    assert half_bandwidth_size(points) == pytest.approx(3)
    assert half_bandwidth_size(points[2:]) is None
    assert half_bandwidth_size([]) is None
    # Between 8 B and 64 KiB it may lie anywhere.
    assert half_bandwidth_size(curve([(8, 1e-6), (65536, 4e-6)])) is None


def test_half_bandwidth_of_a_line_is_near_latency_times_bandwidth() -> None:
    """For a linear curve, n½ is about latency times bandwidth (Hockney: n½ = r∞·t0 = 20 kB).

    Relative to the largest measured rate, it is slightly smaller.
    """
    size = half_bandwidth_size(curve(LINE))
    assert size == pytest.approx(20_000, rel=0.02)


def test_a_curve_is_of_default_axes_and_fewest_ranks() -> None:
    plain = curve([(2, 1.0), (1, 1.0)])
    others = (
        curve([(1, 9.0)], ranks=4)
        + curve([(1, 9.0)], axes={"distance": 2})
        + curve([(1, 9.0)], metric="rate")
    )
    assert pick([*others, *plain], "pingpong") == [plain[1], plain[0]]
    assert pick(others, "pingping") == []


def test_times_between_sizes() -> None:
    points = curve([(2, 1.0), (4, 3.0)])
    assert [time_at(points, size) for size in (0, 2, 3, 4, 5)] == [1.0, 1.0, 2.0, 3.0, None]
    assert time_at([], 1) is None


@pytest.mark.parametrize(
    ("kind", "factor", "words"),
    [
        ("jump", 0.6, "messages take 0.600 times as long as smaller ones predict"),
        ("bend", 0.1, "each byte is 10.0 times cheaper"),
        ("bend", 3.0, "each byte costs 3.00 times as much"),
        ("bend", math.inf, "size begins to matter"),
    ],
)
def test_switches_in_words(kind: str, factor: float, words: str) -> None:
    assert switch_words(Switch(8, 16, kind, factor, 20.0)) == words


def test_a_curve_beside_which_other_ranks_waited_counts_without_another() -> None:
    """IMB's ping-pong of a job of 64 processes was no curve."""
    beside = curve([(8, 2e-6), (1024, 3e-6)], axes={"world": 64})
    assert [point.median for point in pick(beside, "pingpong")] == [2e-6, 3e-6]
    alone = curve([(8, 1e-6)])
    assert [point.median for point in pick([*beside, *alone], "pingpong")] == [1e-6]
