"""Protocol switches: found if they exist, and not otherwise."""

import numpy as np
import pytest

from kiviat.analysis.statistics.changepoints import segments, switches

SIZES = [0, *(2**k for k in range(23))]
KNEE = 1 << 16


def line(size: int) -> float:
    return 1.5e-6 + size / 10e9


def noisy(times: list[float], seed: int, noise: float = 0.02) -> list[float]:
    return list(np.array(times) * (1 + noise * np.random.default_rng(seed).standard_normal(len(times))))


def test_a_smooth_curve_has_no_switches() -> None:
    alarms = sum(bool(switches(SIZES, noisy([line(size) for size in SIZES], seed))) for seed in range(200))
    assert alarms <= 4  # 2 %


def test_a_gently_bent_curve_has_no_jumps() -> None:
    """Bandwidth that falls by a third as messages outgrow the caches is no protocol switch."""
    times = [1.5e-6 + size / 10e9 * (1 + 0.5 * size / (size + 2e5)) for size in SIZES]
    alarms = sum(any(s.kind == "jump" for s in switches(SIZES, noisy(times, seed))) for seed in range(100))
    assert alarms <= 2


def test_a_jump_is_always_found_in_its_place() -> None:
    times = [line(size) * (1.3 if size >= KNEE else 1) for size in SIZES]
    for seed in range(100):
        (found,) = switches(SIZES, noisy(times, seed))
        assert (found.below, found.above, found.kind) == (KNEE // 2, KNEE, "jump")
        assert found.factor == pytest.approx(1.3, abs=0.15)
        assert found.evidence > 10


def test_rendezvous_costs_a_handshake_and_saves_a_copy() -> None:
    """Eager to rendezvous: 4 µs more to begin with, half the time per byte; and a jump back at 1 MiB."""
    times = [
        line(s) if s < 8192 else 5.5e-6 + s / 20e9 if s < 1 << 20 else 0.6 * (5.5e-6 + s / 20e9)
        for s in SIZES
    ]
    for seed in range(20):
        found = switches(SIZES, noisy(times, seed))
        assert [(s.above, s.kind) for s in found] == [(8192, "jump"), (1 << 20, "jump")]
        assert found[0].factor > 2
        assert found[1].factor == pytest.approx(0.6, abs=0.08)


def test_a_bend_without_a_jump() -> None:
    times = [line(size) if size <= KNEE else line(KNEE) + (size - KNEE) / 2.5e9 for size in SIZES]
    (found,) = switches(SIZES, noisy(times, 1, 0.01))
    assert found.kind == "bend"
    assert found.below in (KNEE // 2, KNEE)
    assert found.factor == pytest.approx(4, rel=0.1)


def test_a_jump_within_the_intervals_says_nothing() -> None:
    times = [line(size) * (1.3 if size >= KNEE else 1) for size in SIZES]
    assert switches(SIZES, times, [0.05] * len(SIZES))
    assert not switches(SIZES, times, [0.2] * len(SIZES))


@pytest.mark.parametrize("points", range(6))
def test_few_sizes_have_no_switches(points: int) -> None:
    assert switches(SIZES[:points], [1e-6 * 3**i for i in range(points)]) == []


def test_segments_are_the_lines_between_switches() -> None:
    times = [line(size) * (1.3 if size >= KNEE else 1) for size in SIZES]
    small, large = segments(SIZES, times, switches(SIZES, times))
    assert (small.first, small.last, large.first, large.last) == (0, KNEE // 2, KNEE, SIZES[-1])
    assert (small.latency_s, 1 / small.s_per_byte) == pytest.approx((1.5e-6, 10e9))
    assert 1 / large.s_per_byte == pytest.approx(10e9 / 1.3)
    assert large.max_error < 1e-9
    assert segments(SIZES[:2], times[:2], []) == []


def test_errors_of_a_segment_are_relative() -> None:
    (whole,) = segments([1, 2, 3], [1.0, 2.0, 3.3], [])
    assert 0.01 < whole.median_error < whole.max_error < 0.1
