"""Wait states of programs in which ranks are late by 50 ms."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain

from .conftest import PROGRAMS, Compiled, Done, Profiled

LATE_S = 0.05
# Tolerance in seconds; ranks share two cores with each other and with other programs.
NEAR_S = 0.03
WAITS = ("--wait-states",)
Line = tuple[int, int, str, str]  # rank, cause, call, kind


def waited(done: Done, least_s: float = LATE_S / 2) -> dict[Line, float]:
    """Return wait times in seconds by rank, cause, call and kind, without barriers, which only separate the
    parts of the program.
    """
    waits = done.profile.waits
    assert waits is not None and waits.unavailable is None, waits
    columns = (waits.rank, waits.cause, waits.call, waits.kind, waits.seconds)
    found = {}
    for rank, cause, call, kind, seconds in zip(*(column.tolist() for column in columns), strict=True):
        if seconds > least_s and call != "MPI_Barrier":
            found[rank, cause, call.removeprefix("MPI_"), kind] = seconds
    return found


EXPECTED = {
    (1, 0, "Recv", "late sender"): 1,
    (2, 0, "Recv", "late sender"): 1,
    (2, 0, "Waitall", "late sender"): 1,
    (0, 1, "Ssend", "late receiver"): 1,
    (0, 1, "Wait", "late receiver"): 1,
    **{(rank, 2, "Allreduce", "imbalance"): 1 for rank in (0, 1, 3)},
    **{(rank, 0, "Bcast", "late root"): 1 for rank in (1, 2, 3)},
    (0, 1, "Gatherv", "early root"): 1,
    **{(rank, 2, "Wait", "imbalance"): 1 for rank in (0, 1, 3)},
    **{(rank, 1, "Scan", "imbalance"): 1 for rank in (2, 3)},
}


def test_wait_states_name_the_late_rank_and_its_delay(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled, capsys: pytest.CaptureFixture[str]
) -> None:
    program = compiled(toolchain, "late.c")
    done = profiled(toolchain, 4, program, "sender", "receiver", "collectives", asks=WAITS)
    assert done.status == 0, done.err
    found = waited(done)
    assert found == {line: pytest.approx(LATE_S * times, abs=NEAR_S) for line, times in EXPECTED.items()}
    # Counts and traffic equal those of a profile without wait states.
    assert done.calls("Ssend") == 1 and done.calls("Scan") == 4 and done.calls("Comm_split") == 8
    assert done.profile.waits is not None and done.profile.waits.clocks == 1
    assert main(["show", str(done.path)]) == 0
    shown = capsys.readouterr().out
    assert "of the time is waiting for other ranks" in shown and "all ranks read one clock" in shown
    assert main(["show", str(done.path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["waits"]
    by_call: dict[str, float] = defaultdict(float)
    for one in told["calls"]:
        by_call[one["call"]] += one["mean_s"]
    assert by_call["MPI_Allreduce"] == pytest.approx(3 * LATE_S / 4, abs=NEAR_S)
    page = done.path.with_suffix(".html")
    assert main(["report", str(done.path), "-o", str(page)]) == 0
    assert "Seconds that each rank (row) waits for each other (column)" in page.read_text()


# Expected waits in every.c: how often rank 0 waits for rank 1, which is late by 30 ms (in scans, rank 1 waits
# for rank 0).
EVERY_S = 0.03
_SENDERS = ("Probe", "Mprobe", "Sendrecv", "Sendrecv_replace", "Wait", "Waitall", "Waitany", "Waitsome")
_COLLECTIVES = (
    *("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw", "Allreduce", "Reduce_scatter"),
    *("Reduce_scatter_block", "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall"),
    *("Neighbor_alltoallv", "Neighbor_alltoallw"),
)
_OTHERS = (
    *("Comm_dup", "Comm_dup_with_info", "Comm_create", "Comm_create_group", "Comm_split", "Comm_split_type"),
    *("Cart_create", "Cart_sub", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent"),
    *("Win_create_dynamic", "Win_allocate_shared", "Win_create", "Win_allocate", "Win_free", "Win_fence"),
)
EVERY = {
    "messages": {
        (0, 1, "Recv", "late sender"): 1,
        **{(0, 1, call, "late sender"): 1 for call in _SENDERS},
        (0, 1, "Ssend", "late receiver"): 1,
        (0, 1, "Wait", "late receiver"): 2,
        **{(0, 1, call, "late root"): 1 for call in ("Bcast", "Scatter", "Scatterv")},
        **{(0, 1, call, "early root"): 1 for call in ("Gather", "Gatherv", "Reduce")},
        (0, 1, "Wait", "late root"): 3,
        (0, 1, "Wait", "early root"): 3,
        (0, 1, "Wait", "imbalance"): 14,
        (1, 0, "Wait", "imbalance"): 2,
        **{(1, 0, call, "imbalance"): 1 for call in ("Scan", "Exscan")},
        **{(0, 1, call, "imbalance"): 1 for call in _COLLECTIVES},
    },
    "others": {
        (0, 1, "Recv", "late sender"): 1,  # after messages that arrived before the cancellation
        (0, 1, "Sendrecv", "late sender"): 1,
        (0, 1, "Wait", "imbalance"): 1,  # MPI_Comm_idup
        **{(0, 1, call, "imbalance"): 1 for call in _OTHERS},
    },
}
TABLE = Path(__file__).parents[2] / "native" / "prof" / "calls.hpp"


def wrapped() -> set[str]:
    """Return the names of all wrapped calls, from the list of which the wrappers are generated."""
    text = TABLE.read_text()
    plain = re.findall(r"^KIVIAT_(?:CALL|SIZED|SENDS|ISENDS|PERSISTENT_SENDS)\((\w+),", text, re.MULTILINE)
    collectives = re.findall(r"^KIVIAT_COLLECTIVE\((\w+),", text, re.MULTILINE)
    return {*plain, *(form for name in collectives for form in (name, f"I{name.lower()}"))}


def not_as_expected(done: Done, expected: Mapping[Line, int]) -> set[Line]:
    """Return the waits that differ from the expected ones by more than load on the cores explains."""
    found = waited(done, 0)
    short_or_long = {
        line
        for line, times in expected.items()
        if not (times - 0.9) * EVERY_S < found.get(line, 0) < 3 * times * EVERY_S
    }
    return short_or_long | {line for line in found.keys() - expected.keys() if found[line] > 0.9 * EVERY_S}


@pytest.mark.both_mpis
def test_every_call_that_is_wrapped(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Every wrapped call is recorded, with the expected cause, duration and kind of waiting."""
    # File I/O does not communicate; test_counts.py tests it. MPI_Comm_join needs a socket between the ranks.
    missing = {name for name in wrapped() if not name.startswith("File_")} - {"Comm_join"}
    assert len(missing) > 120
    for part, expected in EVERY.items():
        done = profiled(toolchain, 2, compiled(toolchain, "every.c"), part, asks=WAITS)
        assert done.status == 0, done.err
        missing -= {name.removeprefix("MPI_") for name in done.profile.calls.name.tolist()}
        # One communicator is created from two groups.
        assert done.profile.waits is not None
        assert len(done.profile.waits.remarks) == (part == "others")
        if wrong := not_as_expected(done, expected):  # a real error occurs again; one caused by load does not
            again = profiled(toolchain, 2, compiled(toolchain, "every.c"), part, asks=WAITS)
            assert wrong & not_as_expected(again, expected) == set()
    assert missing == set()


