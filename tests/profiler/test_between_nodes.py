"""The profiler's traffic between nodes, compared with counters of the nodes' interfaces."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.launch.emulated import rights
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.profile import DISTANCES, Profile, read_profile
from kiviat.record import InputError
from kiviat.trace import read_trace

from .conftest import Compiled

SENT = 8 * 5 * 4_000_000


@pytest.fixture(autouse=True)
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        rights.refuse_without_rights()
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def profile_of(mpi: Toolchain, program: Path, policy: str, folder: Path, *more: str) -> tuple[Profile, str]:
    output = folder / f"{policy}.profile"
    where = ("--on", "emulated:4x2", "--place", policy)
    started = (str(mpi.mpiexec), "-n", "8", str(program), "bulk")
    command = [sys.executable, "-m", "kiviat.cli.main", "profile", "-o", str(output), *where, *more]
    done = subprocess.run([*command, "--", *started], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", "show", str(output)], capture_output=True, text=True
    )
    return read_profile(output), shown.stdout


@pytest.mark.parametrize(
    ("policy", "crossing"), [pytest.param("cyclic", 8, marks=pytest.mark.full), ("blocked", 4)]
)
def test_between_nodes(
    openmpi: Toolchain, compiled: Compiled, tmp_path: Path, policy: str, crossing: int
) -> None:
    """Bytes between nodes equal the interface counters, within the overhead of protocols, for a ring in which
    a given number of the eight pairs crosses nodes.

    Headers of Ethernet, IP and TCP (66 B of 1514) add 5 %, plus acknowledgements; large segments between
    network namespaces have less. The launcher adds some kilobytes.
    """
    program = compiled(openmpi, "exchange.c", "-lpthread")
    profile, shown = profile_of(openmpi, program, policy, tmp_path, "--mpi-traffic")
    expected = SENT * crossing // 8
    by_distance = dict(zip(DISTANCES, profile.calls.bytes.sum(axis=0).tolist(), strict=True))
    assert by_distance["other node"] == expected
    assert sum(by_distance.values()) == SENT
    assert profile.sent.between(profile.node.tolist()) == (SENT - expected, expected)
    assert len(profile.interfaces) == 4
    carried = sum(one.sent for one in profile.interfaces)
    assert expected <= carried <= 1.06 * expected + 1e6
    # The MPI's own count is the same, plus a few small internal messages.
    assert profile.crossed is not None
    inside, across = profile.crossed.between(profile.node.tolist())
    assert expected <= across <= expected + 1e5
    assert SENT - expected <= inside <= SENT - expected + 1e5
    assert re.search(r"8 ranks on 4 nodes", shown)
    assert "by its own count" in shown


def test_ppn_determines_the_ranks_per_node(openmpi: Toolchain, compiled: Compiled, tmp_path: Path) -> None:
    program, output = compiled(openmpi, "late.c"), tmp_path / "one.profile"
    where = ("--on", "emulated:2x2", "--ppn", "1")
    words = [sys.executable, "-m", "kiviat.cli.main", "profile", "-o", str(output), *where]
    command = ("--", str(openmpi.mpiexec), "-n", "2", str(program))
    done = subprocess.run([*words, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(set(read_profile(output).node.tolist())) == 2


@pytest.mark.parametrize("command", ["profile", "trace"])
def test_modelled_machines_are_refused(
    command: str, openmpi: Toolchain, compiled: Compiled, tmp_path: Path
) -> None:
    program = compiled(openmpi, "late.c")
    words = [command, "--on", "simulated:vt-myri10g", "--", str(openmpi.mpiexec), "-n", "2", str(program)]
    done = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", *words], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--on simulated:vt-myri10g: programs compiled for a real MPI do not run there" in done.stderr
    assert "record the program with `kiviat trace`, and replay the trace there" in done.stderr


def test_a_program_is_recorded_on_other_nodes(openmpi: Toolchain, compiled: Compiled, tmp_path: Path) -> None:
    program, output = compiled(openmpi, "late.c"), tmp_path / "late.trace"
    words = [sys.executable, "-m", "kiviat.cli.main", "trace", "-o", str(output), "--on", "emulated:2x1"]
    done = subprocess.run(
        [*words, "--", str(openmpi.mpiexec), "-n", "2", str(program), "receiver"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    trace = read_trace(output)
    assert trace.complete and trace.refusal() is None
    assert trace.each[0].calls["ssend"] == 1
    assert len({rank.node for rank in trace.each}) == 2


def test_the_profiler_is_preloaded_before_other_libraries(
    mpich: Toolchain, compiled: Compiled, tmp_path: Path
) -> None:
    """The profiler is preloaded before the library that Kiviat's MPICH launcher preloads into ranks on
    emulated nodes.
    """
    program = compiled(mpich, "exchange.c", "-lpthread")
    profile, _ = profile_of(mpich, program, "blocked", tmp_path)
    by_distance = dict(zip(DISTANCES, profile.calls.bytes.sum(axis=0).tolist(), strict=True))
    assert by_distance["other node"] == SENT // 2
    assert sum(by_distance.values()) == SENT
