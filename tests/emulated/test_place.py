"""`kiviat place --verify`: the bytes that leave the nodes equal the prediction, for each placement."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kiviat.launch.mpi.command_line import taken_apart, toolchain_of, variables_of
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.record import InputError
from kiviat.store import RunDirectory
from tests.cli.test_place import append
from tests.store.made_up import MACHINE, PLAN, launch

BYTES = 4 << 20
# Factor for headers and acknowledgements, at most 6 %; bytes of the launcher's daemons and of MPI_Init.
HEADERS, BEGINNING = 1.06, 400_000


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    with RunDirectory.create(tmp_path / "runs", "counted", machine=MACHINE, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        append(run, "half_way/ranks=8", unit=BYTES)
        run.finish()
    return run.path


def test_bytes_between_nodes_agree_with_the_prediction(
    counted: Path, toolchain: Toolchain, tmp_path: Path
) -> None:
    source, program = Path(__file__).with_name("half_way.cpp"), tmp_path / "half_way"
    subprocess.run([toolchain.mpicxx, "-std=c++20", "-w", source, "-o", program], check=True)
    words: list[str | Path] = [
        "place",
        counted,
        "--on",
        "emulated:4x2",
        "--verify",
        "--repeat",
        "1",
        "--format",
        "csv",
    ]
    command: list[str | Path] = [str(toolchain.mpiexec), "-n", "8", str(program), str(BYTES)]
    done = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", *words, "--", *command],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["placement"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    for name, partners in (("blocked", 8), ("cyclic", 0), ("automatic", 0)):
        # The matrix also contains neighbours with 1/64 of the bytes, to which the program sends nothing.
        predicted, seen = int(rows[name]["between_nodes_bytes"]), int(rows[name]["left_nodes_bytes"])
        assert partners * BYTES <= predicted <= partners * BYTES + 8 * BYTES // 64
        assert partners * BYTES <= seen <= HEADERS * partners * BYTES + BEGINNING, (name, seen)


def test_a_failing_program_is_reported(counted: Path, tmp_path: Path, openmpi: Toolchain) -> None:
    words: list[str | Path] = [
        "place",
        counted,
        "--on",
        "emulated:4x2",
        "--verify",
        "--",
        str(openmpi.mpiexec),
        "-n",
        "8",
        "false",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 1
    assert "kiviat: cyclic: exit code 1" in done.stderr


def test_commands_are_taken_apart(openmpi: Toolchain) -> None:
    launcher = str(openmpi.mpiexec)
    found = taken_apart([launcher, "-x", "A=1", "-np", "4", "--mca", "btl", "tcp,self", "sh", "-c", "true"])
    assert (found.ranks, found.options) == (4, ("-x", "A=1", "--mca", "btl", "tcp,self"))
    assert found.program[0].endswith("/sh") and found.program[1:] == ("-c", "true")
    assert toolchain_of(launcher, None).family == "openmpi"
    # Hydra takes NAME=VALUE, too, and its -l has no value.
    found = taken_apart(["mpiexec.hydra", "-genv", "A=1", "-l", "-n", "4", "true"])
    assert (found.ranks, found.options) == (4, ("-genv", "A=1", "-l"))
    assert variables_of(("-genv", "A=1", "-genv", "B", "2"), "srun") == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("mpirun sh", "does not say how many ranks"),
        ("mpirun -n four sh", "-n four in"),
        ("mpirun -n 4", "has no program"),
        ("mpirun -n 4 --hostfile h sh", "--hostfile in .* places ranks"),
        ("mpirun -n 4 --map-by=core sh", "--map-by=core in .* places ranks"),
        ("mpirun -n 4 --pernode sh", "--pernode in .* places ranks"),
        ("mpirun -n 2 sh : -n 3 sh", "starts several programs"),
        ("mpirun -n 4 ./not-there", "'./not-there' in .* is not a program"),
    ],
)
def test_commands_that_cannot_be_taken_apart(words: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        taken_apart(words.split())


def test_a_launcher_of_no_mpi() -> None:
    with pytest.raises(InputError, match="sh is not the launcher of a known MPI"):
        toolchain_of("sh", None)


def test_from_a_profile_to_fewer_bytes_on_the_network(openmpi: Toolchain, tmp_path: Path) -> None:
    """From a profile to a placement: `kiviat place` finds a placement that moves nearly all traffic of
    half_way.cpp into nodes.
    """
    source, program = Path(__file__).with_name("half_way.cpp"), tmp_path / "half_way"
    subprocess.run([openmpi.mpicxx, "-std=c++20", "-w", source, "-o", program], check=True)
    command = [openmpi.mpiexec, "-n", "8", "--oversubscribe", program, str(BYTES)]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def kiviat(*words: object) -> str:
        whole = [sys.executable, "-m", "kiviat.cli.main", *map(str, words)]
        done = subprocess.run(
            whole, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    kiviat("profile", "-o", "half_way.profile", "--", *command)
    rows = csv.DictReader(
        io.StringIO(kiviat("place", "half_way.profile", "--nodes", "4x2", "--format", "csv"))
    )
    between = {row["placement"]: int(row["between_nodes_bytes"]) for row in rows}
    assert between["blocked"] == pytest.approx(8 * BYTES, rel=0.01)
    assert between["automatic"] < 0.01 * BYTES
