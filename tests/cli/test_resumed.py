"""Resuming a run executes no command that only the run names, because it may be another user's.

`kiviat run --resume RUN --dry-run` once executed the compiler wrapper and the launcher in RUN's run.json, and
every key of its `where` became an option of the command.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kiviat.cli.commands.run import execute
from kiviat.cli.options.arguments import parsed
from kiviat.cli.options.request import RunRequest, Where
from kiviat.cli.subcommands.run_job import job_of
from kiviat.cli.subcommands.run_resumed import (
    mpi_of,
    plan_of,
    refuse_other_links,
    resume_command,
    where_it_began,
)
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.spec import parse_spec
from kiviat.launch.substrates.emulated import Emulated
from kiviat.launch.tools.core_rate import core_rates
from kiviat.plan import Estimate
from kiviat.record import InputError
from kiviat.store import RunDirectory
from tests.store.made_up import MACHINE, launch

Made = Callable[..., Path]


def wrapper(path: Path, version: str = "4.1.4") -> Path:
    """Create an MPI whose wrapper and launcher leave a file when they are executed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, says in (("mpicxx", f"Open MPI {version}"), ("mpiexec", f"mpiexec (OpenRTE) {version}")):
        program = path.with_name(name + path.suffix)
        program.write_text(f"#!/bin/sh\ntouch '{path.parent}/EXECUTED'\necho '{says}'\n")
        program.chmod(0o755)
    return path


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def make(where: Any = None, mpicxx: Path | None = None, version: str = "4.1.4") -> Path:
        plan = {
            "name": "test",
            "hash": "a" * 64,
            "definition": {"name": "test", "command_line": {}},
            "cases": 2,
        }
        with RunDirectory.create(tmp_path / "runs", "test", machine=MACHINE, plan=plan, where={}) as run:
            path = run.path
        said = json.loads((path / "run.json").read_text())
        said["where"] = asdict(Where()) if where is None else where
        if mpicxx:
            toolchain = {"name": f"Open MPI {version}", "version": version, "mpicxx": str(mpicxx)}
            said["launches"] = [launch(0, 0, toolchain=toolchain)]
        (path / "run.json").write_text(json.dumps(said))
        return path

    return make


@pytest.mark.parametrize("dry", [("--dry-run",), ()], ids=["dry", "real"])
def test_no_command_of_a_run_is_executed(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry: tuple[str]
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    theirs = wrapper(tmp_path / "theirs" / "mpicxx")
    launcher = f"{theirs.with_name('mpiexec')} -n {{ranks}}"
    for path, option in (
        (made(mpicxx=theirs), f"--mpi {theirs}"),
        (made({"launcher": launcher}), f"--launcher '{launcher}'"),
        (made({"on": "slurm:export=LD_PRELOAD=/x.so"}), "--on slurm:export=LD_PRELOAD=/x.so"),
    ):
        with pytest.raises(InputError) as refused:
            request = parsed(["run", "--resume", str(path), *dry])
            assert isinstance(request, RunRequest)
            execute(request)
        assert "kiviat executes no command that only a run names" in str(refused.value)
        assert f"add {option} if you trust it" in str(refused.value)
    assert not (theirs.parent / "EXECUTED").exists()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            {"report": "/elsewhere.html"},
            "where has 'report', which is none of on, ppn, place, bind, launcher",
        ),
        ({"script": "/bin/sh"}, "where has 'script'"),
        ({"ppn": "2"}, "where.ppn is '2', not of type int"),
        ({"ppn": True}, "where.ppn is true, where a text or a whole number or null was expected"),
        ({"launcher": 5}, "where.launcher is 5, not of type str"),
        ({"launcher": "x\x1b[2J"}, r"began with --launcher 'x\x1b[2J', and"),
    ],
)
def test_only_known_options_of_their_type_are_taken(where: Any, said: str, made: Made) -> None:
    path = made()
    (path / "run.json").write_text(
        json.dumps({**json.loads((path / "run.json").read_text()), "where": where})
    )
    with pytest.raises(InputError) as refused:
        where_it_began(path, Where())
    assert said in str(refused.value) and str(refused.value).isprintable()


