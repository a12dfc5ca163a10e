"""Processes that a program starts by MPI_Comm_spawn, and programs that start MPI by a session.

MPICH cannot start processes here: its UCX connects them through shared memory of their parents' launcher.
"""

from __future__ import annotations

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.profile import read_profile

from .conftest import Compiled, Profiled


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
