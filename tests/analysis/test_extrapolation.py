"""Extrapolation of simulated results from small problems: laws are recovered, deviations detected."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.hpcc.extrapolation import LAWS, extrapolated, memory_of, nonnegative
from tests.analysis.rows import case
from tests.report.modelled import simulated_run_json
from tests.report.synthetic import with_launches

RANKS = 64
MEMORIES = [1 << 18, 1 << 19, 1 << 20, 1 << 21]
_MACHINE = simulated_run_json(nodes=256, sockets=2, cores=1)["machine"]
RUN = with_launches([], machine={**_MACHINE, "memory_bytes": 256 * 4_000_000_000})


def order(memory: float) -> float:
    return math.sqrt(memory * RANKS / 8)


def hpl_rate(memory: float, c3: float = 4e-12, c2: float = 3e-9, c1: float = 5e-6) -> float:
    n = order(memory)
    return 2 / 3 * n**3 / (2 / 3 * c3 * n**3 + c2 * n**2 + c1 * n)


def measured(
    benchmark: str, metric: str, rate: Callable[[float], float], clock: str = "simulated", **axes: Any
) -> list[Summary]:
    return [
        case(
            [rate(memory)],
            case=f"{benchmark}/ranks={RANKS}/memory={memory}",
            benchmark=benchmark,
            ranks=RANKS,
            bytes=None,
            axes={"memory": memory, **axes},
            metric=metric,
            unit="flop/s",
            better="higher",
            clock=clock,
        )
        for memory in MEMORIES
    ]


def test_an_exact_law_is_recovered() -> None:
    """HPL times that follow a law exactly are extrapolated exactly.

    Full memory is 1.6 GB per rank: 80 % of the 4 GB that two processors share.
    """
    (found,) = extrapolated(measured("hpl", "rate", hpl_rate), RUN)
    assert found.memory_bytes == pytest.approx(1.6e9)
    assert found.value == pytest.approx(hpl_rate(1.6e9), rel=1e-6)
    assert found.held_out == pytest.approx(0, abs=1e-6)
    assert not found.assumed
    assert found.points[0] == (MEMORIES[0], pytest.approx(hpl_rate(MEMORIES[0])))
    assert "hpl on 64 ranks: 2" in found.words
    assert "from 4 sizes of 256 KiB to 2 MiB a rank by time = c3 N^3 + c2 N^2 + c1 N" in found.words
    assert found.words.endswith("off at the largest") and "+0.0%" in found.words.replace("-", "+")


def test_each_kernel_has_its_own_law() -> None:

    def size(memory: float) -> float:
        return memory * RANKS / 32

    def fft(memory: float) -> float:
        n = size(memory)
        return n * math.log2(n) / (2e-12 * n * math.log2(n) + 1e-10 * n + 3e-4)

    summaries = [
        *measured("fft", "rate", fft, scope="global"),
        *measured("fft", "rate", lambda memory: 1e9, scope="star"),
        *measured("ptrans", "rate", lambda memory: 1 / (1e-11 + 1e-8 / order(memory))),
        *measured("stream", "triad", lambda memory: 1e9),
    ]
    values = {found.benchmark: found.value for found in extrapolated(summaries, RUN)}
    assert values == {
        "fft": pytest.approx(fft(1.6e9), rel=1e-6),
        "ptrans": pytest.approx(1 / (1e-11 + 1e-8 / order(1.6e9)), rel=1e-6),
    }
    assert set(values) == set(LAWS) - {"hpl"}


def test_the_measured_order_counts_instead_of_the_memory_given() -> None:
    """The extrapolation uses the measured matrix order, not the memory given.

    HPL reserves memory for panels, so its matrix uses only three quarters of 1 MiB.
    """
    told = [
        replace(summary, metric="order", median=order(0.75 * memory)) for summary, memory in measured_cases()
    ]
    rates = measured("hpl", "rate", lambda memory: hpl_rate(0.75 * memory))
    (found,) = extrapolated([*rates, *told], RUN)
    assert found.points[0][0] == pytest.approx(0.75 * MEMORIES[0])
    assert found.value == pytest.approx(hpl_rate(1.6e9), rel=1e-6)


def measured_cases() -> list[tuple[Summary, int]]:
    return list(zip(measured("hpl", "rate", hpl_rate), MEMORIES, strict=True))


def test_deviations_from_the_law_show_at_the_size_held_out() -> None:
    """If the largest size is 25 % slower than the law fitted to the others, the deviation is reported."""
    slower = lambda memory: hpl_rate(memory) * (0.8 if memory == MEMORIES[-1] else 1)  # noqa: E731
    (found,) = extrapolated(measured("hpl", "rate", slower), RUN)
    assert found.held_out == pytest.approx(0.25, rel=1e-6)
    assert "+25.0% off" in found.words


def test_costs_are_never_negative() -> None:
    """A rate that grows faster than any law has a positive time, because no cost coefficient is negative."""
    steep = lambda memory: memory**1.2  # noqa: E731
    (found,) = extrapolated(measured("hpl", "rate", steep), RUN)
    assert 0 < found.value < math.inf
    assert found.held_out < -0.05


def test_hpl_is_not_faster_than_dgemm() -> None:
    """The rate of DGEMM bounds extrapolated HPL from above.

    In small problems messages dominate, so without this bound the fit would assign almost no cost to
    arithmetic.
    """
    n3 = 1 / (RANKS * 6.4e9)
    bound = lambda memory: 1 / max(n3, 5e-8 / order(memory))  # noqa: E731
    (dgemm,) = measured("dgemm", "rate", lambda memory: 6.4e9, scope="star")[:1]
    (free,) = extrapolated(measured("hpl", "rate", bound), RUN)
    (found,) = extrapolated([*measured("hpl", "rate", bound), dgemm], RUN)
    assert free.value > 2 * 64 * 6.4e9
    assert 0.85 * 64 * 6.4e9 < found.value < 64 * 6.4e9


def test_three_sizes_and_clocks_on_the_wall_are_not_extrapolated() -> None:
    summaries = measured("hpl", "rate", hpl_rate)
    assert extrapolated(summaries[:3], RUN) == []
    assert extrapolated(measured("hpl", "rate", hpl_rate, clock="wall"), RUN) == []


def test_memory_is_that_of_the_nodes_that_ranks_are_on() -> None:
    assert memory_of(RUN, 64) == pytest.approx(0.8 * 2e9)
    spread = {"world": 4, "ranks": [{"rank": rank, "host": f"n{rank}"} for rank in range(4)]}
    assert memory_of(replace(RUN, launches=with_launches([spread]).launches), 4) == pytest.approx(0.8 * 4e9)
    unknown = replace(RUN, machine=replace(RUN.machine, memory_bytes=None, model=None))
    (found,) = extrapolated(measured("hpl", "rate", hpl_rate), unknown)
    assert (found.memory_bytes, found.assumed) == (1e9, True)
    assert "954 MiB a rank (assumed)" in found.words


def test_nonnegative_least_squares() -> None:
    matrix = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert nonnegative(matrix, np.array([1.0, 2.0, 3.0])) == pytest.approx([1, 2])
    # The unconstrained minimum is (4/3, -5/3); with non-negative coefficients it lies on the first axis.
    assert nonnegative(matrix, np.array([2.0, -1.0, -1.0])) == pytest.approx([0.5, 0])
