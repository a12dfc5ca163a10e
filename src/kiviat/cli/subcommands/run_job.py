"""`kiviat run --on slurm`: submits the run as a job and watches it until it is complete."""

from __future__ import annotations

import math
import re
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kiviat.cli.options.request import RunRequest
from kiviat.cli.subcommands.run_job_note import note_job, release
from kiviat.cli.text.values import duration
from kiviat.cli.visible import visible_cell
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.schedulers.scheduler import Ending, Request, Scheduler, State, schedulers
from kiviat.plan import Estimate, Plan
from kiviat.record import InputError, NotStartedError
from kiviat.record.files import read_text
from kiviat.record.units import counted
from kiviat.store import HeldFolder, read_run

SCRIPT_FILE = "job.sh"

_FIRST_POLL_S, _LAST_POLL_S, _BACK_OFF = 1.0, 60.0, 1.5
_LOOK_S, _TELL_S = 1.0, 10.0
_MOST_BARREN = 2
_MOST_SILENT = 5
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def job_of(request: RunRequest, plan: Plan, expected: Estimate, folder: Path) -> Request:
    """Return the job's resources: ranks for the largest launch, and time for the longest estimate."""
    minutes = math.ceil(1.5 * expected.at_most_s / 60) + 5
    return Request(
        name=f"kiviat-{plan.name}",
        folder=folder,
        command=_command(request, folder),
        ranks=max(plan.worlds()),
        per_node=request.where.ppn,
        minutes=minutes,
        options=options_given(request.where.on or ""),
    )


def options_given(on: str) -> list[tuple[str, str]]:
    """Return the options after "slurm:"; flags have the value "", and values may contain commas.

    An option may be given several times, such as "pbs:l=ngpus=1,l=mem=4gb".
    """
    name, _, text = on.partition(":")
    scheduler = schedulers()[name]
    found: list[tuple[str, str]] = []
    for word in _words(text):
        option, equals, value = word.partition("=")
        variable = equals and scheduler.variables and _VARIABLE.fullmatch(option)
        if found and found[-1][1] and (variable or not (equals or word in scheduler.flags)):
            found[-1] = (found[-1][0], f"{found[-1][1]},{word}")
        elif option and equals and value:
            found.append((option, value))
        elif word in scheduler.flags:
            found.append((word, ""))
        else:
            raise InputError(f"--on: {word!r} is not of the form OPTION=VALUE, such as partition=debug")
    return found


def _words(text: str) -> Iterator[str]:
    """Yield the words between commas, except for commas in brackets, such as "rusage[mem=4000,ngpus=1]"."""
    word = ""
    for part in text.split(","):
        word += f",{part}" if word else part
        if word.count("[") <= word.count("]"):
            if word:
                yield word
            word = ""
    if word:
        raise InputError(f"--on: {word!r} has a bracket that is not closed; add ]")


def _command(request: RunRequest, folder: Path) -> str:
    """Return the job's command, which resumes the run whenever the job starts.

    -P: does not import modules of the working directory, which may belong to another user.
    """
    words = [sys.executable, "-P", "-m", "kiviat.cli.main", "run", "--resume", str(folder)]
    words += [] if request.timeout is None else ["--timeout", str(request.timeout)]
    words += [] if request.mpi is None else ["--mpi", request.mpi]
    words += [] if request.lammps is None else ["--lammps", request.lammps]
    words += [] if request.where.launcher is None else ["--launcher", request.where.launcher]
    return shlex.join(words)


