"""Runs as jobs of each scheduler, executed by fake schedulers; tests/slurm uses a real Slurm."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kiviat.cli.subcommands import run_job
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.schedulers.scheduler import Request, Scheduler, render, schedulers
from kiviat.record import InputError, NotStartedError

STAND_IN = Path(__file__).with_name("stand_in.py")
GOLDEN = Path(__file__).with_name("golden")
COMMANDS = (
    "sbatch",
    "squeue",
    "scancel",
    "qsub",
    "qstat",
    "qdel",
    "bsub",
    "bjobs",
    "bkill",
    "flux",
    "scontrol",
    "sacct",
)
OPTIONS = {
    "slurm": [("partition", "debug")],
    "pbs": [("q", "debug")],
    "lsf": [("q", "debug")],
    "flux": [("queue", "debug")],
}
NAMES = ("slurm", "pbs", "lsf", "flux")
PLAN = """
schema = "kiviat.plan/1"
name = "tiny"
launches = 2
controls = { budget_s = 0.02, min_samples = 5 }
[[cases]]
benchmarks = ["pingpong"]
bytes = [8, 1024]
"""


@pytest.fixture
def site(tmp_path: Path, openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with a plan, and put the commands of all schedulers on PATH."""
    build(openmpi)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in COMMANDS:
        (commands / name).write_text(f"#!{sys.executable}\n{STAND_IN.read_text()}")
        (commands / name).chmod(0o755)
    # A stand-in for srun, for one node.
    (commands / "srun").write_text(
        '#!/bin/sh\n[ "$1" = --mpi=list ] && exec echo pmix none\n'
        'while [ "${1#-}" != "$1" ]; do case $1 in --ntasks=*) n=${1#*=};; esac; shift; done\n'
        f'exec {openmpi.mpiexec} -n "$n" "$@"\n'
    )
    (commands / "srun").chmod(0o755)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "tiny.toml").write_text(PLAN)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN", str(tmp_path / "jobs"))
    monkeypatch.setenv("MPICXX", str(openmpi.mpicxx))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "kiviat.cli.main",
            "run",
            "tiny.toml",
            *(() if "-n" in arguments else ("-n", "2")),
            *arguments,
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def the_run(site: Path) -> tuple[dict[str, Any], int]:
    (folder,) = (site / "runs").iterdir()
    return json.loads((folder / "run.json").read_text()), len(
        (folder / "records.jsonl").read_text().splitlines()
    )


