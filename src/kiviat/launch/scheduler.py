"""Schedulers: facts, one file each in `schedulers/`, and the few commands that a run needs of them.

A job runs `kiviat run --resume RUN` in the allocation. So a requeued or a cut off job goes on where it
stopped, and what became of a job is read in the run's own directory: no accounting is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jinja2

from kiviat.record import InputError

_FOLDER = Path(__file__).parent / "schedulers"
_ANSWER_TIMEOUT_S = 60.0

State = Literal["waiting", "running", "gone"]


@dataclass(frozen=True)
class Scheduler:
    """`job` finds a job's identifier in the answer to `submit`, `state` its state in that to `query`, and
    `unknown` the word there that there is no such job.

    `launcher` starts ranks instead of mpiexec, where `pmis` answers that it speaks what the MPI wants.
    """

    name: str
    title: str
    submit: tuple[str, ...]
    job: str
    query: tuple[str, ...]
    state: str
    unknown: str
    waiting: frozenset[str]
    running: frozenset[str]
    cancel: tuple[str, ...]
    inside: str
    script: str
    packages: str
    launcher: tuple[str, ...] = ()
    pmis: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    submit_by_input: bool = False

    def is_inside(self, environment: Mapping[str, str]) -> bool:
        """Whether this process runs in a job."""
        return bool(environment.get(self.inside))

    def own_job(self) -> str | None:
        """The job that this process runs in."""
        return os.environ.get(self.inside)

    def refuse_absent(self) -> None:
        if not shutil.which(self.submit[0]):
            raise InputError(
                f"--on {self.name}: there is no {self.submit[0]} on PATH; {self.title} is not installed here "
                f"({self.packages}), or its commands need a module"
            )

    def submit_job(self, script: Path) -> str:
        """The identifier of the new job."""
        words = [word.replace("{script}", str(script)) for word in self.submit]
        text = script.read_text(encoding="utf-8") if self.submit_by_input else None
        done = self._run(words, text)
        found = re.search(self.job, done.stdout, re.MULTILINE)
        if done.returncode or not found:
            raise InputError(
                f"{self.title} did not take the job: `{' '.join(words)}` said {_said(done)!r}; "
                f"see {script}, or give options by --on {self.name}:OPTION=VALUE"
            )
        return found[1]

    def state_of(self, job: str) -> State:
        """A job that is no longer known is gone. InputError where the answer makes no sense, or there is
        none: of a scheduler that cannot be reached nobody knows what its jobs do.
        """
        done = self._run(
            [word.replace("{job}", job).replace("{{", "{").replace("}}", "}") for word in self.query]
        )
        found = re.search(self.state.replace("{job}", re.escape(job)), done.stdout, re.MULTILINE)
        if found:
            return (
                "waiting" if found[1] in self.waiting else "running" if found[1] in self.running else "gone"
            )
        nothing = not done.returncode and not done.stdout.strip()
        if nothing or re.search(self.unknown, done.stdout + done.stderr, re.IGNORECASE):
            return "gone"
        raise InputError(
            f"{self.title} gives no state of job {job}: `{' '.join(done.args)}` said {_said(done)!r}"
        )

    def cancel_job(self, job: str) -> None:
        self._run([word.replace("{job}", job) for word in self.cancel])

    def _run(self, words: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                words,
                input=text,
                stdin=None if text is not None else subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_ANSWER_TIMEOUT_S,
            )
        except OSError as error:
            raise InputError(f"{self.title}: `{words[0]}` cannot be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise InputError(
                f"{self.title}: `{' '.join(words)}` gave no answer within {_ANSWER_TIMEOUT_S:.0f} s"
            ) from None


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = [*done.stderr.strip().splitlines(), *done.stdout.strip().splitlines()]
    return lines[0][:200] if lines else f"nothing, exit code {done.returncode}"


@dataclass(frozen=True)
class Request:
    """What a job asks for. `options` go to the scheduler as they are."""

    name: str
    folder: Path
    command: str
    ranks: int
    per_node: int | None
    minutes: int
    options: Mapping[str, str]


def render(scheduler: Scheduler, request: Request, template: Path | None = None) -> str:
    """The job script, by the user's template where there is one."""
    try:
        source = template.read_text(encoding="utf-8") if template else scheduler.script
        made = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(
            source.lstrip("\n")
        )
        return made.render(
            name=request.name,
            folder=request.folder,
            command=request.command,
            ranks=request.ranks,
            per_node=request.per_node,
            nodes=-(-request.ranks // request.per_node) if request.per_node else None,
            minutes=request.minutes,
            hours_minutes=f"{request.minutes // 60:02}:{request.minutes % 60:02}",
            options=request.options,
        )
    except OSError as error:
        raise InputError(f"--script {template}: {error.strerror}") from None
    except jinja2.TemplateError as error:
        raise InputError(f"--script {template}: {error.message or error}; see docs/schedulers.md") from None


@cache
def schedulers() -> dict[str, Scheduler]:
    """All schedulers by name, which is that of the file."""
    return {path.stem: _load(path) for path in sorted(_FOLDER.glob("*.toml"))}


def _load(path: Path) -> Scheduler:
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
    }
    values |= {key: frozenset(data[key]) for key in ("waiting", "running")}
    return Scheduler(name=path.stem, **values)


def inside_of(environment: Mapping[str, str] | None = None) -> Scheduler | None:
    """The scheduler in whose job this process runs, if any."""
    seen = os.environ if environment is None else environment
    return next((one for one in schedulers().values() if one.is_inside(seen)), None)
