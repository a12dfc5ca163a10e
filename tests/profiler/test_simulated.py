"""Profiles of simulated ranks, compared with the program's structure and the simulator's own counts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.machine.modelled.machine import load_machine
from kiviat.profile import DISTANCES, Profile, Traffic, read_profile
from kiviat.record import InputError

from .conftest import PROGRAMS

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"
BYTES, TIMES = 4096, 3


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    try:
        find_toolchain(SIMULATOR)
    except InputError as error:
        pytest.skip(str(error))


def kiviat(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kiviat.cli.main", *map(str, arguments)]
    environment = {**os.environ, "KIVIAT_RUNS": str(folder / "runs")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the program."""
    folder = tmp_path_factory.mktemp("shapes")
    built = kiviat(folder, "cc", "-O1", PROGRAMS / "shapes.c", "-o", "shapes")
    assert built.returncode == 0, built.stderr
    return folder / "shapes"


def profiled(shapes: Path, folder: Path, ranks: int, shape: str, *where: str, times: int = TIMES) -> Profile:
    words: tuple[str | Path, ...] = (
        "--on",
        f"simulated:{SMALL}",
        "-n",
        str(ranks),
        "-o",
        folder / f"{shape}.profile",
        *where,
    )
    done = kiviat(folder, "profile", *words, "--", shapes, shape, str(times), str(BYTES))
    assert done.returncode == 0, done.stderr
    return read_profile(folder / f"{shape}.profile")


def by_distance(profile: Profile) -> dict[str, int]:
    return dict(zip(DISTANCES, profile.calls.bytes.sum(axis=0).tolist(), strict=True))


def pairs(traffic: Traffic) -> dict[tuple[int, int], tuple[int, int]]:
    columns = (traffic.source, traffic.target, traffic.messages, traffic.bytes)
    lines = zip(*(one.tolist() for one in columns), strict=True)
    return {(source, target): (messages, sent) for source, target, messages, sent in lines if messages}


def ring(ranks: int) -> Iterator[tuple[int, int]]:
    return ((rank, (rank + 1) % ranks) for rank in range(ranks))


