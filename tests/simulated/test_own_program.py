"""User programs: compiled by `kiviat cc`, run on a modelled machine, recorded as a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulated.conftest import SMALL

RING = r"""
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
int visits; /* of this rank alone */
int main(int argc, char** argv) {
  int rank, ranks, token = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < 2; ++round) {
    if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++token, ++visits;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&token, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) printf("token %d, visits %d, word %s\n", token, visits, argc > 1 ? argv[1] : "none");
  MPI_Finalize();
  return 0;
}
"""
STUCK = r"""
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, token;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Recv(&token, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
"""
EXCHANGE = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  enum { count = 32768 };
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int *sent = malloc(sizeof(int) * count * ranks), *received = malloc(sizeof(int) * count * ranks);
  for (int i = 0; i < count * ranks; ++i) sent[i] = 1000 * rank + i / count;
  MPI_Alltoall(sent, count, MPI_INT, received, count, MPI_INT, MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < count * ranks; ++i) wrong += received[i] != 1000 * (i / count) + rank;
  int all;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong: %d\n", all);
  MPI_Finalize();
  return 0;
}
"""
HEAVY = r"""
#include <mpi.h>
#include <iostream>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  volatile double x = 1;
  for (long i = 0; i < 30000000; ++i) x = x * 0.999999 + 1e-6;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::cerr << x;
  return 0;
}
"""
FORTRAN = """
program sums
  include 'mpif.h'
  integer rank, total, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0) print *, 'sum', total
  call MPI_Finalize(error)
end program sums
"""

pytestmark = pytest.mark.usefixtures("bench")


def kiviat(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KIVIAT_RUNS": str(folder / "runs")}
    command = [sys.executable, "-m", "kiviat.cli.main", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def program(folder: Path, name: str, source: str) -> str:
    (folder / name).write_text(source)
    built = kiviat(folder, "cc", "-O1", name, "-o", "program")
    assert built.returncode == 0, built.stderr
    return "./program"


def run(folder: Path, ranks: str, *words: str) -> subprocess.CompletedProcess[str]:
    return kiviat(folder, "run", "--on", f"simulated:{SMALL}", "-n", ranks, *words)


def records(folder: Path) -> list[dict[str, Any]]:
    (kept,) = (folder / "runs").glob("*/records.jsonl")
    return [json.loads(line) for line in kept.read_text().splitlines()]


def test_a_program_runs_and_its_run_is_kept(tmp_path: Path) -> None:
    built = program(tmp_path, "ring.c", RING)
    done = run(tmp_path, "4", "--", built, "hello")
    assert done.returncode == 0, done.stderr
    assert "token 8, visits 2, word hello" in done.stdout
    assert "s of simulated time (computation takes no time)" in done.stdout
    (record,) = records(tmp_path)
    assert (record["benchmark"], record["ranks"], record["clock"]) == ("program", 4, "simulated")
    # The token passes twice around the ring: within a socket, between sockets, and back.
    (metric,) = record["metrics"]
    assert 8e-6 < metric["mean"] < 1e-4
    (output,) = (tmp_path / "runs").glob("*/launches/0/stdout")
    assert "token 8" in output.read_text()
    shown = kiviat(tmp_path, "show", "last")
    assert "program on 4 ranks" in shown.stdout
    assert "simulated" in shown.stdout


def test_runs_repeat_exactly_and_placing_counts(tmp_path: Path) -> None:
    built = program(tmp_path, "ring.c", RING)
    times = []
    for words in (["2"], ["2"], ["2x1"]):
        assert run(tmp_path, *words, "--", built).returncode == 0
        (latest,) = records(tmp_path)
        times.append(latest["metrics"][0]["mean"])
        shutil.rmtree(tmp_path / "runs")
    assert times[0] == times[1] < times[2]


def test_long_alltoalls_of_six_ranks(tmp_path: Path) -> None:
    """SMPI's pairwise exchange refuses six ranks; a user's program gets Kiviat's, with the right contents."""
    done = run(tmp_path, "6", "--", program(tmp_path, "exchange.c", EXCHANGE))
    assert done.returncode == 0, done.stderr
    assert "wrong: 0" in done.stdout


def test_computation_counts_as_asked(tmp_path: Path) -> None:
    built = program(tmp_path, "heavy.cpp", HEAVY)
    done = run(tmp_path, "2", "--compute", "10", "--", built)
    assert "computation 10 times as long as here" in done.stdout, done.stderr
    (record,) = records(tmp_path)
    # Thirty million dependent multiply-adds take at least some hundredths of a second.
    assert record["metrics"][0]["mean"] > 0.1


def test_a_program_that_only_begins_and_ends(tmp_path: Path) -> None:
    source = "#include <mpi.h>\nint main(int n, char **a) { MPI_Init(&n, &a); return MPI_Finalize(); }"
    done = run(tmp_path, "2", "--", program(tmp_path, "brief.c", source))
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("gfortran"), reason="no gfortran")
def test_fortran(tmp_path: Path) -> None:
    built = program(tmp_path, "sums.f90", FORTRAN)
    done = run(tmp_path, "8", "--", built)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["sum", "28"]


def test_a_dry_run_prints_the_command_only(tmp_path: Path) -> None:
    """It once simulated the program, and left a run."""
    built = program(tmp_path, "brief.c", "int main() { return 3; }")
    done = run(tmp_path, "2", "--dry-run", "--", built, "7")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert "smpirun" in line and line.endswith("/program 7")
    assert not (tmp_path / "runs").exists()


def test_a_program_that_leaves_the_simulation_fails(tmp_path: Path) -> None:
    """Its simulated time is unknown; the reason was "None", and the record said "ok"."""
    source = """#include <mpi.h>
    #include <unistd.h>
    int main(int n, char **a) { MPI_Init(&n, &a); _exit(0); }"""
    done = run(tmp_path, "2", "--", program(tmp_path, "leaver.c", source))
    assert done.returncode == 1 and "None" not in done.stderr
    (record,) = records(tmp_path)
    assert (record["outcome"], record["metrics"]) == ("failed", [])
    (run_json,) = (tmp_path / "runs").glob("*/run.json")
    (launch,) = json.loads(run_json.read_text())["launches"]
    assert (launch["outcome"], launch["reason"]) == ("failed", "the simulation ended without a result")


def test_a_deadlock_is_reported(tmp_path: Path) -> None:
    """A deadlock is reported and the case fails, although SimGrid exits with code 0 after detecting it."""
    done = run(tmp_path, "2", "--", program(tmp_path, "stuck.c", STUCK))
    assert done.returncode == 1
    assert "deadlock" in done.stderr
    (record,) = records(tmp_path)
    assert (record["outcome"], record["metrics"]) == ("failed", [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "2", "--", "/bin/ls"], "not built for simulation; compile it with `kiviat cc`"),
        (["-n", "2", "--", "./nothing"], "No such file"),
        (["-n", "2", "--"], "nothing after --"),
        (["-n", "2,4", "--", "./program"], "one number of ranks"),
        (["-n", "2", "pingpong", "--", "./program"], "exclude each other"),
        (["-n", "2", "--plan", "quick", "--", "./program"], "--plan is for benchmarks"),
        (["-n", "2", "--set", "n=5", "--", "./program"], "--set is for benchmarks"),
        (["-n", "2", "--sync", "barrier", "--", "./program"], "--sync is for benchmarks"),
        (["-n", "2", "--mpi", "mpich", "--", "./program"], "--mpi mpich: on a simulated machine the MPI is"),
        (["-n", "2", "--launches-max", "3", "--", "./program"], "--launches-max is for benchmarks"),
        (["-n", "2", "--speed", "2", "--", "./program"], "--speed is for --replay"),
        (["--replay", "a.trace", "--", "./program"], "--replay and a program after -- exclude each other"),
        (["-n", "2", "--compute", "-1", "--", "./program"], "--compute is -1"),
        (["-n", "2", "--compute", "inf", "--", "./program"], "--compute is inf"),
        (["-n", "2", "--compute", "nan", "--", "./program"], "--compute: invalid float value: 'nan'"),
        (["-n", "2", "--compute", "2", "pingpong"], "--compute is for programs after --"),
        (["-n", "2", "--speed", "2", "pingpong"], "--speed is for --replay"),
        (["-n", "200", "--", "./program"], "200"),
        (["-n", "2", "--", "./program", "two words"], "blanks"),
    ],
)
def test_impossible_runs_are_refused_in_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "program").write_bytes(b"libsimgrid")
    done = kiviat(tmp_path, "run", "--on", f"simulated:{SMALL}", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_programs_run_on_simulated_machines_only(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"libsimgrid")
    done = kiviat(tmp_path, "run", "-n", "2", "--", "./program")
    assert done.returncode == 2
    assert "--on simulated:MACHINE" in done.stderr


def test_the_compiler_s_verdict_is_ours(tmp_path: Path) -> None:
    (tmp_path / "broken.c").write_text("int main(void) { return x; }")
    assert kiviat(tmp_path, "cc", "broken.c").returncode == 1
    nothing = kiviat(tmp_path, "cc")
    assert (nothing.returncode, nothing.stderr.count("\n")) == (2, 1)
    assert "usage: kiviat cc" in kiviat(tmp_path, "cc", "--help").stdout
