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


@pytest.mark.both_mpis
def test_waiting_is_no_computation(toolchain: Toolchain, built: Built, record: Record) -> None:
    """A rank asks for a message by MPI_Request_get_status, and waits in MPI_Buffer_detach, 0.2 s each."""
    recorded = record(toolchain, built(toolchain, "calls.c"), "waits", ranks=2)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    first = read_trace(recorded.path).each[0]
    assert first.calls == {"irecv": 1, "wait": 1, "bsend": 1, "end": 1}
    assert first.elapsed_s and first.elapsed_s > 0.4
    assert first.computed_s < 0.02
