"""A recorded program, replayed, takes the same simulated time as the program itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.trace import read_trace

from .conftest import (
    PROGRAMS,
    RANKS,
    SMALL,
    Record,
    Recorded,
    events,
    kiviat,
    metrics,
    receipts,
    records,
    replayed,
)

Built = Callable[..., Path]
ALL = ("ring", "requests", "collectives", "communicators")


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the program for simulation."""
    folder = tmp_path_factory.mktemp("simulated")
    done = kiviat(folder, "cc", "-w", "-DSIMULATED", PROGRAMS / "calls.c", "-o", "calls")
    assert done.returncode == 0, done.stderr
    return folder / "calls"


def directly(folder: Path, program: Path, *names: str) -> float:
    where = ("--on", f"simulated:{SMALL}", "-n", str(RANKS))
    done = kiviat(folder, "run", *where, "--", program, *names)
    assert done.returncode == 0, done.stderr
    return metrics(folder)["time"]


def test_what_is_replayed_takes_as_long_as_what_is_simulated(
    toolchain: Toolchain, built: Built, record: Record, simulated: Path, tmp_path: Path
) -> None:
    recorded = record(toolchain, built(toolchain, "calls.c"), *ALL)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    again = replayed(tmp_path, recorded.path, "--speed", "inf")
    assert again["computation_max"] == 0
    assert again["total_time"] == pytest.approx(directly(tmp_path, simulated, *ALL), rel=0.01)


@pytest.mark.full
@pytest.mark.parametrize("name", ALL)
def test_each_part_by_itself(
    name: str, toolchain: Toolchain, built: Built, record: Record, simulated: Path, tmp_path: Path
) -> None:
    recorded = record(toolchain, built(toolchain, "calls.c"), name)
    again = replayed(tmp_path, recorded.path, "--speed", "inf")
    assert again["total_time"] == pytest.approx(directly(tmp_path, simulated, name), rel=0.01)


