"""One launch: its folder, its process, its events turned into records, and the watchdog."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kiviat.launch.events import Event, Identity, Tail
from kiviat.launch.execution import Execution, exit_text
from kiviat.launch.interrupts import Interrupts
from kiviat.launch.leftovers import Journal
from kiviat.launch.processes import Marker
from kiviat.launch.toolchain import Toolchain
from kiviat.launch.vendors import vendors
from kiviat.plan.case import Case
from kiviat.record import InputError, Record

# Kiviat reads the events seldom, because reading takes a core away from the ranks.
_POLL_S = 0.2
_LEAST_TIMEOUT_S = 60.0
_TIMEOUT_BUDGETS = 20
_DEFAULT_BUDGET_S = 1.0
_EXIT_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Setting:
    """What is known of a launch before it starts."""

    index: int
    repetition: int
    world: int
    folder: Path
    command: tuple[str, ...]
    environment: Mapping[str, str]
    user_environment: Mapping[str, str]
    toolchain: Toolchain
    transport: Mapping[str, Any]
    oversubscribed: bool
    run: str
    plan: str
    timeout_s: float | None


@dataclass(frozen=True)
class Sinks:
    on_launch: Callable[[dict[str, Any]], None]
    on_record: Callable[[Record], None]
    on_start: Callable[[Case], None]


@dataclass(frozen=True)
class Ended:
    """`left` has no result. `reason` says why it died, `victim` is the case it died in, if any."""

    left: list[Case]
    reason: str | None = None
    victim: Case | None = None
    interrupted: bool = False


class Attempt:
    def __init__(self, setting: Setting, cases: Sequence[Case], sinks: Sinks) -> None:
        self._setting = setting
        self._left = {case.id: case for case in cases}
        self._sinks = sinks
        self._identity = Identity(setting.run, setting.plan, setting.index, setting.oversubscribed)
        self._current: Case | None = None
        self._current_started: str | None = None
        self._described = False
        self._ended = False
        self._launch = _description(setting)

    def run(self, interrupts: Interrupts) -> Ended:
        """Runs until the launch has ended in one way or another, and leaves no process and no file."""
        folder = self._setting.folder
        folder.mkdir(parents=True)
        lines = [case.line() for case in self._left.values()]
        (folder / "cases.txt").write_text("\n".join(lines) + "\n")
        marker = Marker.new()
        journal = Journal.open(marker, self._setting.toolchain.vendor)
        try:
            execution = Execution(self._setting.command, self._setting.environment, folder, marker)
            tail = Tail(folder / "events.jsonl")
            try:
                hung = self._watch(execution, tail, interrupts)
            finally:
                status = execution.end()
            for event in tail.finish():
                self._take(event)
        except BaseException as error:
            self._close("failed", None, str(error) or type(error).__name__)
            raise
        finally:
            journal.close()
        return self._conclude(execution, tail, status, hung, interrupts)

    def _watch(self, execution: Execution, tail: Tail, interrupts: Interrupts) -> str | None:
        """Why the launch has to be ended, or None if it exited by itself or was interrupted."""
        deadline = time.monotonic() + self._timeout_s()
        while execution.wait(_POLL_S) is None and interrupts.signal is None:
            for event in tail.read():
                self._take(event)
                deadline = time.monotonic() + self._timeout_s()
            if time.monotonic() > deadline:
                return f"no sign of life for {self._timeout_s():g} s"
        return None

    def _timeout_s(self) -> float:
        if self._ended:
            return _EXIT_TIMEOUT_S
        if self._setting.timeout_s is not None:
            return self._setting.timeout_s
        controls = self._current.controls if self._current else {}
        return max(_LEAST_TIMEOUT_S, _TIMEOUT_BUDGETS * float(controls.get("budget_s", _DEFAULT_BUDGET_S)))

    def _take(self, event: Event) -> None:
        kind = event["event"]
        if kind == "launch":
            self._refuse_wrong_mpi(event)
            self._describe(event)
        elif kind == "start":
            self._current = self._left.get(str(event.get("case")))
            self._current_started = now()
            if self._current:
                self._sinks.on_start(self._current)
        elif kind == "result":
            self._result(event)
        elif kind == "end":
            self._ended = True

    def _refuse_wrong_mpi(self, event: Event) -> None:
        """The launcher of another MPI starts N worlds of one rank, without any error."""
        setting, toolchain = self._setting, self._setting.toolchain
        library = str(event.get("library", ""))
        first_line = library.partition("\n")[0].strip()
        if event.get("world") != setting.world:
            raise InputError(
                f"{setting.command[0]} started {setting.world} ranks, but kiviat-bench sees "
                f"{event.get('world')} ({first_line}): launcher and {toolchain.mpicxx} are not of one MPI; "
                "choose with --mpi"
            )
        for vendor in vendors().values():
            if vendor.family != toolchain.family and vendor.library_marker in library:
                raise InputError(
                    f"kiviat-bench was built with {toolchain.mpicxx} ({toolchain.name}), but loads "
                    f"{first_line}; see LD_LIBRARY_PATH and LD_PRELOAD"
                )

    def _describe(self, event: Event) -> None:
        for name in ("mpi", "mpi_version", "library", "compiler", "flags", "world", "ranks", "clock_cost_s"):
            self._launch[name] = event.get(name)
        self._launch["oversubscribed"] = self._setting.oversubscribed or event.get("oversubscribed")
        self._publish()

    def _publish(self) -> None:
        self._described = True
        self._sinks.on_launch(dict(self._launch))

    def _result(self, event: Event) -> None:
        case = self._left.pop(str(event.get("case")), None)
        if case is None:
            return
        try:
            record = self._identity.record(event, self._current_started)
        except (KeyError, TypeError, InputError) as error:
            reason = f"the result cannot be read: {type(error).__name__}: {error}"
            record = self._identity.failed(case, "launch", reason, self._current_started)
        self._current = None
        self._record(record)

    def _record(self, record: Record) -> None:
        if not self._described:
            self._publish()
        self._sinks.on_record(record)

    def _conclude(
        self, execution: Execution, tail: Tail, status: int, hung: str | None, interrupts: Interrupts
    ) -> Ended:
        if interrupts.signal is not None and not self._ended:
            self._close("interrupted", status, f"interrupted by signal {interrupts.signal}")
            return Ended(list(self._left.values()), interrupted=True)
        words = [hung or (exit_text(status) if status else None), execution.last_words() if status else None]
        if tail.torn:
            words.append(f"torn event: {tail.torn[-1]}")
        if self._ended:
            words.append(None if not status else "all results are there")
        elif not hung and not status:
            words.append("kiviat-bench stopped without saying so")
        reason = "; ".join(word for word in words if word) or None
        victim = None if self._ended else self._current
        if victim:
            del self._left[victim.id]
            phase = "watchdog" if hung else "launch"
            self._record(self._identity.failed(victim, phase, reason or "", self._current_started))
        if self._ended:
            for case in self._left.values():
                self._record(self._identity.failed(case, "launch", "kiviat-bench ended without its result"))
            self._left.clear()
        well = self._ended and status == 0 and not tail.torn
        self._close("ok" if well else "failed", status, None if well else reason)
        if well:
            shutil.rmtree(self._setting.folder, ignore_errors=True)
        return Ended(list(self._left.values()), None if self._ended else reason, victim)

    def give_up(self, cases: Sequence[Case], reason: str) -> None:
        """Failed records for cases that no further launch will try."""
        for case in cases:
            self._record(self._identity.failed(case, "launch", reason))

    def _close(self, outcome: str, status: int | None, reason: str | None) -> None:
        self._launch |= {"ended": now(), "exit": status, "outcome": outcome, "reason": reason}
        self._publish()


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _description(setting: Setting) -> dict[str, Any]:
    """A launch as `run.json` holds it. What kiviat-bench has not said yet is null."""
    return {
        "index": setting.index,
        "repetition": setting.repetition,
        "command": list(setting.command),
        "environment": {**setting.user_environment, **setting.environment},
        "started": now(),
        "ended": None,
        "exit": None,
        "outcome": "running",
        "reason": None,
        "mpi": None,
        "mpi_version": None,
        "library": None,
        "embedded": setting.toolchain.embedded,
        "toolchain": setting.toolchain.to_json(),
        "compiler": None,
        "flags": None,
        "transport": dict(setting.transport),
        "world": None,
        "ranks": [],
        "clock_cost_s": None,
        "oversubscribed": setting.oversubscribed,
    }
