"""Processes that a program starts by MPI_Comm_spawn, and programs that start MPI by a session.

MPICH cannot start processes here: its UCX connects them through shared memory of their parents' launcher.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.profile import DISTANCES, read_profile
from kiviat.record import InputError
from kiviat.trace import pack, read_trace
from kiviat.trace.stamps import times_in

from .conftest import ROOT, Compiled, Profiled
from .recorded import call, write_rank


def test_children_have_a_profile_that_the_parents_name(
    openmpi: Toolchain, compiled: Compiled, profiled: Profiled, capsys: pytest.CaptureFixture[str]
) -> None:
    """The requested file has the parents, whichever ended first; the other names were left to chance."""
    done = profiled(openmpi, 2, compiled(openmpi, "spawn.c"))
    assert done.status == 0, done.err
    children = done.path.with_name("out-2.profile")
    assert done.calls("Comm_spawn") == 2 and done.calls("Recv") == 6
    assert done.profile.spawned == 2 and done.profile.parents == 0
    theirs = read_profile(children)
    assert (theirs.ranks, theirs.spawned, theirs.parents) == (2, 0, 2)
    assert int(theirs.calls.calls[theirs.calls.name == "MPI_Send"].sum()) == 6
    assert main(["show", str(done.path)]) == 0
    assert "MPI_Comm_spawn started 2 ranks, all profiled in out-2.profile" in capsys.readouterr().out
    assert main(["show", str(children)]) == 0
    said = capsys.readouterr().out
    assert "2 ranks started these by MPI_Comm_spawn; their profile is out.profile" in said
    assert "MPI_Comm_spawn started 2 ranks, all profiled in out-2.profile" in done.err


def test_children_without_a_profile_are_not_covered(
    openmpi: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    done = profiled(openmpi, 2, compiled(openmpi, "spawn.c"), "bare")
    assert done.status == 0, done.err
    assert "MPI_Comm_spawn started 2 ranks, which are not covered: they left no profile" in done.err
    assert not done.path.with_name("out-2.profile").exists()


def test_after_an_abort_the_profile_is_that_of_the_parents(
    openmpi: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """Both worlds leave files of a rank 0 and a rank 1, which must not be mixed."""
    done = profiled(openmpi, 2, compiled(openmpi, "spawn.c"), "abort")
    assert done.status != 0
    assert done.calls("Comm_spawn") == 2 and done.calls("Send") == 0
    assert (done.profile.ranks, done.profile.spawned, done.profile.parents) == (2, 2, 0)
    assert "which are not covered" in done.err


def test_children_that_ended_do_not_replace_parents_that_abort(
    openmpi: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """If the children reach MPI_Finalize and the parents do not, both have a profile, first the parents."""
    done = profiled(openmpi, 2, compiled(openmpi, "spawn.c"), "late")
    assert done.status != 0
    assert done.calls("Comm_spawn") == 2 and not done.profile.ended.any()
    theirs = read_profile(done.path.with_name("out-2.profile"))
    assert (theirs.ranks, theirs.parents) == (2, 2) and theirs.ended.all()
    assert "MPI_Comm_spawn started 2 ranks, all profiled in out-2.profile" in done.err
    assert done.err.count("ended without MPI_Finalize") == 1


def test_a_recorded_program_that_starts_processes(
    openmpi: Toolchain, compiled: Compiled, tmp_path: Path
) -> None:
    """The trace of a program that calls MPI_Comm_spawn has the parents, and why it cannot be replayed."""
    words = [sys.executable, "-m", "kiviat.cli.main", "trace", "-o", "a.trace", "--"]
    launch: list[str | Path] = [openmpi.mpiexec, "--oversubscribe", "-n", "2", compiled(openmpi, "spawn.c")]
    done = subprocess.run(
        [*words, *launch],
        cwd=tmp_path,
        env={**os.environ, **ROOT},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "not recorded: 2 ranks that MPI_Comm_spawn started" in done.stderr
    assert "it cannot be replayed: rank 0 calls MPI_Comm_spawn" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.trace"]
    trace = read_trace(tmp_path / "a.trace")
    assert (trace.ranks, [one.rank for one in trace.each]) == (2, [0, 1])
    assert all("bcast" in one.calls and "allreduce" not in one.calls for one in trace.each)


def test_a_trace_holds_the_ranks_that_the_launcher_started(tmp_path: Path) -> None:
    """Ranks that MPI_Comm_spawn started are left out; two programs of the launcher are not told apart."""
    for rank in (0, 1):
        write_rank(tmp_path, rank, 2, [call(0, 5, ("barrier", 0, 0))])
        write_rank(tmp_path, rank, 2, [call(1, 2, ("barrier", 0, 0))], parents=2, process=2)
    assert pack(tmp_path, tmp_path / "a.trace", None) == 2
    recording = times_in(read_trace(tmp_path / "a.trace"))
    assert [events.left_ns.tolist() for events in recording.each] == [[5_000_000], [5_000_000]]
    write_rank(tmp_path, 0, 2, [], process=3)
    with pytest.raises(InputError, match="several programs were recorded at once"):
        pack(tmp_path, tmp_path / "a.trace", None)


def test_a_program_that_starts_by_a_session(mpich: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    done = profiled(mpich, 2, compiled(mpich, "session.c"), "alone")
    assert done.status == 2, done.err
    assert not done.path.exists()
    assert "starts MPI by MPI_Session_init and never calls MPI_Init" in done.err


def test_sessions_beside_mpi_init(mpich: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Messages on a session's communicator count by ranks of MPI_COMM_WORLD."""
    done = profiled(mpich, 2, compiled(mpich, "session.c"), "beside")
    assert done.status == 0, done.err
    calls = ("Comm_create_from_group", "Group_from_session_pset", "Session_finalize", "Allreduce")
    assert {name: done.calls(name) for name in calls} == dict.fromkeys(calls, 2)
    assert done.profile.sent.dense_bytes().tolist() == [[0, 4], [0, 0]]


def test_no_communicator_of_a_group(mpich: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """A call that makes no communicator counts as local; MPI_COMM_NULL has no members to look up."""
    done = profiled(mpich, 2, compiled(mpich, "session.c"), "outside")
    assert done.status == 0, done.err
    assert done.calls("Comm_create_from_group") == 4
    lines = done.profile.calls
    made = lines.calls[lines.name == "MPI_Comm_create_from_group"].sum(axis=0)
    assert made[DISTANCES.index("itself")] == 2