def halo(ranks: int) -> Iterator[tuple[int, int]]:
    for rank in range(ranks):
        beside = [rank + one for one in (-1, 1) if (rank + one) // 4 == rank // 4 and rank + one >= 0]
        yield from ((rank, other) for other in (rank - 4, rank + 4, *beside) if 0 <= other < ranks)


def everybody(ranks: int) -> Iterator[tuple[int, int]]:
    return ((rank, other) for rank in range(ranks) for other in range(ranks) if rank != other)


def distance(one: int, other: int, place: str) -> str:
    """Return the expected distance of two ranks, on nodes with two sockets of two cores; with cyclic
    placement every fourth rank shares a node.
    """
    places = [divmod(rank, 4) if place == "blocked" else (rank % 4, rank // 4) for rank in (one, other)]
    if places[0][0] != places[1][0]:
        return "other node"
    return "same socket" if places[0][1] // 2 == places[1][1] // 2 else "same node"


@pytest.mark.parametrize(
    ("shape", "sends", "place"),
    [
        ("ring", ring, "blocked"),
        ("halo", halo, "blocked"),
        ("halo", halo, "cyclic"),
        ("alltoall", everybody, "cyclic"),
    ],
)
def test_bytes_are_those_of_the_shape_and_those_that_the_simulator_moved(
    shapes: Path, tmp_path: Path, shape: str, sends: Callable[[int], Iterator[tuple[int, int]]], place: str
) -> None:
    profile = profiled(shapes, tmp_path, 16, shape, "--place", place)
    expected = list(sends(16))
    known = dict.fromkeys(DISTANCES, 0)
    for pair in expected:
        known[distance(*pair, place)] += TIMES * BYTES
    assert by_distance(profile) == known
    assert pairs(profile.traffic()) == dict.fromkeys(expected, (TIMES, TIMES * BYTES))
    assert profile.crossed is not None
    assert pairs(profile.crossed) == pairs(profile.traffic())
    between = profile.crossed.between(profile.node.tolist())[1]
    assert between == known["other node"] > 0


def test_every_rank_has_communicators_and_phases_of_its_own(shapes: Path, tmp_path: Path) -> None:
    profile = profiled(shapes, tmp_path, 8, "rows")
    lines = profile.calls
    gathered = lines.name == "MPI_Allgather"
    assert sorted(zip(lines.rank[gathered].tolist(), lines.phase[gathered].tolist(), strict=True)) == [
        (rank, 2) for rank in range(8)
    ]
    assert lines.bytes[gathered].sum() == 8 * 3 * TIMES * BYTES
    rows = {(a, b): (TIMES, TIMES * BYTES) for a, b in everybody(8) if a // 4 == b // 4}
    assert pairs(profile.collective) == rows
    assert int(lines.calls[lines.name == "MPI_Comm_free"].sum()) == 8 * TIMES


def test_profiling_changes_no_simulated_time_and_is_marked_as_simulated(shapes: Path, tmp_path: Path) -> None:
    words: tuple[str | Path, ...] = ("--on", f"simulated:{SMALL}", "-n", "16")
    program = ("--", shapes, "halo", str(TIMES), str(BYTES))
    bare = kiviat(tmp_path, "run", *words, *program)
    counted = kiviat(tmp_path, "profile", *words, "-o", "out.profile", *program)
    assert bare.returncode == counted.returncode == 0, bare.stderr + counted.stderr
    assert bare.stdout.splitlines()[0] == counted.stdout.splitlines()[0]
    profile = read_profile(tmp_path / "out.profile")
    # Each call of MPI_Wtime takes some simulated nanoseconds.
    assert profile.seconds[0] == pytest.approx(float(counted.stdout), abs=5e-8)
    assert profile.simulated is not None
    assert (profile.simulated.machine, profile.simulated.compute) == ("simulated:small", 0)
    assert profile.simulated.hash == load_machine(SMALL).hash
    assert "% of the simulated time in MPI" in counted.stderr
    shown = kiviat(tmp_path, "show", "out.profile").stdout
    assert "simulated on simulated:small (version 1): all times are simulated" in shown
    assert "known errors of the model: unknown: never compared with published results" in shown
    assert "computation takes no time" in shown
    assert "by the simulator's count" in shown
    placed = kiviat(tmp_path, "place", "out.profile", "--machine", SMALL)
    assert "as the simulator counted" in placed.stdout, placed.stderr
    page = tmp_path / "out.html"
    assert kiviat(tmp_path, "report", "out.profile", "-o", page).returncode == 0
    assert "Simulated time in MPI" in page.read_text()


def test_many_ranks_take_little_memory(shapes: Path, tmp_path: Path) -> None:
    """Memory per rank is small; benchmarks/ measures thousands of ranks, this test fewer."""
    big = tmp_path / "small.toml"
    big.write_text(SMALL.read_text().replace("count = { value = 4,", "count = { value = 64,", 1))
    words = ("--on", f"simulated:{big}", "-n", "256", "-o", "many.profile", "--", shapes, "halo", "1", "64")
    done = kiviat(tmp_path, "profile", *words)
    assert done.returncode == 0, done.stderr
    profile = read_profile(tmp_path / "many.profile")
    assert profile.ended.all()
    assert pairs(profile.traffic()) == dict.fromkeys(halo(256), (1, 64))
    assert 0 < profile.memory_bytes <= 64 << 10
    assert len(np.unique(profile.node)) == 64


@pytest.mark.parametrize("how", ["stuck", "abort"])
def test_counts_survive_a_failed_simulation(shapes: Path, tmp_path: Path, how: str) -> None:
    words: tuple[str | Path, ...] = ("--on", f"simulated:{SMALL}", "-n", "4", "-o", "out.profile")
    done = kiviat(tmp_path, "profile", *words, "--", shapes, how)
    assert done.returncode == 1
    assert "ended without MPI_Finalize" in done.stderr
    profile = read_profile(tmp_path / "out.profile")
    assert profile.seen.all()
    assert not profile.ended[1]
    assert profile.inside == ({1: "MPI_Recv"} if how == "stuck" else {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--wait-states", "--", "PROGRAM"], "wait states are not recorded on simulated machines"),
        (["--counters", "--", "PROGRAM"], "simulated processors have no hardware counters"),
        (["--", "/bin/ls"], "not built for simulation; compile it with `kiviat cc`"),
        (["-m", "8", "--", "PROGRAM"], "-m is for benchmarks"),
        (["--compute", "-1", "--", "PROGRAM"], "--compute is -1"),
        (["-n", "500", "--", "PROGRAM"], "500"),
        (["--mpi", "openmpi", "--", "PROGRAM"], "leave it out"),
        ([], "nothing to profile"),
        (["cg", "--", "PROGRAM"], "exclude each other"),
    ],
)
def test_impossible_requests_are_refused_in_one_line(
    shapes: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    named = [str(shapes) if word == "PROGRAM" else word for word in words]
    done = kiviat(tmp_path, "profile", "--on", f"simulated:{SMALL}", *named)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_steps_that_are_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skipped simulation steps are counted: of CG's steps only the first are executed, and the last of those
    represent the rest; with payload checks all are executed, and the counts are equal.
    """
    words = ("profile", "--on", f"simulated:{SMALL}", "-n", "4", "--class", "S", "cg", "-o")
    assert kiviat(tmp_path, *words, "few.profile").returncode == 0
    monkeypatch.setenv("KIVIAT_VERIFY", "1")
    assert kiviat(tmp_path, *words, "all.profile").returncode == 0
    few, whole = (read_profile(tmp_path / f"{name}.profile") for name in ("few", "all"))
    assert whole.simulated is not None and whole.simulated.compute is None
    assert pairs(few.sent) == pairs(whole.sent)
    for name in ("MPI_Sendrecv", "MPI_Reduce"):  # the check itself adds one call of each
        steps, all_steps = (one.calls.name == name for one in (few, whole))
        assert few.calls.calls[steps].sum() == whole.calls.calls[all_steps].sum() > 0
        times = (float(one.calls.seconds[of].sum()) for one, of in ((few, steps), (whole, all_steps)))
        assert next(times) == pytest.approx(next(times), rel=0.01)


def test_replaced_mpi_functions_are_counted(tmp_path: Path) -> None:
    """Calls of MPI functions that Kiviat replaces in simulations are counted, such as MPI_Alltoallv
    (native/simgrid/smpi_overrides/alltoallv.cpp).
    """
    words = ("profile", "--on", f"simulated:{SMALL}", "-n", "6", "-m", "4K", "alltoallv", "-o", "out.profile")
    done = kiviat(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    calls = read_profile(tmp_path / "out.profile").calls
    of = calls.name == "MPI_Alltoallv"
    times = int(calls.calls[of].sum()) // 6
    assert times > 0 and int(calls.bytes[of].sum()) == times * 6 * 5 * 4096


def test_benchmarks_are_profiled_by_name_there_only(tmp_path: Path) -> None:
    done = kiviat(tmp_path, "profile", "cg")
    assert done.returncode == 2
    assert "on simulated machines only" in done.stderr
    done = kiviat(tmp_path, "profile", "-n", "4", "--", "true")
    assert "-n is for simulated machines" in done.stderr
