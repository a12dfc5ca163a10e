"""Protocol switches in curves of time over message size: clear ones are found; smooth curves have none."""

import json
from pathlib import Path

import numpy as np
import pytest

from kiviat.analysis.statistics.changepoints import Piecewise, Switch, piecewise

SIZES = [0, *(2**k for k in range(23))]
KNEE = 1 << 16
LABELLED = json.loads(Path(__file__).with_name("pingpong_curves.json").read_text(encoding="utf-8"))["curves"]


def line(size: int) -> float:
    return 1.5e-6 + size / 10e9


def noisy(times: list[float], seed: int, noise: float = 0.02) -> list[float]:
    return list(np.array(times) * (1 + noise * np.random.default_rng(seed).standard_normal(len(times))))


def switches(
    sizes: list[int], times: list[float], half_widths: list[float] | None = None
) -> tuple[Switch, ...]:
    return piecewise(sizes, times, half_widths).switches


def test_the_switch_that_was_none_found() -> None:
    """A jump from 463 ns at 2 KiB to 2.74 µs at 4 KiB is found.

    The fit once used a single line, with a residual of 78 %.
    """
    times = [0.31e-6 + s * 75e-12 if s <= 2048 else 2.62e-6 + s * 29e-12 for s in SIZES]
    for half_widths in (None, [0.02] * len(SIZES)):
        pieces = piecewise(SIZES, noisy(times, 3, 0.01), half_widths)
        (found,) = pieces.switches
        assert (found.below, found.above, found.kind) == (2048, 4096, "jump")
        assert found.factor == pytest.approx(4.4, abs=0.3)
        assert max(piece.max_error for piece in pieces.segments) < 0.05


def judged(found: list[int], clear: list[list[int]], possible: list[list[int]]) -> tuple[int, int]:
    """Return how many labels of `clear` were found, and how many of `found` match no label at all.

    A switch matches a label that is at most one message size away.
    """

    def at(size: int, label: list[int]) -> bool:
        return SIZES.index(label[0]) - 1 <= SIZES.index(size) <= SIZES.index(label[1]) + 1

    hits = sum(any(at(size, label) for size in found) for label in clear)
    return hits, sum(not any(at(size, label) for label in [*clear, *possible]) for size in found)


def test_switches_that_an_eye_sees() -> None:
    """At least 95 % of the clear switches in 40 measured, hand-labelled curves are found.

    At most 5 % of the reported switches are wrong.
    """
    hits = wrong = clear = reported = 0
    for curve in LABELLED:
        times = [1e-6 * time for time in curve["us"]]
        found = [each.above for each in switches(SIZES, times, curve.get("half_widths"))]
        its_hits, its_wrong = judged(found, curve["clear"], curve["possible"])
        hits, wrong = hits + its_hits, wrong + its_wrong
        clear, reported = clear + len(curve["clear"]), reported + len(found)
    assert hits >= 0.95 * clear, f"{hits} of {clear}"
    assert wrong <= 0.05 * reported, f"{wrong} of {reported}"


def test_switches_of_known_place() -> None:
    """Up to three switches of random size are found in noisy curves; every third curve has an outlier."""
    hits = wrong = clear = reported = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        starts = _starts(rng, len(SIZES))
        latency, per_byte = 10 ** rng.uniform(-6.6, -5.2), 10 ** rng.uniform(-10.4, -9.3)
        times = latency + per_byte * np.array(SIZES)
        for start in starts:
            step = rng.choice([rng.uniform(1.3, 3.5), rng.uniform(0.45, 0.75)])
            per_byte *= rng.uniform(0.35, 1.0)
            at_start = step * times[start]
            latency = max(0.0, at_start - per_byte * SIZES[start])
            per_byte = (at_start - latency) / SIZES[start]
            times[start:] = latency + per_byte * np.array(SIZES)[start:]
        times *= np.exp(rng.uniform(0.003, 0.03) * rng.standard_normal(len(SIZES)))
        if seed % 3 == 0:
            times[rng.integers(len(SIZES))] *= 1.4
        found = [each.above for each in switches(SIZES, list(times))]
        its_hits, its_wrong = judged(found, [[SIZES[start]] * 2 for start in starts], [])
        hits, wrong = hits + its_hits, wrong + its_wrong
        clear, reported = clear + len(starts), reported + len(found)
    assert hits >= 0.95 * clear, f"{hits} of {clear}"
    assert wrong <= 0.05 * reported, f"{wrong} of {reported}"


