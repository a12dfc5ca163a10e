"""Jobs of a run, as noted in job.json by the kiviat process that submits them, and in the run's lock."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from kiviat.launch.schedulers.scheduler import Scheduler, schedulers
from kiviat.record import InputError
from kiviat.record.files import read_text
from kiviat.record.valid import parse_json
from kiviat.store import forget_writer, refuse_living, writing_jobs

JOB_FILE = "job.json"
# Pattern of job identifiers, which excludes options, because another user may have written the note.
_IDENTIFIER = re.compile(r"\w[\w.@\[\]-]*")


def note_job(folder: Path, scheduler: Scheduler, job: str) -> None:
    """Write the scheduler's name and the job's identifier to job.json in the run's directory."""
    note = {"scheduler": scheduler.name, "job": job}
    (folder / JOB_FILE).write_text(json.dumps(note) + "\n", encoding="utf-8")


def own_job(scheduler: Scheduler) -> str:
    """Return the job in which this process runs, in the form used in locks; "" outside of jobs."""
    job = scheduler.own_job()
    return f"{scheduler.name}:{job}" if job else ""


def take_over(folder: Path, scheduler: Scheduler) -> None:
    """Remove the lock of an earlier process of the same job, which was requeued."""
    if (job := own_job(scheduler)) == _noted_job(folder):
        forget_writer(folder, job)


def release(folder: Path) -> None:
    """Remove the locks of a run's jobs that have ended.

    Raise InputError if a job of the run is waiting or running, if its scheduler does not answer, or if
    another process writes the run.
    """
    for job in {_noted_job(folder), *writing_jobs(folder)}:
        name, _, number = job.partition(":")
        if name not in schedulers() or not _IDENTIFIER.fullmatch(number):
            continue
        scheduler = schedulers()[name]
        state = scheduler.state_of(number)
        if state != "gone":
            raise InputError(
                f"{scheduler.title} job {number} of this run is still {state}: wait, or cancel it with "
                f"`{shlex.join(scheduler.cancelling(number))}`"
            )
        forget_writer(folder, job)
    refuse_living(folder)


def _noted_job(folder: Path) -> str:
    """Return the last job submitted for the run, in the form used in locks; "" if there is none."""
    try:
        note = parse_json(read_text(folder / JOB_FILE))
        return f"{note['scheduler']}:{note['job']}"
    except (OSError, ValueError, TypeError, KeyError):
        return ""
