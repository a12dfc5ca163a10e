"""Jobs of a run: whether they still exist, and how they ended.

`--resume RUN --on slurm` once removed the lock of a running job and submitted a second one, and Kiviat
immediately resubmitted a job that its user had cancelled.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kiviat.cli.subcommands import run_job
from kiviat.cli.subcommands.run_job import Job
from kiviat.cli.subcommands.run_job_note import JOB_FILE, note_job, take_over
from kiviat.launch.schedulers.scheduler import Scheduler, schedulers
from kiviat.record import InputError, NotStartedError
from kiviat.store import RunDirectory
from kiviat.store.lock import lock, unlock
from tests.schedulers.test_jobs import COMMANDS, STAND_IN
from tests.store.made_up import MACHINE, PLAN

NAMES = ("slurm", "pbs", "lsf", "flux")
ENDS = "#!/bin/bash\nexit 3\n"
STAYS = "#!/bin/bash\ntrap 'kill %1; exit 143' TERM\nsleep 300 &\nwait\n"


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the fake scheduler; its commands are on PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "jobs").mkdir()
    for name in COMMANDS:
        (tmp_path / "bin" / name).write_text(f"#!{sys.executable}\n{STAND_IN.read_text()}")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("STAND_IN", str(tmp_path / "jobs"))
    return tmp_path / "jobs"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunDirectory.create(tmp_path / "runs", "test", machine=MACHINE, plan=PLAN) as directory:
        return directory.path


def submitted(jobs: Path) -> int:
    return len(list(jobs.glob("*.script")))


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 30
    while not path.exists() or path.read_text() != text:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("name", NAMES)
def test_a_job_that_was_cancelled_is_not_submitted_again(name: str, jobs: Path, run: Path) -> None:
    scheduler = schedulers()[name]

    def cancel() -> None:
        wait_for(jobs / "1.state", "running")
        words = scheduler.cancelling(json.loads((run / JOB_FILE).read_text())["job"])
        subprocess.run(words, check=True)

    other = threading.Thread(target=cancel)
    job = Job(scheduler, run, STAYS, "kiviat run --resume it")
    other.start()
    with pytest.raises(
        InputError, match=r"job \S+ was cancelled; .* `kiviat run --resume it` submits the rest"
    ):
        job.run()
    other.join()
    assert submitted(jobs) == 1


def test_a_job_ends_with_the_folder_of_its_run(
    jobs: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kiviat once said that a moved folder is no run, and left its job running."""

    def move() -> None:
        wait_for(jobs / "1.state", "running")
        run.rename(run.with_name("moved"))

    other = threading.Thread(target=move)
    job = Job(schedulers()["slurm"], run, STAYS, "")
    other.start()
    with pytest.raises(InputError, match=r"was moved to .*/moved while .* `kiviat run --resume .*/moved`"):
        job.run()
    other.join()
    assert "cancelled job 1\n" in capsys.readouterr().err
    wait_for(jobs / "1.state", "gone")


