"""Schedulers. Each is described by a file in `schedulers/`; this module runs the commands that a run needs.

A job executes `kiviat run --resume RUN` in its allocation, so a job that was requeued or cut off continues
where it stopped. What a job has done is read from the run's directory; no accounting is needed. The scheduler
is asked how a job ended only if the job was cut off.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kiviat.launch.process import children
from kiviat.record import InputError, NotStartedError
from kiviat.record.files import read_text
from kiviat.record.plain import plain_name
from kiviat.record.site import by_name, read_facts, refusing_facts

_FOLDER = Path(__file__).parent
_ANSWER_TIMEOUT_S = 60.0
# Characters in paths that no scheduler's directive and no shell expands or splits.
_FOLDER_LETTERS = re.compile(r"[\w@+=.,/-]")
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NEEDS_QUOTES = re.compile(r"[\s'#;]")
_NEVER = re.compile(r'["\\`$]')

State = Literal["waiting", "running", "gone"]
Ending = Literal["cancelled", "out of time", "preempted", "node failure", "completed", "failed"]


@dataclass(frozen=True)
class Scheduler:
    """A scheduler's commands, and how their output is parsed.

    `job` matches a job's identifier in the output of `submit`, `state` its state in that of `query`, and
    `unknown` the message that the job does not exist. `ended` are queries about how a finished job ended;
    they are tried until the output matches one of `endings`, whose first match counts.

    `launcher` starts ranks instead of mpiexec if `pmis` reports the process manager interface that the MPI
    needs; `binding` are its options that bind ranks to cores, and `passed` its variables that get the value
    of one of the job. `hosts` lists a job's nodes, on which Kiviat can place ranks. `flags` are options
    without a value. `variables` is true if names of options have small letters, so that in
    "export=ALL,FOO=1" FOO is a variable of the option before it. `elsewhere` matches the name of another
    cluster in the output of `submit`; `cancel_elsewhere` cancels a job there.
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
    ended: tuple[tuple[str, ...], ...]
    endings: Mapping[Ending, str]
    launcher: tuple[str, ...] = ()
    pmis: tuple[str, ...] = ()
    passed: Mapping[str, str] = field(default_factory=dict)
    binding: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    variables: bool = False
    submit_by_input: bool = False
    elsewhere: str = ""
    cancel_elsewhere: tuple[str, ...] = ()

    def is_inside(self, environment: Mapping[str, str]) -> bool:
        """True if this process runs in a job of the scheduler."""
        return bool(environment.get(self.inside))

    def own_job(self) -> str | None:
        """Return the identifier of the job that this process runs in; None outside of jobs."""
        return os.environ.get(self.inside)

    def refuse_absent(self) -> None:
        """Raise InputError if the scheduler's commands are not on PATH."""
        if not shutil.which(self.submit[0]):
            raise InputError(
                f"--on {self.name}: there is no {self.submit[0]} on PATH; {self.title} is not installed here "
                f"({self.packages}), or its commands need a module"
            )

    def submit_job(self, script: Path) -> str:
        """Submit a job; return its identifier. Raise NotStartedError if the scheduler rejects it."""
        words = [word.replace("{script}", str(script)) for word in self.submit]
        text = script.read_text(encoding="utf-8") if self.submit_by_input else None
        done = self._run(words, text)
        found = re.search(self.job, done.stdout, re.MULTILINE)
        if done.returncode or not found:
            raise NotStartedError(
                f"{self.title} rejected the job: `{' '.join(words)}` said {_said(done)!r}; "
                f"see {script}, or give options by --on {self.name}:OPTION=VALUE"
            )
        cluster = re.search(self.elsewhere, done.stdout, re.MULTILINE) if self.elsewhere else None
        # All commands of Slurm read this variable.
        if cluster and cluster[1] != os.environ.get("SLURM_CLUSTERS"):
            self._refuse_elsewhere(found[1], cluster[1])
        return found[1]

    def _refuse_elsewhere(self, job: str, cluster: str) -> None:
        """Cancel a job on another cluster, whose state cannot be asked for here; raise NotStartedError."""
        words = _filled([word.replace("{cluster}", cluster) for word in self.cancel_elsewhere], job)
        done = self._run(words)
        ended = f"`{' '.join(words)}` failed: {_said(done)!r}" if done.returncode else "it was cancelled"
        raise NotStartedError(
            f"{self.title} sent job {job} to the cluster {cluster}, and Kiviat watches jobs of one cluster; "
            f"{ended}; leave the option for it out, and start Kiviat on a node of {cluster}"
        )

    def state_of(self, job: str) -> State:
        """Return a job's state; `gone` if the scheduler does not know the job any more.

        Raise InputError if there is no output or an unclear one, because the state is unknown while a
        scheduler cannot be reached.
        """
        done = self._run(_filled(self.query, job))
        found = re.search(self.state.replace("{job}", re.escape(job)), done.stdout, re.MULTILINE)
        if found:
            return (
                "waiting" if found[1] in self.waiting else "running" if found[1] in self.running else "gone"
            )
        nothing = not done.returncode and not done.stdout.strip()
        if nothing or re.search(self.unknown, done.stdout + done.stderr, re.IGNORECASE):
            return "gone"
        raise InputError(
            f"{self.title} reports no state of job {job}: `{' '.join(done.args)}` said {_said(done)!r}"
        )

    def ending_of(self, job: str) -> Ending | None:
        """Return how a finished job ended.

        None if the scheduler does not report it, for example because it has no accounting and has forgotten
        the job.
        """
        for question in self.ended:
            with suppress(InputError):
                said = self._run(_filled(question, job)).stdout
                for ending, expression in self.endings.items():
                    if re.search(expression.replace("{job}", re.escape(job)), said, re.MULTILINE):
                        return ending
        return None

    def cancelling(self, job: str) -> list[str]:
        """Return the command that cancels a job."""
        return _filled(self.cancel, job)

    def cancel_job(self, job: str) -> None:
        """Cancel a waiting or running job. Raise InputError if it may go on."""
        done = self._run(self.cancelling(job))
        if done.returncode and self.state_of(job) != "gone":
            raise InputError(
                f"{self.title} did not cancel job {job}: `{' '.join(done.args)}` said {_said(done)!r}"
            )

    def interfaces(self) -> list[str]:
        """Return the process manager interfaces that the scheduler's launcher has.

        Raise InputError if it does not say.
        """
        done = self._run(self.pmis)
        if done.returncode:
            raise InputError(
                f"{self.title}: `{' '.join(self.pmis)}` failed: {_said(done)!r}; try again later, or give "
                "--launcher"
            )
        return f"{done.stdout} {done.stderr}".split()

    def _run(self, words: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
        try:
            return children.run(words, text=text, timeout_s=_ANSWER_TIMEOUT_S)
        except OSError as error:
            raise InputError(f"{self.title}: `{words[0]}` cannot be run: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise InputError(
                f"{self.title}: `{' '.join(words)}` did not answer within {_ANSWER_TIMEOUT_S:.0f} s; try "
                "again later"
            ) from None


def _filled(words: Sequence[str], job: str) -> list[str]:
    return [word.replace("{job}", job).replace("{{", "{").replace("}}", "}") for word in words]


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = [*done.stderr.strip().splitlines(), *done.stdout.strip().splitlines()]
    return lines[0][:200] if lines else f"nothing, exit code {done.returncode}"


@dataclass(frozen=True)
class Request:
    """Resources and command of a job. `options` are passed to the scheduler, quoted if directives need it."""

    name: str
    folder: Path
    command: str
    ranks: int
    per_node: int | None
    minutes: int
    options: Sequence[tuple[str, str]]


class _Options(dict[str, str]):
    """Options for templates, which loop over `options.items()`: there, unlike in a dict, names may repeat."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Sequence[tuple[str, str]]:  # type: ignore[override]
        return self._pairs


def render(scheduler: Scheduler, request: Request, template: Path | None = None) -> str:
    """Return the job script, made from the user's template if given.

    Raise InputError for a folder, an option or a word of the command that would inject commands or
    directives, such as one with a newline.
    """
    import jinja2

    _refuse_folder(request.folder)
    if not request.command.isprintable():
        raise InputError(f"a job script cannot hold {request.command!r}; leave the control characters out")
    options = [
        (name, _option_value(f"--on {scheduler.name}:{name}={value}", name, value))
        for name, value in request.options
    ]
    try:
        source = read_text(template, largest_bytes=1 << 20) if template else scheduler.script
        made = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(
            source.lstrip("\n")
        )
        return made.render(
            name=plain_name(request.name),
            folder=request.folder,
            command=request.command,
            ranks=request.ranks,
            per_node=request.per_node,
            nodes=-(-request.ranks // request.per_node) if request.per_node else None,
            minutes=request.minutes,
            hours_minutes=f"{request.minutes // 60:02}:{request.minutes % 60:02}",
            options=_Options(options),
        )
    except OSError as error:
        raise InputError(f"--script {template}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"--script {template} is not UTF-8: {error}; correct the file") from None
    except jinja2.TemplateError as error:
        raise InputError(
            f"--script {template}: {error.message or error}; see docs/howto/schedulers.md"
        ) from None


def _refuse_folder(folder: Path) -> None:
    if odd := _FOLDER_LETTERS.sub("", str(folder)):
        raise InputError(
            f"a job script cannot hold the folder {str(folder)!r} because of {odd[0]!r}; "
            "give one of letters, digits and _@+=.,- by -o or in KIVIAT_RUNS"
        )


def _option_value(what: str, name: str, value: str) -> str:
    """Return the value as directives need it, for example in quotes if it contains blanks."""
    if not _OPTION.fullmatch(name):
        raise InputError(f"{what!r}: {name!r} is not an option's name; give letters, digits and -")
    odd = _NEVER.search(value) or next((letter for letter in value if not letter.isprintable()), None)
    if odd:
        letter = odd if isinstance(odd, str) else odd[0]
        raise InputError(f"{what!r}: a job script cannot hold {letter!r} in an option; leave it out")
    return f'"{value}"' if _NEEDS_QUOTES.search(value) else value


@cache
def schedulers() -> dict[str, Scheduler]:
    """Return all schedulers by name, which is the name of the file."""
    return {name: _load(path) for name, path in by_name("schedulers", _FOLDER).items()}


def _load(path: Path) -> Scheduler:
    data = read_facts(path, "scheduler")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
    }
    with refusing_facts(path, "scheduler"):
        values |= {key: frozenset(data[key]) for key in ("waiting", "running")}
        values["ended"] = tuple(tuple(question) for question in data["ended"])
        return Scheduler(name=path.stem, **values)
