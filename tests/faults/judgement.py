"""Checks of a trial's outcome.

Exit codes and messages must match expected.toml, files must be intact, and records complete.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .command import Command
from .expected import Expected
from .ledger import finished, run_json
from .templates import is_whole, planned_in

_CRASH = re.compile(r"Traceback|unexpected \w+")
_JOB_LIVES = r"still (running|waiting).*scancel|is being written|is complete"


class Judgement:
    """Collects violations of expectations in one trial.

    `row` has the permitted outcomes; `early` says that the fault hit before Kiviat's own code ran; `old` is
    what an earlier command left in `target`. `wrong` lists all violations other than missing or unexpected
    messages.
    """

    def __init__(
        self, row: Expected, early: bool, target: Path, old: bytes, templates: Path, phase: str
    ) -> None:
        self._row = row
        self._early = early
        self._target = target
        self._old = old
        self._undisturbed = templates / "outputs" / target.name
        self._planned = planned_in(templates, phase)
        self.silent = False
        self.wrong_words = False
        self.wrong: list[str] = []

    @property
    def may_fail(self) -> bool:
        return self._row.failed

    def of_end(self, command: Command) -> None:
        """Check the end of the command that the fault hit, or of a concurrent resume."""
        if self.is_early(command):
            return
        if command.hung:
            self.wrong.append("hangs")
        if command.code not in self._row.codes:
            self.wrong.append(f"exit code {command.code}, not one of {list(self._row.codes)}")
        self.silent |= self._row.silence(command.code, command.said())
        self.wrong_words |= self._row.wrong_words(command.code, command.said())

    def of_success(self, command: Command, folder: Path | None) -> None:
        """Check that a command that reports success has produced its result. A command that died of SIGPIPE
        counts as successful if its run is complete.
        """
        unread = (
            command.code == 128 + signal.SIGPIPE and folder and run_json(folder).get("state") == "complete"
        )
        if command.code != 0 and not unread:
            return
        if command.words[0] == "run" and (folder is None or run_json(folder).get("state") != "complete"):
            self.wrong.append("exit code 0, but the run is not complete")
        if not self._target.exists() or self._target.read_bytes() == self._old:
            self.wrong.append(f"exit code {command.code}, but {self._target.name} is not there")

    def of_rivals(self, commands: Sequence[Command]) -> None:
        codes = [command.code for command in commands]
        if codes.count(2) != len(codes) - 1:
            self.wrong.append(f"of {len(codes)} resumes at once, with exit codes {codes}, not one went on")

    def of_jobs(self, command: Command, jobs: Sequence[str], folder: Path | None) -> None:
        """Check that a command that was ended has also ended the `jobs` of its run, unless it is complete."""
        complete = folder and run_json(folder).get("state") == "complete"
        if jobs and command.code != 0 and not complete and not self.is_early(command):
            self.wrong.append(f"exit code {command.code}, but job {jobs[0]} goes on")

    def of_refused(self, command: Command) -> None:
        """Check a second command for a run whose job still lived when the command began."""
        if command.code not in (0, 2):
            self.wrong.append(f"a resume beside the job ends with {command.code}")
        elif command.code == 2 and not re.search(_JOB_LIVES, command.said()):
            self.wrong.append("a resume beside the job does not name the job")

    def of_next(self, command: Command, may_fail: bool) -> None:
        """Check that a later command works normally."""
        words = " ".join(command.words[:4])
        if command.hung:
            self.wrong.append(f"afterwards `kiviat {words}` hangs")
        elif command.code not in ((0, 1) if may_fail else (0,)):
            self.wrong.append(f"afterwards `kiviat {words}` ends with {command.code}")

    def of_records(self, folder: Path, must_be_complete: bool) -> None:
        """Check that a complete run has exactly one record of each case in each repetition."""
        state = run_json(folder).get("state")
        if state != "complete":
            if must_be_complete:
                self.wrong.append(f"the run is {state} at the end")
            return
        records = finished(folder)
        for one in records:
            if one.outcome != "ok" and not self._row.failed:
                self.wrong.append(f"{one.case} of repetition {one.repetition} {one.outcome}: {one.reason}")
        count = Counter(one.key for one in records)
        if strange := set(count) - self._planned:
            self.wrong.append(f"records of another plan: {sorted(strange)}")
        for number in {count[key] for key in self._planned} - {1}:
            odd = sorted(key for key in self._planned if count[key] == number)
            self.wrong.append(f"a complete run with {number} records of {len(odd)} cases, such as {odd[0]}")

    def of_target(self) -> None:
        """Check that the output file is either the old or the new one, never a part."""
        data = self._target.read_bytes() if self._target.exists() else self._old
        if data != self._old and not is_whole(data, self._target.suffix, self._undisturbed):
            self.wrong.append(f"{self._target.name} is torn: {len(data)} bytes")

    def of_outputs(self, outputs: Sequence[str]) -> None:
        """Check what jobs have printed."""
        self.wrong.extend(f"{found[0]} in a job" for found in map(_CRASH.search, outputs) if found)

    def of_crashes(self, commands: Sequence[Command]) -> None:
        for command in commands:
            found = _CRASH.search(command.errors() + command.output())
            if found and not (command is commands[0] and self.is_early(command)):
                self.wrong.append(f"{found[0]} in what `kiviat {command.words[0]}` said")

    def is_early(self, command: Command) -> bool:
        """Return whether the fault ended the command before Kiviat's own code ran, so that no message can be
        expected.
        """
        ended = command.process.returncode < 0 or "KeyboardInterrupt" in command.errors()
        return self._early and ended and "kiviat/cli" not in command.errors()