def test_a_job_that_cannot_be_noted_is_cancelled(
    jobs: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full disk, Kiviat once submitted a job and then lost its number."""

    def note_job(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_job, "note_job", note_job)
    with pytest.raises(OSError, match="No space left"):
        Job(schedulers()["slurm"], run, STAYS, "").run()
    wait_for(jobs / "1.state", "gone")


def test_a_job_whose_folder_moves_before_it_is_noted_is_cancelled(
    jobs: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kiviat once failed with FileNotFoundError if the folder was moved just before the job was noted."""

    def note(folder: Path, scheduler: Scheduler, job: str) -> None:
        run.rename(run.with_name("moved"))
        note_job(folder, scheduler, job)

    monkeypatch.setattr(run_job, "note_job", note)
    with pytest.raises(InputError, match=r"was moved to .*/moved while"):
        Job(schedulers()["slurm"], run, STAYS, "").run()
    wait_for(jobs / "1.state", "gone")


def test_jobs_without_results_tell_why(jobs: Path, run: Path) -> None:
    """With a full disk, Kiviat once said only that two jobs had no results."""
    said = "kiviat: the disk of /scratch is full; free some space"
    fails = f"#!/bin/bash\necho '{said}' >{run}/job-$SLURM_JOB_ID.out\nexit 2\n"
    with pytest.raises(InputError, match="without a result: the disk of /scratch is full; see the output in"):
        Job(schedulers()["slurm"], run, fails, "").run()
    assert submitted(jobs) == 2


def test_a_job_that_is_rejected_later_keeps_its_run(
    jobs: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose first job is rejected counts as not started, and its arrangement is left out.

    Rejection of a later job is an error, because the run has begun.
    """
    scheduler = schedulers()["slurm"]
    rejecting = subprocess.CompletedProcess(["sbatch"], 1, "", "sbatch: error: More nodes than there are")
    ask = Scheduler._run
    first = Job(scheduler, run, ENDS, "kiviat run --resume RUN")
    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "_run", lambda *_: rejecting)
        with pytest.raises(NotStartedError, match="rejected the job"):
            first.run()

    def once(self: Scheduler, words: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
        return rejecting if words[0] == "sbatch" and submitted(jobs) else ask(self, words, text)

    monkeypatch.setattr(Scheduler, "_run", once)
    with pytest.raises(InputError, match="`kiviat run --resume RUN` submits the rest") as raised:
        Job(scheduler, run, ENDS, "kiviat run --resume RUN").run()
    assert not isinstance(raised.value, NotStartedError) and submitted(jobs) == 1


def test_a_job_that_is_not_cancelled_is_named(
    jobs: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kiviat once said `cancelled job 1` although the scheduler had not answered."""
    scancel = jobs.parent / "bin/scancel"
    stand_in = scancel.read_text()
    scancel.write_text("#!/bin/sh\necho no controller >&2\nexit 1\n")
    job = Job(schedulers()["slurm"], run, STAYS, "")
    with_signal = threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with_signal.start()
    assert job.run() == signal.SIGINT
    scancel.write_text(stand_in)
    schedulers()["slurm"].cancel_job("1")
    assert (
        "Slurm did not cancel job 1: `scancel 1` said 'no controller'; job 1 may still be running"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", NAMES)
def test_where_it_cannot_be_told_nothing_is_submitted(name: str, jobs: Path, run: Path) -> None:
    (jobs / "forgetful").touch()
    with pytest.raises(InputError, match=r"does not report how job .* ended; it may have been cancelled"):
        Job(schedulers()[name], run, ENDS, "").run()
    assert submitted(jobs) == 1


def test_the_user_is_asked_at_a_terminal(
    jobs: Path, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (jobs / "forgetful").touch()
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdin, "readline", iter(("y\n", "\n")).__next__)
    with pytest.raises(InputError, match="it may have been cancelled"):
        Job(schedulers()["slurm"], run, ENDS, "").run()
    assert submitted(jobs) == 2
    assert "Slurm does not report how job 1 ended; submit the rest? [y/N] " in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_a_run_whose_job_lives_is_not_submitted(
    name: str, jobs: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = schedulers()[name]
    (tmp_path / "script").write_text(STAYS)
    job = scheduler.submit_job(tmp_path / "script")
    wait_for(jobs / "1.state", "running")
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    lock(run, f"{name}:{job}")  # written by a process of the job, on another node
    monkeypatch.undo()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("STAND_IN", str(jobs))
    still = (
        f"job {job} of this run is still running: wait, or cancel it with `{' '.join(scheduler.cancel[:-1])}"
    )
    with pytest.raises(InputError, match=still):  # according to the lock
        Job(scheduler, run, ENDS, "")
    note_job(run, scheduler, job)
    with pytest.raises(InputError, match=still):  # according to the note of the submitted job
        Job(scheduler, run, ENDS, "")
    assert list((run / "writer").iterdir())
    scheduler.cancel_job(job)
    wait_for(jobs / "1.state", "gone")
    Job(scheduler, run, ENDS, "")
    assert not (run / "writer").exists() and submitted(jobs) == 1


def test_a_writer_that_is_no_job_is_left_alone(
    jobs: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = lock(run)
    with pytest.raises(InputError, match="is being written by process"):
        Job(schedulers()["slurm"], run, ENDS, "")
    unlock(run, writer)
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "elsewhere")
        lock(run)
    with pytest.raises(InputError, match=r"on elsewhere; if that process is gone, delete .*writer"):
        Job(schedulers()["slurm"], run, ENDS, "")
    assert submitted(jobs) == 0


def test_a_job_takes_over_from_itself_only(jobs: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job takes over only the lock of its own earlier start; a second job of the same run does not."""
    slurm = schedulers()["slurm"]
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "elsewhere")
        lock(run, "slurm:1")
    note_job(run, slurm, "2")
    monkeypatch.setenv("SLURM_JOB_ID", "2")
    take_over(run, slurm)
    assert list((run / "writer").iterdir())
    note_job(run, slurm, "1")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    take_over(run, slurm)
    assert not (run / "writer").exists()


@pytest.mark.parametrize("job", ["--help", "1; touch INJECTED", "1\n2", "", 5, None, {}])
def test_a_stranger_s_note_is_no_option(job: object, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def state_of(self: Scheduler, job: str) -> str:
        asked.append(job)
        return "gone"

    monkeypatch.setattr(Scheduler, "state_of", state_of)
    (run / JOB_FILE).write_text(json.dumps({"scheduler": "pbs", "job": job}))
    Job(schedulers()["pbs"], run, ENDS, "")
    assert asked in ([], ["5"], ["None"])


SLURM = {
    "7|CANCELLED\n": "cancelled",
    "7|CANCELLED by 1000\n": "cancelled",
    "7|TIMEOUT\n": "out of time",
    "7|PREEMPTED\n": "preempted",
    "7|NODE_FAIL\n": "node failure",
    "7|COMPLETED\n": "completed",
    "7|OUT_OF_MEMORY\n": "failed",
    "70|CANCELLED\n": None,
    "": None,
}
PBS = {
    "    Job_Name = substate = 91\n    job_state = F\n    substate = 92\n    Exit_status = 0\n": "completed",
    "Job Id: 7\n    job_state = F\n    substate = 91\n": "cancelled",
    "Job Id: 7\n    job_state = F\n    substate = 93\n    Exit_status = -29\n": "out of time",
    "Job Id: 7\n    job_state = F\n    substate = 93\n    Exit_status = 271\n": "failed",
    "": None,
}
LSF = {
    "7|EXIT|TERM_OWNER: job killed by owner\n": "cancelled",
    "7|EXIT|TERM_FORCE_ADMIN: job killed by root or LSF administrator without time\n": "cancelled",
    "7|EXIT|TERM_RUNLIMIT: job killed after reaching LSF run time limit\n": "out of time",
    "7|EXIT|TERM_PREEMPT: job killed after preemption\n": "preempted",
    "7|EXIT|TERM_ZOMBIE: job exited while LSF is not available\n": "node failure",
    "7|EXIT|-\n": "failed",
    "7|DONE|-\n": "completed",
    "": None,
}
FLUX = {
    "7|CANCELED|cancel\n": "cancelled",
    "7|TIMEOUT|timeout\n": "out of time",
    "7|FAILED|node-failure\n": "node failure",
    "7|FAILED|\n": "failed",
    "7|COMPLETED|\n": "completed",
    "": None,
}


@pytest.mark.parametrize(
    ("name", "answers"), [("slurm", SLURM), ("pbs", PBS), ("lsf", LSF), ("flux", FLUX)], ids=NAMES
)
def test_how_jobs_ended_in_each_scheduler_s_words(
    name: str, answers: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for said, ending in answers.items():
        done = subprocess.CompletedProcess(["query"], 0, said, "")
        monkeypatch.setattr(Scheduler, "_run", lambda *_, done=done: done)
        assert schedulers()[name].ending_of("7") == ending, said


def test_accounts_are_asked_where_the_controller_has_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    def answered(self: Scheduler, words: list[str]) -> subprocess.CompletedProcess[str]:
        if words[0] == "squeue":
            raise InputError("slurm_load_jobs error: Invalid job id specified")
        return subprocess.CompletedProcess(words, 0, "7|CANCELLED by 0\n", "")

    monkeypatch.setattr(Scheduler, "_run", answered)
    assert schedulers()["slurm"].ending_of("7") == "cancelled"