class Job:
    """A run's job: submitted, watched, and submitted again if its time limit ended it before the run did."""

    def __init__(self, scheduler: Scheduler, folder: Path, script: str, resume: str) -> None:
        """`resume`: the command that continues the run."""
        self._scheduler = scheduler
        self._folder = folder
        self._held = HeldFolder(folder)
        self._resume = resume
        self._job: str | None = None
        self._counted = 0
        release(folder)
        (folder / SCRIPT_FILE).write_text(script, encoding="utf-8")
        (folder / SCRIPT_FILE).chmod(0o755)

    def run(self) -> int | None:
        """Return None when the run is complete.

        The signal if one interrupted this, after cancelling the job.
        """
        barren, done = 0, self._results()
        while True:
            with Interrupts() as interrupts:
                self._submit()
                complete = self._watch(interrupts)
                if interrupts.signal is not None:
                    self._cancel()
                    return interrupts.signal
            if complete:
                return None
            before, done = done, self._results()
            barren = 0 if done > before else barren + 1
            self._heed(self._scheduler.ending_of(self._job or ""), barren)
            release(self._folder)

    def _heed(self, ending: Ending | None, barren: int) -> None:
        """Raise InputError if the rest of the run is not to be submitted."""
        title, kept = self._scheduler.title, f"{self._folder} keeps what is finished"
        again = f"`{self._resume}` submits the rest"
        if ending == "cancelled":
            raise InputError(f"{title} job {self._job} was cancelled; {kept}, {again}")
        if ending is None and not _confirmed(f"{title} does not report how job {self._job} ended"):
            raise InputError(
                f"{title} does not report how job {self._job} ended; it may have been cancelled; {kept}, "
                f"{again}"
            )
        if barren >= _MOST_BARREN:
            raise InputError(
                f"{title} ended job {self._job} ({ending or 'unknown'}) and {barren - 1} before it without a "
                f"result{self._reason()}; see the output in {self._folder}, then {again}"
            )
        _say(f"{title} job {self._job} has ended: {ending or 'unknown'}; the rest is submitted")

    def _reason(self) -> str:
        """Return ": " and the error that ended the last job; "" if its output does not tell."""
        with suppress(OSError, ValueError):
            outputs = self._folder.glob("job*.out")
            last = max(outputs, key=lambda path: path.stat().st_mtime)
            line = read_text(last, largest_bytes=10 << 20).rstrip().rpartition("\n")[2]
            if line.startswith("kiviat: "):
                return visible_cell(line.removeprefix("kiviat").partition(";")[0])
        return ""

    def _submit(self) -> None:
        try:
            self._job = self._scheduler.submit_job(self._folder / SCRIPT_FILE)
        except NotStartedError as error:
            if self._job is None:
                raise
            kept = f"{self._folder} keeps what is finished, `{self._resume}` submits the rest"
            raise InputError(f"{error}; {kept}") from None
        try:
            note_job(self._folder, self._scheduler, self._job)
        except OSError:  # the job could not be found again: the disk is full, or the folder was moved
            self._cancel()
            self._held.refuse_vanished()
            raise
        _say(f"{self._scheduler.title} job {self._job}, script {self._folder / SCRIPT_FILE}")

    def _watch(self, interrupts: Interrupts) -> bool:
        """Return True when the run is complete, False when the job has ended without that.

        The run's directory is polled continually. The scheduler, which others use, too, is polled at
        increasing intervals, which are reset when the job's state changes.
        """
        state: State | None = None
        told: tuple[State | None, int] = (None, 0)
        silent, unread, pause_s = 0, 0, _FIRST_POLL_S
        gone = False
        began = time.monotonic()
        ask_at, tell_at = began + pause_s, began
        while interrupts.signal is None:
            _sleep(_LOOK_S, interrupts)
            now = time.monotonic()
            self._refuse_vanished()
            complete, unread = self._is_complete(unread)
            if complete or (gone and not unread):
                return complete
            if now >= ask_at and not gone:
                asked, silent = self._ask(silent)
                if gone := asked == "gone":
                    continue  # the run is read once more, because the job may just have completed it
                pause_s = min(_LAST_POLL_S, pause_s * _BACK_OFF) if asked == state else _FIRST_POLL_S
                ask_at, state = now + pause_s, asked or state
            if state and (now >= tell_at or state != told[0]):
                tell_at = now + _TELL_S
                if (seen := (state, self._results())) != told:
                    _say(f"job {self._job} {state}, {counted(seen[1], 'result')}, {duration(now - began)}")
                told = seen
        return False

    def _is_complete(self, unread: int) -> tuple[bool, int]:
        """Return whether the run is complete and 0; if it cannot be read, False and the failures in a row.

        A network file system may fail once. Raise InputError if this lasts too long.
        """
        try:
            return read_run(self._folder).state == "complete", 0
        except InputError as error:
            self._refuse_too_many(unread + 1, error)
            return False, unread + 1

    def _ask(self, silent: int) -> tuple[State | None, int]:
        """Return the job's state and 0.

        If the scheduler does not answer, None and the number of failures in a row.

        A scheduler gives invalid answers while it restarts. Raise InputError if this lasts too long.
        """
        try:
            return self._scheduler.state_of(self._job or ""), 0
        except InputError as error:
            self._refuse_too_many(silent + 1, error)
            return None, silent + 1

    def _refuse_too_many(self, failures: int, last: InputError) -> None:
        if failures >= _MOST_SILENT:
            raise InputError(
                f"{last}; job {self._job} may still be running; check with the scheduler"
            ) from None

    def _refuse_vanished(self) -> None:
        """Raise InputError if the run's folder is gone, after cancelling the job, which could only fail."""
        try:
            self._held.refuse_vanished()
        except OSError:  # of a network file system; reading the run counts how long it lasts
            return
        except InputError:
            self._cancel()
            raise

    def _cancel(self) -> None:
        if self._job is None:
            return
        try:
            self._scheduler.cancel_job(self._job)
            _say(f"cancelled job {self._job}")
        except InputError as error:
            _say(f"{error}; job {self._job} may still be running; check with the scheduler")

    def _results(self) -> int:
        try:
            with (self._folder / "records.jsonl").open("rb") as lines:
                self._counted = sum(1 for _ in lines)
        except FileNotFoundError:
            self._counted = 0
        except OSError:  # of a network file system: the last number stays
            pass
        return self._counted


def _sleep(seconds: float, interrupts: Interrupts) -> None:
    end = time.monotonic() + seconds
    while interrupts.signal is None and (left := end - time.monotonic()) > 0:
        time.sleep(min(0.2, left))


def _confirmed(what: str) -> bool:
    """Ask the user whether to submit the rest; return False without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{what}; submit the rest? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