def _starts(rng: np.random.Generator, sizes: int) -> list[int]:
    """Return the first message sizes of up to three protocols, at least four sizes apart."""
    starts: list[int] = []
    for start in rng.permutation(np.arange(7, sizes - 3))[: rng.integers(0, 4)]:
        if all(abs(start - other) >= 4 for other in starts):
            starts.append(int(start))
    return sorted(starts)


def test_a_smooth_curve_has_no_switches() -> None:
    alarms = sum(bool(switches(SIZES, noisy([line(size) for size in SIZES], seed))) for seed in range(200))
    assert alarms <= 4  # 2 % false alarms


def test_a_gently_bent_curve_has_no_jumps() -> None:
    """Bandwidth that decreases gradually by a third, as messages exceed the caches, is no protocol switch."""
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


def test_one_outlying_point_is_no_switch() -> None:
    times = [line(size) for size in SIZES]
    times[12] *= 1.5
    pieces = piecewise(SIZES, times)
    assert pieces.switches == ()
    assert pieces.outliers == (SIZES[12],)
    assert pieces.segments[0].s_per_byte == pytest.approx(1e-10)


def test_rendezvous_costs_a_handshake_and_saves_a_copy() -> None:
    """A switch to rendezvous (4 µs more latency, half the time per byte) and a drop at 1 MiB are found."""
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


@pytest.mark.parametrize("beyond", [1, 2])
def test_the_last_sizes_outgrow_their_lines(beyond: int) -> None:
    """A jump at the last or second-to-last size is found.

    On ARCHER2 the time rises from 52.6 µs at 2 MiB to 193 µs at 4 MiB, where messages exceed the caches.
    """
    times = [line(size) for size in SIZES]
    for place in range(len(SIZES) - beyond, len(SIZES)):
        times[place] = times[place - 1] * 4
    (found,) = switches(SIZES, times)
    assert (found.above, found.kind) == (SIZES[-beyond], "jump")


def test_a_jump_within_the_intervals_is_not_reported() -> None:
    times = [line(size) * (1.3 if size >= KNEE else 1) for size in SIZES]
    assert switches(SIZES, times, [0.05] * len(SIZES))
    assert not switches(SIZES, times, [0.2] * len(SIZES))


@pytest.mark.parametrize("points", range(6))
def test_few_sizes_have_no_switches(points: int) -> None:
    assert switches(SIZES[:points], [1e-6 * 3**i for i in range(points)]) == ()


def test_segments_are_the_lines_between_switches() -> None:
    times = [line(size) * (1.3 if size >= KNEE else 1) for size in SIZES]
    small, large = piecewise(SIZES, times).segments
    assert (small.first, small.last, large.first, large.last) == (0, KNEE // 2, KNEE, SIZES[-1])
    assert (small.latency_s, 1 / small.s_per_byte) == pytest.approx((1.5e-6, 10e9))
    assert 1 / large.s_per_byte == pytest.approx(10e9 / 1.3)
    assert large.max_error < 1e-9
    assert piecewise(SIZES[:2], times[:2]) == Piecewise((), (), ())


def test_errors_of_a_segment_are_relative() -> None:
    (whole,) = piecewise([1, 2, 3], [1.0, 2.0, 3.3]).segments
    assert 0.01 < whole.median_error < whole.max_error < 0.1
