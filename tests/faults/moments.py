"""Detects the phase of a running command from outside: by its files, processes and output lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import world
from .ledger import run_json, whole_lines
from .plan import Trial

COMPILERS = ("cmake", "ninja", "cc1plus")
LAUNCHERS = ("mpiexec", "mpirun", "orterun", "mpiexec.hydra", "mpiexec.openmpi", "mpiexec.mpich", "srun")
RANKS = ("kiviat-bench", "kiviat-bench-ba", "smpimain")  # names of processes have 15 characters
QUERY_ENGINE = "_duckdb"  # a library that is loaded when a report or an export begins


@dataclass(frozen=True)
class View:
    """A running command, and the folder of its run if it exists already."""

    command: str
    pid: int
    folder: Path | None
    where: str = ""  # of a run that is not made on this machine: "simulated", "emulated", "slurm"

    def launches(self) -> list[str]:
        """Return the names of the existing launch folders: "probe", "0", "1", …"""
        folder = self.folder and self.folder / "launches"
        return sorted(path.name for path in folder.iterdir()) if folder and folder.is_dir() else []

    def events(self, launch: str) -> int:
        """Return the number of complete lines in the event log of a launch."""
        try:
            data = (self.folder / "launches" / launch / "events.jsonl").read_bytes() if self.folder else b""
        except OSError:
            return 0
        return len(whole_lines(data))

    def named(self, *names: str) -> list[int]:
        """Return the processes that have one of these names; all processes here are of the command."""
        return [pid for pid, name in sorted(world.processes().items()) if name in names]

    def targets(self, target: str) -> list[int]:
        """Return the processes that get a signal: of several ranks, the last one; of a launcher that has
        forked, the first. The job is the kiviat that its script has started.
        """
        if target in ("kiviat", "group"):
            return [self.pid]
        if target == "job":
            scripts = {str(pid) for pid in self.named(*TARGETS["script"])}
            return [pid for pid in sorted(world.processes()) if {*world.status(pid)[1:2]} & scripts]
        found = self.named(*TARGETS[target])
        return found[-1:] if target == "rank" else found[:1]

    def has_ended(self, launch: int) -> bool:
        launches = run_json(self.folder).get("launches", []) if self.folder else []
        return len(launches) > launch and launches[launch]["outcome"] != "running"

    def has_job(self) -> bool:
        return self.folder is not None and (self.folder / "job.json").exists()

    def is_complete(self) -> bool:
        return self.folder is not None and run_json(self.folder).get("state") == "complete"

    def phase(self) -> str:
        """Return the current phase of the command, as seen from outside."""
        if self.command != "run":
            return self.command
        if self.where:
            return "report" if self.is_complete() else self.where
        if self.named(*COMPILERS):
            return "build"
        if self.folder is None:
            return "start"
        if self.is_complete():
            return "report"
        launches = self.launches()
        if any(name.isdecimal() for name in launches) and self.named(*LAUNCHERS, *RANKS):
            return "launch"
        begun = run_json(self.folder).get("launches") or any(name.isdecimal() for name in launches)
        return "between" if begun else "probe"


TARGETS = {"compiler": COMPILERS, "launcher": LAUNCHERS, "rank": RANKS, "script": ("slurm_script",)}


def begins(trial: Trial, step: int) -> Callable[[View], bool]:
    """Return a condition that is true once the trial's phase has begun and its target process exists. `step`
    is a random number that selects the moment within the phase.
    """
    begun = _begins(trial, step)
    return lambda view: begun(view) and has_target(trial, view)


def has_target(trial: Trial, view: View) -> bool:
    """Return whether what the fault is to hit exists: a process, or a job to cancel."""
    if trial.kind == "scancel":
        return view.has_job()
    return trial.target == "-" or bool(view.targets(trial.target))


def _at_once(view: View, events: int) -> bool:
    return True


def _folder(view: View, events: int) -> bool:
    return view.folder is not None


def _launch(view: View, events: int) -> bool:
    return bool(view.launches())


def _ranks(view: View, events: int) -> bool:
    return bool(view.named(*RANKS))


def _job(view: View, events: int) -> bool:
    return view.has_job()


def _measured(view: View, events: int) -> bool:
    """Return whether a launch has written more than this number of events."""
    return any(view.events(name) > events for name in {*view.launches()} - {"probe"})


# Moments of phases that are long enough for several; a third of the trials wait for each.
_THIRDS = {
    "resume": (_launch, _measured, _measured),
    "simulated": (_launch, _folder, _folder),
    "emulated": (_launch, _folder, _folder),
    "profile": (_at_once, _ranks, _ranks),
    "trace": (_at_once, _ranks, _ranks),
    "slurm": (_folder, _job, _measured),
}


def _begins(trial: Trial, step: int) -> Callable[[View], bool]:
    detail = trial.detail
    if trial.phase == "start" or trial.kind == "two resumes":
        return lambda view: True
    if trial.phase in _THIRDS:
        return lambda view: _THIRDS[trial.phase][step % 3](view, step % 8)
    match trial.phase:
        case "build":
            return lambda view: bool(view.named(COMPILERS[step % len(COMPILERS)]))
        case "probe":
            return lambda view: "probe" in view.launches() and (step % 2 == 0 or bool(view.named(*RANKS)))
        case "launch":
            return lambda view: view.events(detail) > step % 8 and bool(view.named(*RANKS))
        case "between":
            return lambda view: view.has_ended(int(detail)) and detail not in view.launches()
        case "report" if detail == "run":
            return View.is_complete
        case _:
            return lambda view: world.has_loaded(view.pid, QUERY_ENGINE)
