"""Computation between the calls of a recorded program is its processor time, and is scaled in replays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.trace import read_trace

from .conftest import Record, replayed

Built = Callable[..., Path]


def test_computation_is_recorded_and_scaled(
    openmpi: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """Recorded computation is the processor time of each rank, even with more ranks than cores, and is scaled
    in replays.
    """
    recorded = record(openmpi, built(openmpi, "calls.c"), "compute")
    trace = read_trace(recorded.path)
    even, odd = (sum(trace.computed_s[first::2]) for first in (0, 1))
    # ratio of two loops, on cores that other programs use, too
    assert odd / even == pytest.approx(2, rel=0.35)
    same, half = (replayed(tmp_path, recorded.path, "--speed", speed) for speed in ("1", "0.5"))
    assert same["computation_max"] == pytest.approx(max(trace.computed_s), rel=1e-6)
    assert half["total_time"] == pytest.approx(2 * same["total_time"], rel=1e-3)
    assert same["total_time"] == pytest.approx(max(trace.computed_s), rel=0.01)