def test_options_of_mpiexec_that_the_launcher_does_not_know(
    site: Path, openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options that only mpiexec knows are not passed to the scheduler's launcher.

    Kiviat once passed `--tag-output` of a profiled mpirun to srun, which printed its usage.
    """
    monkeypatch.setenv("SLURM_JOB_ID", "1")

    def profile(*options: str) -> subprocess.CompletedProcess[str]:
        program = (str(openmpi.mpiexec), "-n", "2", *options, str(build(openmpi)), "pingpong")
        words = ("profile", "--on", "slurm", "--dry-run", "--", *program)
        return subprocess.run(
            [sys.executable, "-m", "kiviat.cli.main", *words], capture_output=True, text=True, timeout=120
        )

    refused = profile("--tag-output")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--tag-output is an option of mpiexec, but srun starts the ranks here; leave" in refused.stderr
    told = profile("-x", "A=1", "-x", "HOME", "--mca", "btl", "self")
    assert told.returncode == 0, told.stderr
    variables, _, command = told.stdout.partition("srun ")
    assert "A=1" in variables and "OMPI_MCA_btl=self" in variables
    assert "-x" not in command.split() and "--mca" not in command.split()


@pytest.mark.parametrize("name", ["slurm", "pbs", "lsf"])
def test_a_run_as_a_job(site: Path, name: str) -> None:
    code, out, error = finished(started("--on", name))
    assert code == 0, error
    run, records = the_run(site)
    assert run["state"] == "complete" and records == 4
    assert f"{schedulers()[name].title} job 1" in error and "results " in out
    if name == "slurm":
        assert {tuple(launch["command"][:3]) for launch in run["launches"]} == {
            ("srun", "--mpi=pmix", "--ntasks=2")
        }


def test_a_run_continues_in_another_job_after_the_time_limit(site: Path) -> None:
    (site / "jobs" / "walltime").write_text("1.5")
    (site / "tiny.toml").write_text(PLAN.replace("launches = 2", "launches = 12"))
    code, _, error = finished(started("--on", "slurm"))
    assert code == 0, error
    run, records = the_run(site)
    assert run["state"] == "complete" and records == 24
    assert "job 2" in error


def test_a_requeued_job_continues_its_run(site: Path) -> None:
    """A job that was killed and requeued continues its run, although it finds its own earlier lock."""
    (site / "jobs" / "requeue").write_text("1.5")
    (site / "tiny.toml").write_text(PLAN.replace("launches = 2", "launches = 12"))
    code, _, error = finished(started("--on", "slurm", "--mpi", "openmpi"))
    assert code == 0, error + (site / "jobs" / "1.out").read_text()
    run, records = the_run(site)
    assert run["state"] == "complete" and records == 24
    assert "job 2" not in error


def test_an_interrupt_cancels_the_job(site: Path) -> None:
    (site / "tiny.toml").write_text(
        PLAN.replace("budget_s = 0.02", "budget_s = 30, target = 1e-9, max_samples = 100000000")
    )
    process = started("--on", "slurm")
    deadline = time.monotonic() + 60
    while not (site / "jobs" / "1.state").exists() and time.monotonic() < deadline:
        assert process.poll() is None, finished(process)
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    code, _, error = finished(process)
    assert code == 130 and "cancelled job 1" in error and "--resume" in error
    assert (site / "jobs" / "1.cancelled").exists()
    # otherwise its ranks would disturb the next test
    while (site / "jobs" / "1.state").read_text() != "gone":
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_scheduler_is_queried_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scheduler is queried rarely.

    Every new result once caused another query a second later, for hours.
    """
    now, asked = [0.0], []

    def slept(seconds: float, interrupts: object) -> None:
        now[0] += seconds

    def state_of(job: str) -> str:
        asked.append(now[0])
        return "waiting" if now[0] < 100 else "running"

    monkeypatch.setattr(run_job, "_sleep", slept)
    monkeypatch.setattr(run_job, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(
        run_job, "read_run", lambda folder: SimpleNamespace(state="complete" if now[0] > 3600 else "running")
    )
    job: Any = run_job.Job(SimpleNamespace(state_of=state_of), tmp_path, "", "")  # type: ignore[arg-type]
    job._results = lambda: int(now[0])
    job._watch(SimpleNamespace(signal=None))
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert len(asked) < 80 and max(pauses) <= 61 and asked[0] <= 1
    assert capsys.readouterr().err.count("\n") < 400


@pytest.mark.parametrize("failures", [1, 4, 5])
def test_a_run_that_cannot_be_read_for_a_moment(
    failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One failed read over NFS once ended the watching, without a word about the job."""
    answers: list[Any] = [InputError("run.json: Stale file handle")] * failures

    def read(folder: Path) -> Any:
        if answers:
            raise answers.pop()
        return SimpleNamespace(state="complete")

    monkeypatch.setattr(run_job, "_sleep", lambda seconds, interrupts: None)
    monkeypatch.setattr(run_job, "read_run", read)
    scheduler = SimpleNamespace(state_of=lambda job: "gone")
    job: Any = run_job.Job(scheduler, tmp_path, "", "")  # type: ignore[arg-type]
    job._job = "7"

    def vanished() -> None:
        if answers:
            raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(job._held, "refuse_vanished", vanished)
    if failures < 5:
        assert job._watch(SimpleNamespace(signal=None)) is True
    else:
        with pytest.raises(InputError, match="Stale file handle; job 7 may still be running; check with"):
            job._watch(SimpleNamespace(signal=None))


def test_a_job_that_ends_without_results_is_not_sent_for_ever(site: Path) -> None:
    template = site / "broken.sh"
    template.write_text("#!/bin/bash\n# {{ command }}\nexit 1\n")
    code, _, error = finished(started("--on", "slurm", "--script", str(template)))
    assert code == 2 and "without a result" in error.splitlines()[-1]
    assert len(list((site / "jobs").glob("*.script"))) == 2


@pytest.mark.parametrize("name", ["pbs", "lsf"])
def test_ranks_that_are_not_on_their_nodes_are_not_kept(site: Path, name: str) -> None:
    """The mpiexec of an MPI without support of the scheduler starts all ranks on one node."""
    code, _, error = finished(started("--on", name, "-n", "2x1"))
    assert code == 2 and "without a result" in error.splitlines()[-1]
    assert " put 2 ranks on 1 node, up to 2 on each" in (site / "jobs" / "1.out").read_text()
    assert not (next((site / "runs").iterdir()) / "records.jsonl").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_garbage_is_refused(site: Path, name: str) -> None:
    (site / "jobs" / "garbage").touch()
    code, _, error = finished(started("--on", name))
    assert code == 2
    if name != "flux":  # in Flux any word may be a job identifier
        assert "rejected the job" in error.splitlines()[-1] and "???" in error


@pytest.mark.parametrize(
    ("name", "unknown", "unreachable"),
    [
        (
            "slurm",
            "slurm_load_jobs error: Invalid job id specified",
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
        ),
        ("pbs", "qstat: Unknown Job Id 7.server", "qstat: cannot connect to server pbs (errno=15010)"),
        ("lsf", "Job <7> is not found", "LSF is down. Please wait ..."),
        ("flux", "flux-jobs: ERROR: JobID 7 unknown", "flux-jobs: ERROR: Unable to connect to Flux"),
    ],
)
def test_of_a_scheduler_that_cannot_be_reached_no_job_is_gone(
    name: str, unknown: str, unreachable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of an unreachable scheduler is not gone; otherwise a second job would write to the same run."""
    scheduler = schedulers()[name]
    said = subprocess.CompletedProcess(["query"], 1, "", unknown)
    monkeypatch.setattr(Scheduler, "_run", lambda *_: said)
    assert scheduler.state_of("7") == "gone"
    said.stderr = unreachable
    with pytest.raises(InputError, match="reports no state of job 7"):
        scheduler.state_of("7")
    said.stderr, said.returncode = "", 0
    assert scheduler.state_of("7") == "gone"


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_job_on_another_cluster_is_refused(
    cancelled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """squeue and scancel were once asked for the job of that number on the own cluster."""
    asked: list[list[str]] = []

    def run(self: Scheduler, words: Any, text: str | None = None) -> subprocess.CompletedProcess[str]:
        asked.append(list(words))
        fails = words[0] == "scancel" and not cancelled
        said = "123;other\n" if words[0] == "sbatch" else ""
        return subprocess.CompletedProcess(words, int(fails), said, "denied" if fails else "")

    monkeypatch.setattr(Scheduler, "_run", run)
    ended = "it was cancelled" if cancelled else "`scancel --clusters=other 123` failed: 'denied'"
    with pytest.raises(NotStartedError) as refused:
        schedulers()["slurm"].submit_job(tmp_path / "job.sh")
    assert f"sent job 123 to the cluster other, and Kiviat watches jobs of one cluster; {ended}; leave" in (
        str(refused.value)
    )
    assert asked[-1] == ["scancel", "--clusters=other", "123"]


def test_an_absent_scheduler_is_refused_before_anything_is_made(
    tmp_path: Path, openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPICXX", str(openmpi.mpicxx))
    (tmp_path / "tiny.toml").write_text(PLAN)
    code, _, error = finished(started("--on", "lsf"))
    assert code == 2 and "no bsub on PATH" in error and not (tmp_path / "runs").exists()


def test_a_number_of_ranks_is_needed(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", "run", "--on", "slurm"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "-n" in done.stderr and not (site / "runs").exists()


@pytest.mark.parametrize("name", NAMES)
def test_scripts(name: str) -> None:
    """Job scripts equal the golden scripts, which users of each scheduler can review."""
    request = Request(
        "kiviat-quick", Path("/runs/r"), "kiviat run --resume /runs/r", 16, 4, 75, OPTIONS[name]
    )
    golden = GOLDEN / f"{name}.sh"
    assert render(schedulers()[name], request) == golden.read_text()
    assert subprocess.run(["bash", "-n", golden]).returncode == 0


def test_templates_say_what_they_lack(tmp_path: Path) -> None:
    template = tmp_path / "t.sh"
    template.write_text("{{ nonsense }}")
    request = Request("n", tmp_path, "c", 2, None, 5, [])
    with pytest.raises(InputError, match="nonsense"):
        render(schedulers()["slurm"], request, template)
    with pytest.raises(InputError, match="No such file"):
        render(schedulers()["slurm"], request, tmp_path / "absent")
