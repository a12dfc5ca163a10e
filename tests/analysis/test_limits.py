"""Limiting resources of a machine, compared with bounds computed by hand, and the roofline of its nodes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.hpcc.bottlenecks import BANDWIDTH, LATENCY, MEMORY, PROCESSOR, Limit, limits
from kiviat.analysis.hpcc.quantities import Size, measured_system
from kiviat.analysis.hpcc.roofline import Roofline, roofline
from tests.report.hpcc import hpcc_rows, hpcc_run


def size(nodes: int = 16, ranks: int = 16, **changes: Any) -> Size:
    rows = hpcc_rows(ranks=ranks, **changes)
    return measured_system(hpcc_run("run-a", ranks, nodes), "x", summarise(rows), rows).whole


def of(found: Size, kernel: str) -> Limit:
    (limit,) = (limit for limit in limits(found).kernels if limit.kernel == kernel)
    return limit


def bound(found: Size, kernel: str, resource: str) -> float:
    (one,) = (one for one in of(found, kernel).bounds if one.resource == resource)
    return one.rate


def test_bounds_by_hand() -> None:
    """Upper bounds of the HPCC results by hand: 16 processes on a 4 × 4 grid, N = 10,000.

    Each process has 12.5 Gflop/s in DGEMM, 5 GB/s in triad, 0.5 GB/s in the ring.
    """
    found = size()
    assert bound(found, "HPL", PROCESSOR) == pytest.approx(16 * 12.5e9)
    seconds = 4 * 1e8 * (3 / 16 + 2 * 3 / 16) / 0.5e9
    assert bound(found, "HPL", BANDWIDTH) == pytest.approx((2 / 3 * 1e12 + 1.5e8) / seconds)
    assert bound(found, "PTRANS", MEMORY) == pytest.approx(16 * 5e9 / 3)
    assert bound(found, "PTRANS", BANDWIDTH) == pytest.approx(16 * 0.5e9 * 16 / 15)
    assert bound(found, "RandomAccess", MEMORY) == pytest.approx(16 * 8e6)
    assert bound(found, "RandomAccess", LATENCY) == pytest.approx(16 * 1024 / 5e-6)
    assert bound(found, "RandomAccess", BANDWIDTH) == pytest.approx(16 * 0.5e9 / 8 * 16 / 15)
    noted = {key: replace(value, numbers={"n": 2.0**32}) for key, value in found.quantities.items()}
    found = replace(found, quantities=noted)
    assert bound(found, "FFT", BANDWIDTH) == pytest.approx(5 * 32 * 16 * 0.5e9 / (48 * 15 / 16))
    # 5 flop/B are above the ridge, so arithmetic limits it
    assert bound(found, "FFT", PROCESSOR) == pytest.approx(16 * 1e9)


@pytest.mark.parametrize(
    ("scale", "kernel", "resource"),
    [
        ({"hpl.rate": 4.0}, "HPL", PROCESSOR),  # reaches 160 of 200 Gflop/s
        ({"hpl.rate": 2.0, "ring.random_bandwidth": 0.05}, "HPL", BANDWIDTH),
        ({"ptrans.rate": 6.0}, "PTRANS", BANDWIDTH),
        ({"ptrans.rate": 15.0, "ring.random_bandwidth": 100.0}, "PTRANS", MEMORY),
        ({"fft.rate": 6.0, "dgemm.rate": 4.0}, "FFT", MEMORY),  # the ridge is at 10 flop/B
        ({"fft.rate": 6.0, "dgemm.rate": 0.5}, "FFT", PROCESSOR),  # the ridge is at 1.25 flop/B
        ({"fft.rate": 2.0, "ring.random_bandwidth": 0.2, "fft.rate/star": 5.0}, "FFT", BANDWIDTH),
        ({"random_access.updates": 5.0}, "RandomAccess", MEMORY),
        ({"random_access.updates/star": 100.0, "ring.random_latency": 100.0}, "RandomAccess", LATENCY),
        ({"random_access.updates/star": 100.0, "ring.random_bandwidth": 0.02}, "RandomAccess", BANDWIDTH),
    ],
)
def test_the_slowest_resource_limits(scale: dict[str, float], kernel: str, resource: str) -> None:
    limit = of(size(scale=scale), kernel)
    assert limit.resources == (resource,)
    assert limit.sentence.startswith(f"{kernel} is limited by {resource}: {resource} accounts for ")


def test_two_resources_that_are_close_both_limit() -> None:
    limit = of(size(scale={"ptrans.rate": 6.0, "stream.triad": 0.32}), "PTRANS")
    assert set(limit.resources) == {BANDWIDTH, MEMORY}


@pytest.mark.parametrize(
    ("without", "kernel", "says"),
    [
        (("dgemm.rate",), "HPL", "dgemm was not run"),
        (("fft.rate/star",), "FFT", "fft with scope=star was not run"),
        (("stream", "ring"), "PTRANS", "stream was not run; ring was not run"),
        (("random_access.updates/star",), "RandomAccess", "random_access with scope=star was not run"),
        (("hpl",), "HPL", "hpl was not run"),
    ],
)
def test_cannot_tell_and_what_is_missing(without: tuple[str, ...], kernel: str, says: str) -> None:
    limit = of(size(without=without), kernel)
    assert limit.resources == ()
    assert limit.sentence.startswith(f"{kernel}: cannot tell; ") and limit.sentence.endswith(f"{says}.")


def test_unexplained_time_has_no_determined_limit() -> None:
    limit = of(size(scale={"ptrans.rate": 0.1}), "PTRANS")
    assert (
        limit.resources == ()
        and "cannot tell; network bandwidth accounts for 1 % of its time" in limit.sentence
    )


def test_the_verdict_names_resources_and_kernels() -> None:
    found = limits(
        size(scale={"hpl.rate": 4.0, "ptrans.rate": 6.0, "random_access.updates": 5.0, "fft.rate": 6})
    )
    assert found.verdict == (
        "The processor limits this machine most: HPL and FFT by the processor, PTRANS by network bandwidth, "
        "RandomAccess by memory."
    )
    assert found.short == "the processor (HPL and FFT), network bandwidth (PTRANS) and memory (RandomAccess)"
    nothing = limits(size(without=("hpl", "fft", "ptrans", "random_access")))
    assert nothing.verdict == (
        "What limits this machine cannot be determined (hpl was not run; fft was not run; ptrans was not "
        "run; random_access was not run)."
    )
    enough = {"hpl.rate": 4.0}
    assert "its network is its memory" in limits(size(nodes=1, scale=enough)).verdict
    assert "on 4 nodes messages are partly within nodes" in limits(size(nodes=4, scale=enough)).verdict
    assert limits(size()).verdict == (
        "What limits this machine cannot be determined (no resource by itself accounts for enough of its "
        "time)."
    )


def test_one_process_has_no_network() -> None:
    found = limits(size(nodes=1, ranks=1, scale={"hpl.rate": 0.25}))
    assert {bound.resource for limit in found.kernels for bound in limit.bounds} <= {PROCESSOR, MEMORY}
    assert not any("at the same time" in remark for remark in found.remarks)


def test_hpl_faster_than_dgemm_is_a_mistake() -> None:
    remarks = limits(size(scale={"hpl.rate": 5.5})).remarks  # 220 of 200 Gflop/s
    assert any("HPL cannot be faster than DGEMM" in remark for remark in remarks)
    assert not any("cannot be faster" in remark for remark in limits(size(scale={"hpl.rate": 5.0})).remarks)


def test_the_process_grid_is_that_of_hpl() -> None:
    found = size()
    hpl = replace(found.quantities["hpl"], numbers={"grid_rows": 2, "grid_columns": 8})
    found = replace(found, quantities={**found.quantities, "hpl": hpl})
    seconds = 4 * 1e8 * (7 / 16 + 2 * 1 / 16) / 0.5e9
    assert bound(found, "HPL", BANDWIDTH) == pytest.approx((2 / 3 * 1e12 + 1.5e8) / seconds)


# ---- The roofline


def points(found: Roofline | str) -> dict[str, tuple[float, float, float]]:
    assert isinstance(found, Roofline)
    return {point.kernel: (point.intensity, point.rate, point.bound) for point in found.points}


def test_the_roofline_of_a_node_by_hand() -> None:
    """The roofline by hand: two nodes of two processes, with 25 Gflop/s and 10 GB/s per node."""
    found = roofline(size(nodes=2, ranks=4))
    assert isinstance(found, Roofline)
    assert (found.flops, found.bandwidth, found.ridge) == (
        pytest.approx(25e9),
        pytest.approx(10e9),
        pytest.approx(2.5),
    )
    assert (found.node, found.processes, found.missing) == (True, 2, ())
    assert points(found) == {
        "HPL": (192 / 8, pytest.approx(20e9), pytest.approx(25e9)),
        "DGEMM": (3200 / 16, pytest.approx(25e9), pytest.approx(25e9)),
        "FFT": (5 * 20 / 32, pytest.approx(2e9), pytest.approx(25e9)),
        "STREAM triad": (1 / 12, pytest.approx(10e9 / 12), pytest.approx(10e9 / 12)),
        "PTRANS": (1 / 24, pytest.approx(1e9 / 8 / 2), pytest.approx(10e9 / 24)),
    }


def test_sizes_come_from_numbers_where_the_benchmark_chose_them() -> None:
    found = size(nodes=2, ranks=4)
    numbers = {"hpl": {"block": 128.0}, "dgemm": {"order": 1600.0}, "fft_star": {"n": 2.0**21}}
    quantities = {
        key: replace(value, axes={}, numbers=numbers.get(key, {})) for key, value in found.quantities.items()
    }
    placed = points(roofline(replace(found, quantities=quantities)))
    assert (placed["HPL"][0], placed["DGEMM"][0]) == (16, 100)
    assert placed["FFT"][0] == pytest.approx(5 * math.log2(1 << 21) / 32)


def test_kernels_that_cannot_be_placed_are_named() -> None:
    found = size(nodes=2, ranks=4, without=("ptrans",))
    quantities = {key: replace(value, axes={}) for key, value in found.quantities.items()}
    roof = roofline(replace(found, quantities=quantities))
    assert isinstance(roof, Roofline)
    assert "PTRANS: ptrans was not run" in roof.missing
    assert "HPL: its intensity is not known, as its size is not recorded" in roof.missing
    assert roofline(size(without=("stream",))) == "stream was not run"