@pytest.mark.both_mpis
def test_messages_from_anybody_come_from_whom_they_came(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    recorded = record(toolchain, built(toolchain, "calls.c"), "anybody")
    got = receipts(read_trace(recorded.path), 0, tmp_path / "streams")
    others = range(1, RANKS)
    assert got[: RANKS - 1] == [("recv", other, other) for other in others]
    hundred, more = got[RANKS - 1 : 2 * RANKS - 2], got[2 * RANKS - 2 :]
    assert sorted(hundred) == [("irecv", other, 100) for other in others]
    assert {tag for _, _, tag in more} == {200}
    assert sorted(source for name, source, _ in more if name != "probe") == list(others)
    again = replayed(tmp_path, recorded.path, "--speed", "inf")
    assert again["network_messages"] + again["node_messages"] == 3 * (RANKS - 1)
    assert again["network_bytes"] + again["node_bytes"] == 3 * 100 * sum(range(RANKS))
    # Four ranks share a node; messages from other nodes to the first rank cross the network.
    assert again["network_bytes"] == 3 * 100 * (4 + 5 + 6 + 7)


@pytest.mark.parametrize(
    "way",
    ["-DHAS_F08", *(pytest.param(f"-DHAS_{way}", marks=pytest.mark.full) for way in ("HEADER", "MODULE"))],
)
def test_fortran(way: str, toolchain: Toolchain, built: Built, record: Record, tmp_path: Path) -> None:
    recorded = record(toolchain, built(toolchain, "anybody.F90", way), ranks=4)
    assert recorded.status == 0, recorded.err
    trace = read_trace(recorded.path)
    assert [trace.each[rank].calls["send"] for rank in (1, 2, 3)] == [4, 4, 4]
    assert trace.each[0].calls == {"recv": 6, "irecv": 6, "wait": 6, "end": 1}
    again = replayed(tmp_path, recorded.path, "--speed", "inf")
    assert again["node_bytes"] == 4 * 4 * (1 + 2 + 3)


def test_what_simgrid_lacks_is_made_of_what_it_has(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    recorded = record(toolchain, built(toolchain, "calls.c"), "others")
    assert recorded.status == 0, recorded.err
    calls = read_trace(recorded.path).each[0].calls
    assert calls["neighbours"] == 2
    assert (calls["put"], calls["get"], calls["cancel"], calls["free_request"]) == (1, 1, 1, 1)
    again = replayed(tmp_path, recorded.path, "--speed", "inf")
    # On a ring both neighbours get 1,000 B twice; four of eight ranks have one neighbour on the other node.
    assert again["network_bytes"] > 4 * 2000
    assert again["total_time"] > 0


def messages_and_bytes(recorded: Recorded, folder: Path) -> tuple[float, float]:
    """Return what a replay of calls on a new communicator sends, without what creates it."""
    again = replayed(folder, recorded.path, "--speed", "inf")
    messages, size = (again[f"network_{what}"] + again[f"node_{what}"] for what in ("messages", "bytes"))
    return messages - (RANKS - 1), size - 4 * (RANKS - 1)


def test_both_neighbours_are_the_same_rank(
    openmpi: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """In a periodic dimension of two ranks each sends 10 B down and 20 B up to the same neighbour.

    The 20 B met the receive of 10 B. Only blocking calls of Open MPI match them by direction, as MPI-4
    requires; others match them in the order of neighbours.
    """
    recorded = record(openmpi, built(openmpi, "calls.c"), "cartesian")
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    assert messages_and_bytes(recorded, tmp_path) == (4 * RANKS, (10 + 20 + 30 + 40) * RANKS)


@pytest.mark.both_mpis
def test_several_parts_to_a_neighbour(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """A graph has several edges between two ranks, with parts of other sizes, one of them empty."""
    recorded = record(toolchain, built(toolchain, "calls.c"), "parallel")
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    assert messages_and_bytes(recorded, tmp_path) == (2 * 5 * RANKS, 2 * (10 + 20 + 30 + 40 + 50) * RANKS)


def test_a_nonblocking_barrier_waits_only_at_its_wait(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """A rank receives between MPI_Ibarrier and its wait what another sends after the wait.

    A replay that made the barrier at the wait did not end.
    """
    recorded = record(toolchain, built(toolchain, "calls.c"), "overlap")
    assert recorded.status == 0, recorded.err
    again = replayed(tmp_path, recorded.path, "--speed", "inf")
    assert again["network_messages"] + again["node_messages"] == RANKS * (RANKS - 1) + 1
    assert again["network_bytes"] + again["node_bytes"] == RANKS * (RANKS - 1) + 100


@pytest.mark.both_mpis
@pytest.mark.parametrize("name", ["object", "destructor", "atexit"])
def test_a_library_that_ends_mpi_while_the_program_exits(
    name: str, toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """The library of the program is initialised before the recorder, and ends after it.

    The recorder used its own state after the end of that.
    """
    library = built(toolchain, "late.c", "-DLIBRARY", "-shared", "-fPIC")
    recorded = record(toolchain, built(toolchain, "late.c", str(library)), name, ranks=2)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    each = read_trace(recorded.path).each
    assert [one.calls for one in each] == 2 * [{"irecv": 2, "isend": 2, "wait": 2, "end": 1}]
    for rank in range(2):
        got = receipts(read_trace(recorded.path), rank, tmp_path / "streams")
        assert got == 2 * [("irecv", 1 - rank, 0)]


@pytest.mark.both_mpis
def test_every_request_is_completed_once(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """A thousand sends, most with the same handle, are completed or freed by each call that can.

    The recorder looked at all of them for each.
    """
    recorded = record(toolchain, built(toolchain, "calls.c"), "many", ranks=2)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    active: set[int] = set()
    for name, numbers in events(read_trace(recorded.path), 0, tmp_path / "streams"):
        begun = {numbers[5]} if name in ("isend", "irecv") else set()
        ended = numbers[1:] if name == "wait" else numbers if name == "free_request" else []
        assert not active & begun and len(set(ended)) == len(ended) and active.issuperset(ended)
        active = (active | begun).difference(ended)
    assert not active
    calls = read_trace(recorded.path).each[0].calls
    assert (calls["isend"], calls["irecv"], calls["free_request"]) == (1000, 1000, 50)
    assert replayed(tmp_path, recorded.path, "--speed", "inf")["node_bytes"] == 2 * 1000 * 8


def test_calls_whose_arguments_are_refused_are_left_out(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """A send to a rank that does not exist fails in the program, and is no part of the trace."""
    program = built(toolchain, "calls.c")
    failed, ring = (record(toolchain, program, name, ranks=2) for name in ("failed", "ring"))
    assert failed.status == ring.status == 0, failed.err + ring.err
    calls = [[one.calls for one in read_trace(each.path).each] for each in (failed, ring)]
    assert calls[0] == calls[1]
    assert replayed(tmp_path, failed.path, "--speed", "inf")["total_time"] > 0


def test_a_replay_is_kept_shown_and_reported_as_simulated(
    openmpi: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    recorded = record(openmpi, built(openmpi, "calls.c"), "ring", ranks=2)
    assert "events of 2 ranks" in recorded.err
    replayed(tmp_path, recorded.path)
    (kept,) = records(tmp_path)
    assert (kept["benchmark"], kept["clock"], kept["ranks"]) == ("replay", "simulated", 2)
    assert "real time" in kept["notes"]["recorded"]
    rate = read_trace(recorded.path).rate
    assert rate and rate.flops_min and rate.flops_max and rate.flops_min <= rate.flops <= rate.flops_max
    speed = kept["notes"]["speed of a core"]
    assert speed.startswith(
        f"{1e9 / rate.flops:.3g} ({1e9 / rate.flops_max:.3g} to {1e9 / rate.flops_min:.3g}): "
    )
    assert "core.flops of small, 1.00 Gflop/s, over" in speed and " 10 readings, " in speed
    shown = kiviat(tmp_path, "show", "last")
    assert "total time" in shown.stdout and "predicted" in shown.stdout
    (page,) = (tmp_path / "runs").glob("*/report.html")
    assert "Recorded programs, replayed" in page.read_text()
    told = json.loads(kiviat(tmp_path, "show", recorded.path, "--format", "json").stdout)
    assert (told["ranks"], told["complete"], told["refusal"]) == (2, True, None)
    assert {one["operation"]: one["calls"] for one in told["operations"]}["sendrecv"] == 24


def test_what_if_replays_twice(openmpi: Toolchain, built: Built, record: Record, tmp_path: Path) -> None:
    recorded = record(openmpi, built(openmpi, "calls.c"), "requests", ranks=4)
    words = ("what-if", SMALL, "--set", "mpi.network.latency=3x", "--replay", recorded.path, "-n", "4x1")
    done = kiviat(tmp_path, *words, "--speed", "inf", "--format", "csv")
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in done.stdout.splitlines()]
    (total,) = (dict(zip(lines[0], line, strict=True)) for line in lines[1:] if "total_time" in line)
    assert float(total["ratio"]) > 1.1


STUDY = """
schema = "kiviat.study/1"
name = "R"
title = "A program of others"
summary = "a ring"
ranks = 16

[[runs]]
name = "ring"
cases = [{ benchmarks = "lammps-rhodo" }]
traces = ["ring"]

[[figures]]
number = "1"
title = "A ring"
x = "ranks"
curves = [{ measures = "replay.total_time", axes = { program = "ring" } }]
"""


def test_a_study_replays_what_modelled_machines_cannot_run(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    recorded = record(toolchain, built(toolchain, "calls.c"), "ring", ranks=2)
    (tmp_path / "r.toml").write_text(STUDY)
    command = ("study", "r.toml", "--on", f"simulated:{SMALL}", "-o", ".")
    (tmp_path / "traces").mkdir()
    recorded.path.rename(tmp_path / "traces" / "ring-2.trace")
    done = kiviat(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "R.html").read_text()
    assert "cannot say: ring is recorded on up to 2 ranks, not beyond" in page
    assert "No results" not in page and 'class="curve"' in page
    assert "already there" in kiviat(tmp_path, *command).stdout


@pytest.mark.both_mpis
def test_messages_that_fortran_matches_and_c_receives(
    toolchain: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    """Such a message once had no sender in the trace, and a replay would have hung."""
    mixed = Path(__file__).parents[1] / "profiler" / "programs" / "mixed"
    sources = (f"{mixed}.F90", "-fallow-argument-mismatch", f"{mixed}.c")
    recorded = record(toolchain, built(toolchain, *sources), "handles", ranks=2)
    assert recorded.status == 0, recorded.err
    got = receipts(read_trace(recorded.path), 0, tmp_path / "streams")
    assert [one for one in got if one[0] == "recv"] == [("recv", 1, 1)]
