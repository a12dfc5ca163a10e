"""One launch from start to end: its events become records; a watchdog ends it if it hangs."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kiviat.launch.process.execution import last_words_in
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.run.activity import LaunchMonitor
from kiviat.launch.run.events import Event
from kiviat.launch.run.launch_record import (
    Records,
    described,
    now,
    refuse_wrong_mpi,
    refuse_wrong_spread,
    said,
)
from kiviat.launch.run.program import CANNOT_WRITE, Events, Program
from kiviat.launch.run.supervise import LaunchResult, supervise
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.plan.case import Case
from kiviat.plan.controls import DEFAULTS
from kiviat.record import Record

_LEAST_TIMEOUT_S = 60.0
_TIMEOUT_BUDGETS = 20
_EXIT_TIMEOUT_S = 30.0
_SIMULATION_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class LaunchCallbacks:
    """Callbacks of a launch: its description, each record, and each case as it starts.

    `sync` puts the records on the disk; it is called after those that were found together.
    """

    on_launch: Callable[[dict[str, Any]], None]
    on_record: Callable[[Record], None]
    on_start: Callable[[Case], None]
    sync: Callable[[], None]


@dataclass(frozen=True)
class AttemptResult:
    """The cases without a record after a launch, in `left`.

    If the launch failed, `reason` is the cause, and `current` the case that was running, None if there was
    none.
    """

    left: list[Case]
    reason: str | None = None
    current: Case | None = None


def timeout_s(case: Case | None) -> float:
    """Return the time limit in seconds of a case; with None, of the time between two cases."""
    budget = case.controls.get("budget_s", DEFAULTS["budget_s"]) if case else 0.0
    nominal_s = case.nominal_s if case else 0.0  # studies report progress as well
    return max(_LEAST_TIMEOUT_S, _TIMEOUT_BUDGETS * max(float(budget), nominal_s))


class Attempt:
    """One launch of `program` that tries to run `cases`."""

    def __init__(
        self, spec: LaunchSpec, program: Program, cases: Sequence[Case], callbacks: LaunchCallbacks
    ) -> None:
        self._spec = spec
        self._program = program
        self._left = {case.id: case for case in cases}
        self._callbacks = callbacks
        self._records = Records(spec)
        self._launch = described(spec, program.path)
        self._monitor: LaunchMonitor | None = None
        self._marker: Marker | None = None
        self._published = False
        self._current: Case | None = None
        self._current_started: str | None = None
        self._ended = False

    def run(self, interrupts: Interrupts) -> AttemptResult:
        """Run the launch to its end, successful or not; no process or file of it is left.

        Raise OSError if the program cannot write its results: further launches could not either.
        """
        folder = self._spec.folder
        # The folder may exist: a kiviat that was killed before it published its launch left it.
        shutil.rmtree(folder, ignore_errors=True)
        self._skip_missing()
        if not self._left:
            self._close("ok", None, "no program was started: all cases of the launch are skipped")
            return AttemptResult([])
        folder.parent.mkdir(exist_ok=True)  # does not create the run's directory, which may have vanished
        folder.mkdir()
        cases = list(self._left.values())
        for name, text in self._program.files(cases).items():
            (folder / name).write_text(text, encoding="utf-8")
        self._spec.write(folder)
        events = self._program.events(folder, cases)

        self._monitor = LaunchMonitor(self._spec)

        def look(marker: Marker) -> bool:
            """Handle new events; return whether there were any."""
            self._marker = marker
            new = list(map(self._take, events.read()))
            if new:
                self._callbacks.sync()
            return bool(new)

        try:
            result = supervise(self._spec, interrupts, limit_s=self._patience_s, look=look)
            for event in events.finish():
                self._take(event)
            if interrupts.signal is not None and (result.exit_status or not self._ended):
                return self._interrupted(result.exit_status, interrupts.signal)
            if result.exit_status == CANNOT_WRITE:
                raise OSError(errno.EIO, last_words_in(folder) or "no room", str(folder))
            return self._conclude(result, self._reason(result, events))
        except BaseException as error:
            self._close("failed", None, str(error) or type(error).__name__)
            raise

    def give_up(self, cases: Sequence[Case], reason: str) -> None:
        """Write failed records for cases that no further launch will try."""
        for case in cases:
            self._record(self._records.failed(case, "launch", reason))

    def _skip_missing(self) -> None:
        for case in list(self._left.values()):
            if why := self._program.missing(case):
                del self._left[case.id]
                self._record(self._records.skipped(case, why))

    def _patience_s(self) -> float:
        if self._ended:
            return _EXIT_TIMEOUT_S
        if self._spec.timeout_s is not None:
            return self._spec.timeout_s
        # A simulator prints nothing while it works, and its duration hardly depends on budgets.
        return _SIMULATION_TIMEOUT_S if self._spec.clock == "simulated" else timeout_s(self._current)

    def _take(self, event: Event) -> None:
        kind = event["event"]
        if kind == "launch":
            refuse_wrong_mpi(self._spec, self._program, event)
            refuse_wrong_spread(self._spec, event)
            self._launch |= said(self._spec, event)
            self._publish()
        elif kind == "start":
            self._current = self._left.get(str(event.get("case")))
            self._current_started = now()
            if self._current:
                self._callbacks.on_start(self._current)
        elif kind == "result":
            self._result(event)
        elif kind == "end":
            self._ended = True
            if self._monitor:
                self._monitor.at_end()

    def _result(self, event: Event) -> None:
        case = self._left.pop(str(event.get("case")), None)
        if case is None:
            return
        beside = self._monitor.of_case(event, self._marker) if self._monitor else {}
        try:
            record = self._records.record(case, {**event, **beside}, self._current_started)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"the result cannot be read: {type(error).__name__}: {error}"
            record = self._records.failed(case, "launch", reason, self._current_started)
        self._current = None
        self._record(record)

    def _reason(self, result: LaunchResult, events: Events) -> str | None:
        """Return why the launch failed; None if it did not."""
        words: list[str | None] = []
        if result.limit_s is not None:
            words.append(f"no progress for {result.limit_s:g} s")
        elif result.exit_status:
            words.append(result.reason)
        elif not self._ended:
            words.append(f"{self._program.name} ended without its final event")
        words.append(events.trouble)
        words = [word for word in words if word]
        if words and self._ended:
            words.append("all results are complete")
        return "; ".join(word for word in words if word) or None

    def _conclude(self, result: LaunchResult, reason: str | None) -> AttemptResult:
        current = None if self._ended else self._current
        if current:
            del self._left[current.id]
            phase = "launch" if result.limit_s is None else "watchdog"
            self._record(self._records.failed(current, phase, str(reason), self._current_started))
        if self._ended:
            self.give_up(
                list(self._left.values()), f"{self._program.name} ended before the case had a result"
            )
            self._left.clear()
        self._close("failed" if reason else "ok", result.exit_status, reason)
        if not reason:
            shutil.rmtree(self._spec.folder, ignore_errors=True)
        return AttemptResult(list(self._left.values()), None if self._ended else reason, current)

    def _interrupted(self, status: int, signal: int) -> AttemptResult:
        self._close("interrupted", status, f"interrupted by signal {signal}")
        shutil.rmtree(self._spec.folder, ignore_errors=True)
        return AttemptResult(list(self._left.values()))

    def _record(self, record: Record) -> None:
        if not self._published:
            self._publish()
        self._callbacks.on_record(record)

    def _close(self, outcome: str, status: int | None, reason: str | None) -> None:
        activity = self._monitor.of_launch() if self._monitor else None
        self._launch |= {"ended": now(), "exit": status, "outcome": outcome, "reason": reason}
        self._launch |= {"activity": activity}
        self._publish()

    def _publish(self) -> None:
        self._published = True
        self._callbacks.on_launch(dict(self._launch))
