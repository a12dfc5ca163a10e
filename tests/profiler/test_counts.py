"""Counts of the profiler, compared with the known behaviour of programs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kiviat.analysis.profiles.mpi_time import use_of
from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.profile import DISTANCES
from kiviat.report.profile.page import render_profile

from .conftest import PROGRAMS, Compiled, Done, Profiled

RANKS = 4
NATIVE = Path(__file__).parents[2] / "native"


@pytest.fixture(scope="module")
def everything(toolchain: Toolchain, compiled: Compiled, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Profile a program that combines halo exchange, collectives, sub-communicators and windows on four
    ranks.
    """
    from .conftest import kiviat_profile

    many = ["--oversubscribe"] if toolchain.family == "openmpi" else []
    program = compiled(toolchain, "exchange.c", "-lpthread")
    folder = tmp_path_factory.mktemp("everything")
    done = kiviat_profile(folder, toolchain.mpiexec, *many, "-n", str(RANKS), program, "all")
    assert done.status == 0, done.err
    return done


@pytest.mark.both_mpis
def test_persistent_and_other_requests(everything: Done) -> None:
    """Persistent and non-blocking requests are counted: ten steps on 2 × 2 ranks, where both neighbours along
    a side are the same rank, send 1000 B each way.
    """
    for rank in range(RANKS):
        assert everything.calls("Startall", rank) == 5
        assert everything.bytes("Startall", rank) == 5 * 4 * 1000
        assert everything.calls("Isend", rank) == 20
        assert everything.bytes("Isend", rank) == 20 * 1000
        assert everything.calls("Wait", rank) == 40 + 1
        assert everything.bytes("Send_init", rank) == 0  # nothing is sent before MPI_Start


@pytest.mark.both_mpis
def test_matrix_of_messages(everything: Done) -> None:
    expected = np.zeros((RANKS, RANKS), dtype=int)
    for rank in range(RANKS):
        expected[rank, rank ^ 1] += 20 * 1000
        expected[rank, rank ^ 2] += 20 * 1000
        expected[rank, (rank + 1) % RANKS] += 40  # MPI_Put
    # In communicators with reversed order, rank 0 is the last world rank, and the last rank is the first.
    expected[2, 0] += 11
    expected[3, 1] += 11
    assert everything.profile.sent.dense_bytes().tolist() == expected.tolist()
    fetched = np.zeros_like(expected)
    for rank in range(RANKS):
        fetched[rank, (rank + 1) % RANKS] = 60
    assert everything.profile.fetched.dense_bytes().tolist() == fetched.tolist()
    with_windows = everything.profile.traffic(collectives=False).dense_bytes()
    assert with_windows.tolist() == (expected + fetched.T).tolist()


@pytest.mark.both_mpis
def test_collectives_by_participants(everything: Done) -> None:
    expected = np.zeros((RANKS, RANKS), dtype=int)
    for rank in range(RANKS):
        for other in range(RANKS):
            if other == rank:
                continue
            expected[rank, other] += 8 + 2 * 32 // RANKS + other + 1
            expected[rank, other] += 20 * (rank == 1) + 3 * (other == 0) + 4 * (other == rank + 1)
        for neighbour in (rank ^ 1, rank ^ 1, rank ^ 2, rank ^ 2):
            expected[rank, neighbour] += 10
    assert everything.profile.collective.dense_bytes().tolist() == expected.tolist()
    assert everything.bytes("Bcast", 1) == 3 * 20
    assert everything.bytes("Bcast", 0) == 0
    assert everything.bytes("Allreduce", 0) == 3 * 2 * 32 // 4
    assert everything.bytes("Alltoallv", 0) == 0  # only to itself
    assert everything.calls("Ibarrier") == RANKS


def test_sizes_are_of_messages(everything: Done) -> None:
    lines = everything.profile.calls
    of = lines.sizes[lines.name == "MPI_Isend"].sum(axis=0)
    assert of.nonzero()[0].tolist() == [10]  # 512 … 1023 B
    assert of[10] == RANKS * 20


def test_a_rank_spends_no_more_than_its_time(everything: Done) -> None:
    profile = everything.profile
    assert profile.seen.all() and profile.ended.all()
    assert (profile.mpi_s > 0).all()
    assert (profile.share < 1.001).all()
    assert (profile.calls.longest_s <= profile.calls.seconds.sum(axis=1) + 1e-9).all()


