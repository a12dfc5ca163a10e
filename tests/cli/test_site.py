"""Every command finds the files of a site, and files that `kiviat new` writes work."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kiviat.launch.mpi.build import program_path
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.record import data_path
from tests.cli.conftest import Kiviat

FORMAT = """
from kiviat.ingest.reported import Case, metric, number, record

NAME = "the log of our ring"

def sniff(text):
    return text.startswith("RING ")

def parse(text, where, ranks=None):
    seconds = number(text.split()[1], where)
    return [record(Case("ring", ranks or 2, 8, {}), [metric("time", "s", seconds, 1)])]
"""
SCHEDULER = (Path(data_path("native").parent) / "src/kiviat/launch/schedulers/slurm.toml").read_text()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("KIVIAT_SITE", str(folder))
    return folder


def test_a_new_plan_works_at_once(kiviat: Kiviat, home: Path, openmpi: Toolchain) -> None:
    made = kiviat("new", "plan", "nightly")
    assert made.stdout.splitlines()[0] == str(home / "plans" / "nightly.toml")
    planned = kiviat("run", "nightly", "--dry-run", "-n", "4", MPICXX=str(openmpi.mpicxx))
    assert planned.returncode == 0, planned.stderr
    assert "pingpong/ranks=2/bytes=1048576" in planned.stdout
    assert "alltoall/ranks=4/bytes=8" in planned.stdout


def test_a_new_machine_works_at_once(kiviat: Kiviat, home: Path) -> None:
    assert kiviat("new", "machine", "our-cluster").returncode == 0
    shown = kiviat("model", "show", "our-cluster")
    assert shown.returncode == 0, shown.stderr
    assert "64" in shown.stdout
    assert "our-cluster" in kiviat("model", "list").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("plan", "quick"), "there is a benchmark or plan 'quick' already"),
        (("plan", "pingpong"), "there is a benchmark or plan 'pingpong' already"),
        (("benchmark", "pingpong"), "there is a benchmark or plan 'pingpong' already"),
        (("benchmark", "standard"), "there is a benchmark or plan 'standard' already"),
        (("machine", "altix-bx2"), "there is a machine 'altix-bx2' already"),
        (("benchmark", "my-ring"), "cannot be the name of a benchmark"),
        (("plan", "../nightly"), "cannot be the name of a plan"),
    ],
)
def test_names_that_are_taken_or_odd_are_refused(
    kiviat: Kiviat, home: Path, words: tuple[str, str], says: str
) -> None:
    done = kiviat("new", *words)
    assert done.returncode == 2
    assert says in done.stderr
    assert list(home.iterdir()) == []


def test_a_new_benchmark_compiles(kiviat: Kiviat, home: Path, openmpi: Toolchain) -> None:
    assert kiviat("new", "benchmark", "token_ring").returncode == 0
    source = home / "benchmarks" / "token_ring.cpp"
    command = [str(openmpi.mpicxx), "-std=c++20", "-fsyntax-only", "-Wall", "-Werror", "-DOMPI_SKIP_MPICXX"]
    done = subprocess.run(
        [*command, "-I", str(data_path("native")), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_change_of_a_benchmark_is_another_build(home: Path, openmpi: Toolchain, kiviat: Kiviat) -> None:
    before = program_path(openmpi)
    kiviat("new", "benchmark", "token_ring")
    between = program_path(openmpi)
    with (home / "benchmarks" / "token_ring.cpp").open("a") as file:
        file.write("// changed\n")
    assert len({before, between, program_path(openmpi)}) == 3


@pytest.mark.full
def test_a_new_benchmark_is_built_listed_and_run(kiviat: Kiviat, home: Path, openmpi: Toolchain) -> None:
    assert kiviat("new", "benchmark", "token_ring").returncode == 0
    listed = kiviat("list", "token_ring", MPICXX=str(openmpi.mpicxx))
    assert "time of one hop" in listed.stdout, listed.stderr
    done = kiviat(
        *("run", "token_ring", "-n", "2", "-m", "8", "--launches", "1", "--budget", "0.1", "-q"),
        MPICXX=str(openmpi.mpicxx),
    )
    assert done.returncode == 0, done.stderr
    assert "token_ring" in kiviat("show", "last").stdout
    shutil.rmtree(program_path(openmpi).parent)


def test_a_format_of_a_site_is_read(kiviat: Kiviat, home: Path, tmp_path: Path) -> None:
    (home / "ingest").mkdir()
    (home / "ingest" / "ring_log.py").write_text(FORMAT)
    (tmp_path / "ring.log").write_text("RING 1.5e-6\n")
    done = kiviat("ingest", "ring.log")
    assert done.returncode == 0, done.stderr
    assert "1.50 µs" in kiviat("show", "last").stdout


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import nothing_like_it", "cannot be imported: ModuleNotFoundError"),
        ("NAME = 'x'", "it has no sniff and no parse"),
    ],
)
def test_a_format_that_is_none_is_named(
    kiviat: Kiviat, home: Path, tmp_path: Path, code: str, says: str
) -> None:
    (home / "ingest").mkdir()
    (home / "ingest" / "broken.py").write_text(code)
    (tmp_path / "ring.log").write_text("RING\n")
    done = kiviat("ingest", "ring.log")
    assert done.returncode == 2
    assert says in done.stderr and "broken.py" in done.stderr


def test_a_scheduler_of_a_site_is_a_place_to_run(kiviat: Kiviat, home: Path, openmpi: Toolchain) -> None:
    (home / "schedulers").mkdir()
    (home / "schedulers" / "oarsub.toml").write_text(SCHEDULER.replace("sbatch", "oarsub"))
    done = kiviat("run", "--on", "oarsub", "-n", "2", "pingpong", MPICXX=str(openmpi.mpicxx))
    assert done.returncode == 2
    assert "there is no oarsub on PATH" in done.stderr


@pytest.mark.parametrize(("kind", "on"), [("vendors", ()), ("schedulers", ("--on", "nothing"))])
def test_a_file_without_its_facts_is_named(
    kiviat: Kiviat, home: Path, kind: str, on: tuple[str, ...]
) -> None:
    (home / kind).mkdir()
    (home / kind / "bad.toml").write_text('title = "Bad"\n')
    done = kiviat("run", "pingpong", "--dry-run", *on)
    assert done.returncode == 2
    assert f"{kind}/bad.toml" in done.stderr and "is missing" in done.stderr


def test_a_misspelt_fact_is_named(kiviat: Kiviat, home: Path) -> None:
    (home / "vendors").mkdir()
    (home / "vendors" / "bad.toml").write_text('derives = "mpich"\ntitel = "Bad"\n')
    done = kiviat("list", "--mpi", "bad")
    assert done.returncode == 2
    assert "unknown key 'titel' in vendor" in done.stderr and "did you mean 'title'?" in done.stderr
