"""One trial, in its own namespaces:

python -m tests.faults.trial '{"trial": …, "setting": …}'

It starts a command, waits for its phase, injects the fault, examines the state, continues as a user would,
and prints its observations as one line of JSON. With the key "mpi" instead of "trial" it creates the results
that trials start from and are compared with.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.slurm.site import Slurm

from . import injection, jobs, templates, world
from .command import (
    LIMIT_S,
    LOGS,
    POLL_S,
    REPORT,
    WHERE,
    Command,
    measuring,
    profiling,
    resuming,
    wait_until,
)
from .expected import expected
from .judgement import Judgement
from .ledger import RUN, Ledger, run_json
from .left import OF_LAUNCHERS, Left
from .moments import View, begins, has_target
from .plan import CLOCKS, OF_SLURM, PROFILERS, Trial
from .templates import finished_in

_OLD = b"what was there before\n"
# Approximate processor time that Python uses before Kiviat's own code runs. Until then, a signal ends the
# process without a message from Kiviat.
EARLY_S = 0.06


@dataclass(frozen=True)
class Setting:
    """Shared by the trials of a campaign: built programs and libraries, kiviat-bench first; its launcher; the
    folder of templates.
    """

    products: list[str]
    mpiexec: str
    templates: str


class Experiment:
    def __init__(self, trial: Trial, setting: Setting) -> None:
        self.trial = trial
        self.setting = setting
        self.templates = Path(setting.templates)
        self.chance = Random(f"{trial.seed} {trial.mpi} {trial.index} inside")
        self.commands: list[Command] = []
        self.folder: Path | None = None
        self.ledger: Ledger | None = None
        self.seen = self.lost = self.at_fault = 0
        self.phase = trial.phase
        self.early = False
        self.target = _target(trial)
        # Kiviat replaces profiles and traces by others only.
        same = self.templates / "outputs" / self.target.name
        self.old = same.read_bytes() if trial.phase in PROFILERS else _OLD
        self.slurm: Slurm | None = None
        self.variables = self._variables()
        cached = [world.BUILDS / path.name for path in (self.templates / "builds").iterdir()]
        foreign = OF_LAUNCHERS if trial.phase in PROFILERS else jobs.FILES if self.slurm else None
        stuck = trial.kind == "read-only"
        if trial.phase in PROFILERS:
            stuck |= trial.kind == "disk full" or "KILL" in trial.kind
        daemons = jobs.daemons(trial.kind) if self.slurm else ()
        self.left = Left(world.mounts(), self.target, cached, stuck, foreign, daemons)

    def run(self) -> dict[str, Any]:
        began = time.monotonic()
        command = self._start()
        if not self._wait_for_phase(command):
            return {"missed": True}
        if self.trial.kind == "two resumes":  # three more, at the same time
            rivals = [self._command(command.words) for _ in range(3)]
            undo: injection.Undo | None = injection.nothing
        else:
            rivals, undo = [], self._inject(command)
        if undo is None:
            return {"missed": True}
        for one in (command, *rivals):
            one.wait()
        self._look()
        judgement = self._judge(command, rivals)
        if self.slurm:
            self._judge_jobs(self.slurm, command, judgement)
        left = self.left(builds=False) if self._is_orderly() else []
        undo()
        self._go_on(judgement)
        judgement.of_crashes(self.commands)
        if self.slurm:
            self._settle(self.slurm, judgement)
            judgement.of_outputs(jobs.outputs())
        self._count()
        return {
            "phase": self.phase,
            "code": command.code,
            "took_s": round(time.monotonic() - began, 2),
            "early": self.early,
            "at_fault": self.at_fault,
            "seen": self.seen,
            "lost": self.lost,
            "left": sorted({*left, *self.left(builds=True)}),
            "silent": judgement.silent,
            "wrong_words": judgement.wrong_words,
            "wrong": list(dict.fromkeys(judgement.wrong)),
            "commands": [one.evidence() for one in self.commands],
            "jobs": jobs.outputs(),
        }

    # Before the fault.

    def _variables(self) -> dict[str, str]:
        if self.trial.phase == "build":
            return world.building(Path(self.setting.products[0]))
        world.copy(self.templates / "builds", world.BUILDS)
        if self.trial.kind in CLOCKS:
            return world.with_clock(self.templates / "clock.so")
        if self.trial.phase == "slurm":
            self.slurm = jobs.start()
            return self.slurm.environment
        return world.AS_ROOT if self.trial.phase in PROFILERS else {}

    def _reads(self) -> bool:
        """Return whether the command is a report or an export, which cannot be resumed."""
        return self.trial.phase == "export" or (self.trial.phase, self.trial.detail) == ("report", "report")

    def _start(self) -> Command:
        if self._reads() or self.trial.phase == "resume":
            template = finished_in(self.templates) if self._reads() else self.templates / "interrupted"
            self.folder = world.RUNS / json.loads((template / RUN).read_text())["id"]
            world.copy(template, self.folder)
        if self.chance.random() < 0.5:
            self.target.write_bytes(self.old)
        return self._command(self._words(), self.trial.kind == "stdout closed")

    def _words(self) -> list[str]:
        if self.trial.phase in PROFILERS:
            setting = self.setting
            return profiling(self.trial.phase, setting.mpiexec, setting.products[0], self.target)
        if self.folder is None:
            return measuring(self.trial.mpi, self.trial.phase)
        if self.trial.phase == "resume":
            return resuming(self.trial.mpi, self.folder)
        return [
            "export" if self.trial.phase == "export" else "report",
            str(self.folder),
            "-o",
            str(self.target),
        ]

    def _command(self, words: list[str], piped: bool = False) -> Command:
        prefix = self.slurm.prefix if self.slurm else ()
        self.commands.append(Command(words, piped, self.variables, prefix))
        return self.commands[-1]

    def _look(self) -> None:
        """Update the ledger once the run's folder exists."""
        if self.folder is None and (found := world.run_folders()):
            self.folder = found[0]
        if self.folder and self.ledger is None:
            with suppress(FileNotFoundError):
                self.ledger = Ledger.of(self.folder)
        if self.ledger and self.trial.kind != "folder removed":
            self.ledger.look()

    def _view(self, command: Command) -> View:
        self._look()
        kind = "resume" if "--resume" in command.words else command.words[0]
        where = self.trial.phase if self.trial.phase in WHERE else ""
        return View(kind, command.process.pid, self.folder, where)

    def _wait_for_phase(self, command: Command) -> bool:
        """Wait for the phase and the offset within it; return False if the command ended before."""
        begun = begins(self.trial, self.chance.randrange(1000))
        if not wait_until(lambda: begun(self._view(command)) or command.ended(), LIMIT_S):
            return False
        self._pass(command, self.trial.offset_s)
        # A rank may have ended meanwhile: the next one is hit.
        wait_until(lambda: has_target(self.trial, self._view(command)) or command.ended(), LIMIT_S)
        return not command.ended()

    def _pass(self, command: Command, duration_s: float) -> None:
        deadline = time.monotonic() + duration_s
        while time.monotonic() < deadline and not command.ended():
            self._look()
            time.sleep(POLL_S)

    # The fault itself.

    def _inject(self, command: Command) -> injection.Undo | None:
        """Inject the fault while the process is stopped, so that the content of the file at this moment is
        known.

        Return the undo function, or None if the target did not exist.
        """
        pid = command.process.pid
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: world.status(pid)[:1] in (["T"], ["Z"], []), 2)
        view = self._view(command)
        self.phase = view.phase()
        self.early = world.computed_s(pid) < EARLY_S and not world.catches(pid, signal.SIGTERM)
        self.at_fault = len(self.ledger.seen) if self.ledger else 0
        if self.trial.target != "-":
            return injection.nothing if self._signal(command, view) else None
        if self.slurm and self.trial.kind in OF_SLURM:
            return injection.nothing if self._disturb_slurm(self.slurm, command) else None
        disk = world.CACHE if self.phase == "build" else world.DISK
        undo = injection.disturb(self.trial.kind, view.folder, disk)
        command.close_reader()
        injection.send([pid], "CONT")
        return undo

    def _signal(self, command: Command, view: View) -> bool:
        """Send the signals; return whether the target process existed."""
        pids, group = view.targets(self.trial.target), self.trial.target == "group"
        first, _, second = self.trial.kind.partition("+")
        injection.send(pids, first, group)
        if pids != [view.pid] or first != "STOP":
            injection.send([view.pid], "CONT")
        if second:
            self._pass(command, self.trial.pause_s)
            injection.send([pid for pid in pids if pid != view.pid or not command.ended()], second, group)
        return bool(pids)

    def _disturb_slurm(self, slurm: Slurm, command: Command) -> bool:
        """Cancel the job, or silence Slurm for 4 to 12 seconds; return False if there is no job."""
        pid, controller = command.process.pid, slurm.controller
        if self.trial.kind == "scancel":
            living = slurm.jobs("PENDING", "RUNNING")
            slurm.run("scancel", *living)
            injection.send([pid], "CONT")
            return bool(living)
        killed = self.trial.kind == "controller killed"
        controller.send_signal(signal.SIGKILL if killed else signal.SIGSTOP)
        injection.send([pid], "CONT")
        self._pass(command, 4 + 16 * self.trial.pause_s)
        if killed:
            controller.wait()
            slurm.start_controller()
        else:
            controller.send_signal(signal.SIGCONT)
        return True

    # After the fault.

    def _judge(self, command: Command, rivals: list[Command]) -> Judgement:
        row = expected(self.trial.kind, self.trial.target, self.phase)
        judgement = Judgement(row, self.early, self.target, self.old, self.templates, self.trial.phase)
        for one in (command, *rivals):
            judgement.of_end(one)
        if rivals:
            judgement.of_rivals([command, *rivals])
        judgement.of_target()
        if self.trial.kind != "folder removed":
            judgement.of_success(command, self._where())
        for folder in world.run_folders():
            judgement.of_records(folder, must_be_complete=False)
        return judgement

    def _judge_jobs(self, slurm: Slurm, command: Command, judgement: Judgement) -> None:
        """Judge the jobs that the command left, and wait for their end."""
        living, folder = slurm.jobs("PENDING", "RUNNING"), self._where()
        if self.trial.kind == "scancel" or (self._is_orderly() and self.trial.target in ("kiviat", "group")):
            judgement.of_jobs(command, living, folder)
        elif living and folder and run_json(folder).get("state") != "complete":
            judgement.of_refused(self._finished(resuming(self.trial.mpi, folder)))
        self._settle(slurm, judgement)
        self._look()
        for run in world.run_folders():
            judgement.of_records(run, must_be_complete=False)

    def _settle(self, slurm: Slurm, judgement: Judgement) -> None:
        """Wait for the end of all jobs, except those that a killed controller has forgotten to run."""
        left = jobs.settle(slurm)
        if self.trial.kind != "controller killed":
            judgement.wrong += [f"job {job} does not end" for job in left]

    def _is_orderly(self) -> bool:
        """Return whether Kiviat could clean up by itself."""
        return self.trial.kind == "stdout closed" or (
            self.trial.target != "-" and "KILL" not in self.trial.kind and not self.early
        )

    def _go_on(self, judgement: Judgement) -> None:
        """Continue as a user would: resume the run or repeat the command, then list runs."""
        folder, may_fail = self._where(), judgement.may_fail
        if self.trial.phase in PROFILERS:
            if self.target.exists():
                judgement.of_next(self._finished(["show", str(self.target)]), False)
            judgement.of_next(again := self._finished(self._words()), False)
            judgement.of_success(again, None)
            judgement.of_next(self._finished(["show", str(self.target)]), False)
            return
        if self._reads():
            if folder:
                self.folder = folder
                judgement.of_next(again := self._finished(self._words()), may_fail)
                judgement.of_success(again, folder)
            judgement.of_next(self._finished(["cluster", "status"]), False)
            return
        if folder is None or not run_json(folder):
            self._count()
            self.folder = self.ledger = None
            judgement.of_next(self._finished(measuring(self.trial.mpi, self.trial.phase)), False)
        elif run_json(folder).get("state") != "complete":
            words = resuming(self.trial.mpi, folder, self.trial.phase)
            judgement.of_next(self._finished(words), may_fail)
        for run in world.run_folders()[-1:]:
            judgement.of_records(run, must_be_complete=True)
        judgement.of_target()
        judgement.of_next(self._finished(["runs"]), False)

    def _finished(self, words: list[str]) -> Command:
        command = self._command(words)
        command.wait()
        self._look()
        return command

    def _where(self) -> Path | None:
        """Return the current folder of the run; None if it no longer exists."""
        path = self.ledger.path() if self.ledger else None
        return path if path and path.is_dir() else None

    def _count(self) -> None:
        """Add up seen and lost records of the run, unless the fault itself removed them."""
        self._look()
        if self.ledger and self.trial.kind != "folder removed":
            self.seen += len(self.ledger.seen)
            self.lost += len(self.ledger.lost)


def _target(trial: Trial) -> Path:
    """Return the file that the command writes."""
    if trial.phase == "export":
        return world.OUT / f"export.{trial.detail}"
    return world.OUT / f"bench.{trial.phase}" if trial.phase in PROFILERS else REPORT


def main() -> None:
    asked = json.loads(sys.argv[1])
    setting = Setting(**asked["setting"])
    folder = Path(setting.templates)
    world.enter([world.CHECKOUT, Path(sys.prefix), Path(sys.base_prefix), folder])
    LOGS.mkdir()
    if "trial" in asked:
        trial = Trial(**asked["trial"])
        said = {**asdict(trial), "planned": trial.phase, **Experiment(trial, setting).run()}
    else:
        said = templates.make(asked["mpi"], list(map(Path, setting.products)), setting.mpiexec, folder)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