def test_phases(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Calls are counted by phase of MPI_Pcontrol: 1, then 2, off, 1 again."""
    done = profiled(openmpi, 2, compiled(openmpi, "exchange.c", "-lpthread"), "phases")
    assert done.calls("Sendrecv", 0, phase=1) == 1 + 8
    assert done.calls("Sendrecv", 0, phase=2) == 2
    assert done.calls("Sendrecv", 0) == 11


def test_only_significant_arguments_are_read(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """Arguments that MPI ignores may be no types, and such programs ended under `kiviat profile`: a scatter's
    send type except at the root, a gather's at a root with MPI_IN_PLACE.

    Neighbours that do not exist got messages.
    """
    done = profiled(toolchain, RANKS, compiled(toolchain, "significant.c"))
    assert done.status == 0, done.err
    assert done.bytes("Scatter") == 300
    assert done.bytes("Gather") == done.bytes("Gatherv") == 300
    lines = done.profile.calls
    for name in ("Scatter", "Gather", "Gatherv"):
        assert lines.sizes[lines.name == f"MPI_{name}"].sum(axis=0).nonzero()[0].tolist() == [7]  # 64 … 127 B
    for name in ("Neighbor_alltoall", "Neighbor_alltoallv"):
        assert [done.bytes(name, rank) for rank in range(RANKS)] == [100, 200, 200, 100]
    between = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    expected = 200 * np.array(between) + np.array([[0, 100, 100, 100], *3 * [[200, 0, 0, 0]]])
    assert done.profile.collective.dense_bytes().tolist() == expected.tolist()
    # Between two groups: 100 B of three ranks, nothing of the one that sits beside the root.
    for name in ("Reduce", "Ireduce", "Bcast", "Ibcast"):
        sizes = lines.sizes[lines.name == f"MPI_{name}"].sum(axis=0)
        assert {at: sizes[at] for at in sizes.nonzero()[0].tolist()} == {0: 1, 7: 3}


def test_calls_that_fail_send_nothing(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Calls that fail are counted with their time only.

    The bytes of a send to a rank that does not exist were once written beside the counters.
    """
    done = profiled(toolchain, 2, compiled(toolchain, "failing.c"))
    assert done.status == 0, done.err
    calls = {"Send": 2 * 10 + 1, "Isend": 2, "Gather": 2, "Recv": 1}
    assert {name: done.calls(name) for name in calls} == calls
    assert done.profile.calls.messages.sum() == 1
    assert done.profile.traffic().dense_bytes().tolist() == [[0, 8], [0, 0]]
    assert done.profile.calls.sizes.sum(axis=0).nonzero()[0].tolist() == [4]  # 8 … 15 B


def test_elements_above_2_gib(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """The size of an element may exceed 2 GiB; such messages once counted as empty."""
    done = profiled(toolchain, 1, compiled(toolchain, "huge.c"))
    assert done.status == 0, done.err
    lines = done.profile.calls
    of = lines.sizes[lines.name == "MPI_Bcast"].sum(axis=0)
    assert of.nonzero()[0].tolist() == [32]  # 2 GiB … 4 GiB


def test_large_sums(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Each of four ranks contributes 2^58 B, and sends a quarter of them, twice, to each other rank.

    Such a profile was once refused, like one of 4,096 ranks that contribute 2^37 B each: a rank was taken to
    send all that it contributes to each other rank.
    """
    huge = compiled(openmpi, "sums.c", "-DSIZE", "-shared", "-fPIC")
    done = profiled(openmpi, RANKS, "-x", f"LD_PRELOAD={huge}", compiled(openmpi, "sums.c"))
    assert done.status == 0, done.err
    expected = 2 * 2**58 // RANKS * (1 - np.eye(RANKS, dtype=int))
    assert done.profile.collective.dense_bytes().tolist() == expected.tolist()
    assert done.bytes("Allreduce", 0) == expected[0].sum()


def test_messages_both_ways_at_once(mpich: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """MPI_Isendrecv and MPI_Isendrecv_replace were not seen at all."""
    for source, count, sent in (("both_ways.c", 2, 210), ("both_ways.F90", 1, 160)):
        mismatch = () if source.endswith(".c") else ("-fallow-argument-mismatch",)
        done = profiled(mpich, 2, compiled(mpich, source, *mismatch))
        assert done.status == 0, done.err
        for rank in range(2):
            assert done.calls("Isendrecv", rank) == done.calls("Isendrecv_replace", rank) == count
            assert done.calls("Wait", rank) == 2 * count
        assert done.profile.sent.dense_bytes().tolist() == [[0, sent], [sent, 0]]
        lines = done.profile.calls
        assert lines.calls[lines.name == "MPI_Wait"].sum(axis=0)[DISTANCES.index("unknown")] == 0


def test_atomic_operations_that_only_fetch(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """With MPI_NO_OP nothing is sent: of two calls, one sends and fetches 4 B, the other only fetches."""
    done = profiled(toolchain, 2, compiled(toolchain, "every.c"), "others")
    assert done.status == 0, done.err
    lines = done.profile.calls
    for name in ("Get_accumulate", "Rget_accumulate", "Fetch_and_op"):
        assert done.calls(name) == 2 * 2
        assert done.bytes(name) == 2 * (4 + 4 + 4)
        assert lines.messages[lines.name == f"MPI_{name}"].sum() == 2 * 3


def test_distance_of_matched_messages(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Receives of probed messages are as far as the probe found them to come from, as are their waits."""
    done = profiled(toolchain, 2, compiled(toolchain, "every.c"), "messages")
    assert done.status == 0, done.err
    assert (done.calls("Mrecv"), done.calls("Imrecv")) == (1, 1)
    lines = done.profile.calls
    names = [f"MPI_{name}" for name in ("Mprobe", "Improbe", "Mrecv", "Imrecv", "Wait")]
    found = lines.calls[np.isin(lines.name, names)].sum(axis=0)
    assert found[DISTANCES.index("unknown")] == 0


def test_time_switched_off_is_left_out(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second in which counting is off is left out of every thread's time, and a remark names it."""
    done = profiled(toolchain, 1, compiled(toolchain, "exchange.c", "-lpthread"), "off")
    assert done.status == 0, done.err
    assert done.calls("Send") == 2000
    profile = done.profile
    assert profile.thread_count.tolist() == [2]
    assert 0 < profile.seconds[0] < profile.thread_s[0] < 1
    assert main(["show", str(done.path)]) == 0
    remark = r"1 of 1 ranks: MPI_Pcontrol switched counting off, for up to 1\.\d"
    assert re.search(remark, capsys.readouterr().out)


def test_threads_lose_nothing(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    done = profiled(toolchain, 1, compiled(toolchain, "exchange.c", "-lpthread"), "threads")
    assert done.status == 0, done.err
    assert done.calls("Send") == done.calls("Irecv") == done.calls("Wait") == 4000
    assert done.profile.sent.dense_bytes().tolist() == [[4000]]


def test_a_thread_that_frees_communicators(openmpi: Toolchain, tmp_path: Path) -> None:
    """While one thread looks up a communicator, another one may free another, whose key the first one reads.

    The key was in memory that had been freed.
    """
    program = tmp_path / "forgotten"
    options = ("-std=c++20", "-g", "-O1", "-fsanitize=thread", "-w", "-I", NATIVE)
    subprocess.run(
        [openmpi.mpicxx, *options, PROGRAMS / "forgotten.cpp", "-o", program], check=True, cwd=tmp_path
    )
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_threads_spend_no_more_than_their_time(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled, capsys: pytest.CaptureFixture[str]
) -> None:
    """The time in MPI never exceeds a rank's time, even if four threads call MPI concurrently.

    Their sum was once shown as 398.6 %.
    """
    done = profiled(toolchain, 2, compiled(toolchain, "exchange.c", "-lpthread"), "threads")
    profile, use = done.profile, use_of(done.profile)
    assert profile.thread_count.tolist() == [5, 5]
    assert (profile.thread_s > profile.seconds).all()
    assert 0 < use.least <= use.share <= use.most < 1.001
    assert sum(call.of_time for call in use.calls) == pytest.approx(use.share)
    assert "of the time of up to 5 threads in MPI" in done.err
    assert main(["show", str(done.path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["threads"], told["share"]) == (5, pytest.approx(use.share))


def test_messages_to_self_are_counted_separately(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """Messages of a rank to itself are counted separately, not as sent within a socket."""
    done = profiled(toolchain, 1, compiled(toolchain, "exchange.c", "-lpthread"), "threads")
    use = use_of(done.profile)
    assert dict(zip(DISTANCES, use.bytes, strict=True)) == {**dict.fromkeys(DISTANCES, 0), "itself": 4000}
    assert use.seconds[0] == pytest.approx(use.mpi_s)


def test_files(
    toolchain: Toolchain,
    compiled: Compiled,
    profiled: Profiled,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """File I/O calls are counted.

    A program with collective file I/O was once shown as "0.0 % MPI".
    """
    done = profiled(toolchain, 2, compiled(toolchain, "files.c"), tmp_path / "data")
    assert done.status == 0, done.err
    use = use_of(done.profile)
    found = {call.name.removeprefix("MPI_File_"): (call.calls, call.bytes) for call in use.files}
    assert found == {
        **{"write_all": (20, 80_000), "read_at": (8, 32_000), "iwrite_at": (2, 8)},
        **dict.fromkeys(("open", "set_view", "sync", "close"), (2, 0)),
    }
    assert {call.name for call in use.calls} == {"MPI_Wait", "MPI_Barrier"}
    assert sum(use.bytes) == 0 and not done.profile.traffic().bytes.any()
    assert 0 < use.files_s < use.thread_s - use.mpi_s
    assert "in file I/O by MPI" in done.err
    assert main(["show", str(done.path)]) == 0
    said = capsys.readouterr().out
    assert "is file I/O by MPI, which is no communication" in said
    assert "31.3 KiB read, 78.1 KiB written" in said
    assert "File I/O by MPI" in render_profile(done.profile)


@pytest.mark.parametrize("kind", ["", "-DHAS_MODULE", "-DHAS_F08"], ids=["mpif.h", "mpi", "mpi_f08"])
def test_fortran(kind: str, toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Each Fortran call is counted exactly once, whether the MPI's Fortran bindings call its C functions
    (MPICH) or not (Open MPI).
    """
    program = compiled(toolchain, "fortran.F90", "-fallow-argument-mismatch", *filter(None, [kind]))
    done = profiled(toolchain, 3, program)
    assert done.status == 0, done.err
    calls = {
        **{"Irecv": 30, "Isend": 30, "Waitall": 30, "Send": 1 + 3, "Recv": 1},  # three sends fail
        **{"Allreduce": 3, "Alltoallv": 3, "Comm_split": 3, "Bcast": 3, "Barrier": 3, "Comm_free": 3},
    }
    assert {name: done.calls(name) for name in calls} == calls
    expected = [[0, 800, 24], [0, 0, 800], [800, 0, 0]]
    assert done.profile.sent.dense_bytes().tolist() == expected
    assert done.profile.ended.all()
    assert done.bytes("Bcast", 2) == 2 * 16
    lines = done.profile.calls
    in_place = lines.sizes[lines.name == "MPI_Alltoallv"].sum(axis=0)
    assert in_place.nonzero()[0].tolist() == [5]  # 20 B, from the receive counts
    # The distance of a request's message is known when the request is waited for.
    # So is that of a message from any source whose status the program asks for.
    known = lines.calls[np.isin(lines.name, ("MPI_Waitall", "MPI_Recv"))].sum(axis=0)
    assert known[DISTANCES.index("unknown")] == 0


def test_windows_with_a_c_pointer(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """With TYPE(C_PTR), Open MPI has functions of their own for windows, which were not counted."""
    done = profiled(toolchain, 2, compiled(toolchain, "windows.F90"))
    assert done.status == 0, done.err
    calls = {"Win_allocate": 2, "Win_allocate_shared": 2, "Win_free": 4}
    assert {name: done.calls(name) for name in calls} == calls


def test_requests_of_fortran_completed_in_c(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """The distances of messages are known if Fortran began their requests and C completes them."""
    program = compiled(toolchain, "mixed.F90", "-fallow-argument-mismatch", str(PROGRAMS / "mixed.c"))
    done = profiled(toolchain, 2, program, "handles")
    assert done.status == 0, done.err
    calls = {"Isend": 2, "Irecv": 2, "Wait": 4, "Mprobe": 1, "Mrecv": 1}
    assert {name: done.calls(name) for name in calls} == calls
    lines = done.profile.calls
    known = lines.calls[np.isin(lines.name, ("MPI_Wait", "MPI_Mrecv"))].sum(axis=0)
    assert known[DISTANCES.index("unknown")] == 0
