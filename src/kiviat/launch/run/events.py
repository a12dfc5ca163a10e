"""Reads events.jsonl while it grows, and turns events into records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kiviat import __version__
from kiviat.plan.case import Case
from kiviat.record import RECORD_SCHEMA, Metric, Record

Event = Mapping[str, Any]


@dataclass
class Tail:
    """Whole lines as they arrive; `torn` keeps those that are no JSON object, or that never ended."""

    path: Path
    torn: list[str] = field(default_factory=list)
    _position: int = 0
    _rest: bytes = b""

    def read(self) -> Iterator[Event]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except FileNotFoundError:
            return
        self._position += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        for line in lines:
            event = _parsed(line)
            if event is None:
                self.torn.append(_excerpt(line))
            else:
                yield event

    def finish(self) -> Iterator[Event]:
        """The last events, once nobody writes any more. A line without an end was cut short."""
        yield from self.read()
        if self._rest:
            self.torn.append(_excerpt(self._rest))
            self._rest = b""

    @property
    def trouble(self) -> str | None:
        return f"torn event: {self.torn[-1]}" if self.torn else None


def _parsed(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _excerpt(line: bytes) -> str:
    return line[:80].decode(errors="replace")


@dataclass(frozen=True)
class Identity:
    """What all records of a launch have in common."""

    run: str
    plan: str
    launch: int
    substrate: str
    oversubscribed: bool

    def record(self, event: Event, started: str | None) -> Record:
        """The record of a result event. KeyError or TypeError where it lacks something."""
        return Record.from_json(
            {
                **{name: event[name] for name in _FROM_EVENT},
                "oversubscribed": self.oversubscribed or event["oversubscribed"],
                "metrics": [{"from": None, "samples": None, **metric} for metric in event["metrics"]],
                "tables": event["tables"],
                **self._common(started),
            }
        )

    def failed(self, case: Case, phase: str, reason: str, started: str | None = None) -> Record:
        """The record of a case that has no result."""
        return self._without_result(case, "failed", phase, reason, started)

    def skipped(self, case: Case, reason: str) -> Record:
        """The record of a case that was not tried."""
        return self._without_result(case, "skipped", "setup", reason, None)

    def _without_result(
        self, case: Case, outcome: str, phase: str, reason: str, started: str | None
    ) -> Record:
        metrics: tuple[Metric, ...] = ()
        return Record(
            case=case.id,
            benchmark=case.benchmark,
            ranks=case.ranks,
            bytes=case.bytes,
            axes=dict(case.axes),
            mode=None,
            sync=None,
            outcome=outcome,
            phase=phase,
            reason=reason,
            check="not run",
            check_reason="the case has no result",
            stopped_by=None,
            batch=None,
            missed_windows=None,
            clock_cost_s=None,
            elapsed_s=None,
            oversubscribed=self.oversubscribed,
            metrics=metrics,
            **self._common(started),
        )

    def _common(self, started: str | None) -> dict[str, Any]:
        return {
            "schema": RECORD_SCHEMA,
            "run": self.run,
            "launch": self.launch,
            "plan": self.plan,
            "version": __version__,
            "substrate": self.substrate,
            "clock": "simulated" if self.substrate == "simulated" else "wall",
            "started": started,
        }


_FROM_EVENT = (
    *("case", "benchmark", "ranks", "bytes", "axes", "mode", "sync", "outcome", "phase", "reason"),
    *("check", "check_reason", "stopped_by", "batch", "missed_windows", "clock_cost_s", "elapsed_s"),
    "notes",
)