def test_calls_without_messages_have_times(
    toolchain: Toolchain, compiled: Compiled, profiled: Profiled, tmp_path: Path
) -> None:
    """File I/O and waits for it are recorded, too; a timeline once showed them as computation."""
    done = profiled(toolchain, 2, compiled(toolchain, "files.c"), tmp_path / "data", asks=WAITS)
    assert done.status == 0, done.err
    profile = done.profile
    assert profile.waits is not None
    assert profile.waits.recorded == profile.calls.calls.sum() + profile.files.calls.sum() > 40


def test_clocks_of_several_machines(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """Wait states are correct if clocks differ: rank 1 runs in a time namespace whose clock is 7 s ahead, as
    on another machine.
    """
    program = compiled(openmpi, "late.c")
    script = program.with_name("ahead.sh")
    script.write_text(
        f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec {program} "$@"\n'
        f'exec unshare --time --fork --monotonic 7 {program} "$@"\n'
    )
    script.chmod(0o755)
    done = profiled(openmpi, 4, script, "sender", "receiver", asks=("--mpi", "openmpi", *WAITS))
    assert done.status == 0, done.err
    waits = done.profile.waits
    assert waits is not None and waits.clocks == 2
    expected = {line for line in EXPECTED if line[2:] not in {("Wait", "imbalance")} and line[2] != "Scan"}
    expected = {line for line in expected if line[3].startswith("late ") and line[3] != "late root"}
    found = waited(done)
    assert found == {line: pytest.approx(LATE_S, abs=NEAR_S) for line in expected}
    apart = (waits.rank == 1) ^ (waits.cause == 1)
    assert (waits.error_s[apart] > 0).all() and (waits.error_s[apart] < 0.005 * waits.count[apart]).all()
    assert not waits.error_s[~apart].any()


def test_wait_states_before_an_abort_are_kept(
    openmpi: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    done = profiled(openmpi, 4, compiled(openmpi, "late.c"), "sender", "abort", asks=WAITS)
    assert done.status != 0
    assert waited(done) == {
        line: pytest.approx(LATE_S, abs=NEAR_S) for line in EXPECTED if line[3] == "late sender"
    }
    assert done.profile.waits is not None
    assert any("did not reach MPI_Finalize" in remark for remark in done.profile.waits.remarks)


def test_several_threads_are_refused(openmpi: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """With several threads the profile is written, but has a reason instead of wait states."""
    done = profiled(openmpi, 1, compiled(openmpi, "exchange.c", "-lpthread"), "threads", asks=WAITS)
    assert done.status == 0
    assert done.calls("Send") == 4000
    waits = done.profile.waits
    assert waits is not None and waits.unavailable is not None and "several threads" in waits.unavailable


@pytest.mark.parametrize(
    "way",
    ["-DHAS_F08", *(pytest.param(f"-DHAS_{way}", marks=pytest.mark.full) for way in ("HEADER", "MODULE"))],
)
def test_fortran(way: str, toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """With profiler and recorder both preloaded, each Fortran call is recorded once."""
    done = profiled(toolchain, 4, compiled(toolchain, "fortran.F90", way), asks=WAITS)
    assert done.status == 0, done.err
    waits = done.profile.waits
    assert waits is not None and waits.unavailable is None
    lines = done.profile.calls
    assert 0 < waits.recorded <= lines.calls.sum()


def test_fortran_after_c(toolchain: Toolchain, compiled: Compiled, profiled: Profiled) -> None:
    """A late sender is named although the program ignores the status, first in C and then in Fortran.

    MPICH learns the address of Fortran's MPI_STATUS_IGNORE at the first Fortran call, and kiviat never did.
    """
    program = compiled(toolchain, "mixed.F90", "-fallow-argument-mismatch", str(PROGRAMS / "mixed.c"))
    done = profiled(toolchain, 3, program, "anybody", asks=WAITS)
    assert done.status == 0, done.err
    assert waited(done) == {(0, 2, "Recv", "late sender"): pytest.approx(LATE_S, abs=NEAR_S)}


def test_calls_that_cannot_be_recorded_are_remarked(
    mpich: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    """MPI_Isendrecv has no wait states; the profile says so, rather than that no rank waited."""
    done = profiled(mpich, 2, compiled(mpich, "both_ways.c"), asks=WAITS)
    assert done.status == 0, done.err
    waits = done.profile.waits
    assert waits is not None and waits.unavailable is None
    assert [remark for remark in waits.remarks if "are left out" in remark]


def test_a_torn_word_is_refused(
    tmp_path: Path, openmpi: Toolchain, compiled: Compiled, profiled: Profiled
) -> None:
    done = profiled(openmpi, 2, compiled(openmpi, "late.c"), asks=WAITS)
    content = done.path.read_bytes()
    at = content.index(b'"waits":"') + 40
    done.path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert main(["show", str(done.path)]) == 2