def test_what_the_command_line_says_again_is_taken(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    where: dict[str, Any] = {"on": "slurm:partition=debug", "launcher": "srun -n {ranks}", "place": "cyclic"}
    given = Where(on=where["on"], launcher=where["launcher"])
    path = made(where)
    there = where_it_began(path, given)
    assert there == Where(**where)
    assert resume_command(path, RunRequest(where=there, mpi="openmpi")) == (
        f"kiviat run --resume {path} --launcher 'srun -n {{ranks}}' --mpi openmpi --on slurm:partition=debug"
    )
    monkeypatch.chdir(path.parent)
    of_own_script = resume_command(path, RunRequest(where=there, script="job.j2", timeout=2.5))
    assert f" --script {path.parent / 'job.j2'} --timeout 2.5 --on slurm:" in of_own_script
    with pytest.raises(InputError, match=r"without --bind; leave --bind core out"):
        where_it_began(made({**where, "bind": None}), replace(given, bind="core"))
    monkeypatch.setenv("SLURM_JOB_ID", "1")  # inside the job, so that nothing is submitted
    assert where_it_began(made({"on": where["on"]}), Where()).on == where["on"]


def test_no_module_of_the_working_directory_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules in the working directory are not imported.

    A job once imported json.py, and `kiviat trace` numpy.py, from the working directory of another user.
    """
    (tmp_path / "kiviat").mkdir()
    for name in ("json.py", "numpy.py", "kiviat/__init__.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'EXECUTED')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert core_rates()
    plan: Any = SimpleNamespace(name="x", worlds=lambda: [2])
    job = job_of(RunRequest(where=Where(on="slurm")), plan, Estimate(1.0, 1.0), tmp_path / "no-run")
    done = subprocess.run(shlex.split(job.command), capture_output=True, text=True)
    assert (done.returncode, "no-run" in done.stderr) == (2, True)
    assert not (tmp_path / "EXECUTED").exists()


def test_a_link_in_a_run_is_not_followed(made: Made, tmp_path: Path) -> None:
    path = made()
    (tmp_path / "precious").write_text("half a line")
    (path / "records.jsonl").unlink()
    (path / "records.jsonl").symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match=r"records\.jsonl is a symbolic link"):
        where_it_began(path, Where())


def test_the_mpi_of_a_run_is_one_that_is_found_here(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = wrapper(tmp_path / "bin" / "mpicxx.openmpi")
    wrapper(tmp_path / "bin" / "mpicxx", "5.0.1")  # the first MPI on PATH is another one
    theirs = wrapper(tmp_path / "theirs" / "mpicxx")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("MPICXX", raising=False)
    assert mpi_of(made(mpicxx=ours), None, lambda: None) == str(ours)
    (tmp_path / "link").symlink_to(ours)
    assert mpi_of(made(mpicxx=tmp_path / "link"), None, lambda: None) == str(ours)
    for unknown in (made(mpicxx=theirs), made(mpicxx=ours, version="4.1.5")):
        with pytest.raises(InputError, match="which kiviat does not find here"):
            mpi_of(unknown, None, lambda: None)
    assert not (theirs.parent / "EXECUTED").exists()
    # The MPI that the user names is accepted if it has the version of the run's MPI.
    assert mpi_of(made(mpicxx=theirs), str(theirs), lambda: None) == str(theirs)
    with pytest.raises(InputError, match=r"the MPI of the run, 'Open MPI 4\.1\.5'"):
        mpi_of(made(mpicxx=theirs, version="4.1.5"), str(theirs), lambda: None)
    assert mpi_of(made(), None, lambda: None) is None


def test_a_complete_run_does_not_go_on(made: Made) -> None:
    """A complete run is not resumed.

    `--resume RUN --on slurm` once submitted a job without work.
    """
    path = made()
    said = json.loads((path / "run.json").read_text()) | {"state": "complete"}
    (path / "run.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match="is complete; there is nothing to resume"):
        plan_of(path, [])


def test_a_plan_without_a_name_is_refused(made: Made) -> None:
    """Resuming a run with a damaged plan once failed with "unexpected KeyError"."""
    path = made()
    said = json.loads((path / "run.json").read_text())
    said["plan"]["definition"] = {"schema": "kiviat.plan/1", "command_line": {"ranks_available": 2}}
    (path / "run.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"run.json: plan.definition lacks 'name'; the run cannot"):
        plan_of(path, [])


def test_a_run_stays_on_its_network(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on a kept emulated cluster once went on after that had been created again with another rate.

    A run that `--machine` named does not tell on which links it began.
    """

    def begun_on(name: str) -> Path:
        path = made({"on": "emulated:lab"})
        said = json.loads((path / "run.json").read_text())
        said["machine"]["name"] = name
        (path / "run.json").write_text(json.dumps(said))
        return path

    path = begun_on("emulated:2x1,rate=1Gbit")
    lab = Emulated(Cluster.planned(parse_spec("2x1,rate=100Mbit"), "lab"), kept=True)
    monkeypatch.setattr("kiviat.cli.commands.run.substrate_of", lambda on: lab)
    request = parsed(["run", "--resume", str(path), "--dry-run"])
    assert isinstance(request, RunRequest)
    with pytest.raises(
        InputError,
        match="began on emulated:2x1,rate=1Gbit, and its cluster is emulated:2x1,rate=100Mbit now",
    ):
        execute(request)
    for name in (lab.label, "mine"):
        refuse_other_links(begun_on(name), lab)
