"""Facts about a launch, as they are stored in `run.json`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kiviat import __version__
from kiviat.launch.mpi import ready
from kiviat.launch.mpi.vendors import vendors
from kiviat.launch.run.events import Event
from kiviat.launch.run.program import Program
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.placement import differences, ranks_on_nodes
from kiviat.plan.case import Case
from kiviat.record import RECORD_SCHEMA, InputError, Metric, Record
from kiviat.record.units import counted
from kiviat.record.valid import first_wrong

_UNKNOWN_MPI = "unknown MPI"  # from native/platform/vendor.hpp, if it does not recognise the headers


@dataclass(frozen=True)
class Records:
    """Makes the records of a launch."""

    spec: LaunchSpec

    def record(self, case: Case, event: Event, started: str | None) -> Record:
        """Return the record of a case's result event.

        Raise KeyError, TypeError or ValueError if a field is missing or invalid: a record that breaks the
        schema would make the whole run unreadable.
        """
        data = {
            **_identity(case),
            # The program knows its defaults, the plan the size of the launch.
            "axes": {**event["axes"], **case.axes},
            **{name: event[name] for name in _FROM_EVENT},
            "numbers": event.get("numbers", {}),
            "activity": event.get("activity"),
            "disturbed": event.get("disturbed"),
            "oversubscribed": self.spec.oversubscribed or event["oversubscribed"],
            "metrics": [{"from": None, "samples": None, **metric} for metric in event["metrics"]],
            "tables": event["tables"],
            **self._common(started),
        }
        if wrong := first_wrong(data, "record"):
            raise ValueError(wrong)
        return Record.from_json(data)

    def failed(self, case: Case, phase: str, reason: str, started: str | None = None) -> Record:
        """Return the record of a case that has no result."""
        return self._without_result(case, "failed", phase, reason, started)

    def skipped(self, case: Case, reason: str) -> Record:
        """Return the record of a case that was not tried."""
        return self._without_result(case, "skipped", "setup", reason, None)

    def _without_result(
        self, case: Case, outcome: str, phase: str, reason: str, started: str | None
    ) -> Record:
        metrics: tuple[Metric, ...] = ()
        return Record(
            **_identity(case),
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
            oversubscribed=self.spec.oversubscribed,
            metrics=metrics,
            **self._common(started),
        )

    def _common(self, started: str | None) -> dict[str, Any]:
        return {
            "schema": RECORD_SCHEMA,
            "run": self.spec.run,
            "launch": self.spec.index,
            "plan": self.spec.plan,
            "version": __version__,
            "substrate": self.spec.substrate,
            "clock": self.spec.clock,
            "started": started,
        }


def _identity(case: Case) -> dict[str, Any]:
    return {"case": case.id, "benchmark": case.benchmark, "ranks": case.ranks, "bytes": case.bytes}


_FROM_EVENT = (
    *("mode", "sync", "outcome", "phase", "reason"),
    *("check", "check_reason", "stopped_by", "batch", "missed_windows", "clock_cost_s", "elapsed_s"),
    "notes",
)


def described(spec: LaunchSpec, program: Path | None = None) -> dict[str, Any]:
    """Return the launch's entry in `run.json`; facts that only kiviat-bench knows are null.

    `program`: its executable file, which may be ready-made for an MPI library.
    """
    library = ready.library_of(program) if program else None
    return {
        "index": spec.index,
        "repetition": spec.repetition,
        "command": list(spec.command),
        "environment": {**spec.user_environment, **spec.environment},
        "started": now(),
        "ended": None,
        "exit": None,
        "outcome": "running",
        "reason": None,
        "mpi": None,
        "mpi_version": None,
        "library": None,
        "embedded": spec.mpi.embedded,
        "toolchain": {**spec.mpi.to_json(), **({"ready_made": library} if library else {})},
        "compiler": None,
        "flags": None,
        "transport": dict(spec.transport),
        "world": None,
        "ranks": [],
        "placement": _asked(spec),
        "clock_cost_s": None,
        "oversubscribed": spec.oversubscribed,
        "activity": None,
    }


def said(spec: LaunchSpec, event: Event) -> dict[str, Any]:
    """Return the facts that the launch event adds to the launch's entry."""
    names = ("mpi", "mpi_version", "library", "compiler", "flags", "world", "ranks", "clock_cost_s")
    layout = spec.layout
    placement = _asked(spec)
    if layout is not None and placement is not None:
        placement["differences"] = differences(layout, event.get("ranks", []))
    told = {name: event.get(name) for name in names}
    vendor = spec.mpi.vendor
    # The program names the MPI of its headers, which is not the one that a ready-made program loads.
    loaded = told["mpi"] != vendor.title and vendor.library_marker in str(told["library"])
    if told["mpi"] == _UNKNOWN_MPI or loaded:
        told |= {"mpi": vendor.title, "mpi_version": spec.mpi.version}
    return {
        **told,
        "placement": placement,
        "oversubscribed": spec.oversubscribed or bool(event.get("oversubscribed")),
    }


def _asked(spec: LaunchSpec) -> dict[str, Any] | None:
    """Return the requested placement; None if the launcher decides."""
    if spec.layout is None:
        return None
    return {
        "policy": spec.layout.policy,
        "binding": spec.layout.binding,
        "nodes": [place.node for place in spec.layout.places],
        "differences": None,
    }


def refuse_wrong_mpi(spec: LaunchSpec, program: Program, event: Event) -> None:
    """Raise an error if the ranks use another MPI than the launcher.

    The launcher then starts N worlds of one rank without an error.
    """
    toolchain = spec.mpi
    library = str(event.get("library") or "an unknown MPI")
    first_line = library.partition("\n")[0].strip()
    if event.get("world") != spec.world:
        raise InputError(
            f"{spec.command[0]} started {spec.world} ranks, but {program.name} sees "
            f"{event.get('world')} ({first_line}): launcher and {program.path} belong to different MPIs; "
            "choose one with --mpi"
        )
    for vendor in vendors().values():
        if vendor.library_marker in library and toolchain.vendor.library_marker not in library:
            raise InputError(
                f"{program.name} was built with {toolchain.mpicxx} ({toolchain.name}), but loads "
                f"{first_line}; see LD_LIBRARY_PATH and LD_PRELOAD"
            )


def refuse_wrong_spread(spec: LaunchSpec, event: Event) -> None:
    """Raise an error if the job's nodes have other numbers of ranks than requested.

    The mpiexec of an MPI without support of the scheduler starts all ranks on one node without an error.
    """
    ranks = event.get("ranks", [])
    if spec.per_node is None or len(ranks) != spec.world:
        return
    seen = ranks_on_nodes(ranks)
    nodes = -(-spec.world // spec.per_node)
    if len(seen) != nodes or seen[0] > spec.per_node:
        raise InputError(
            f"{spec.command[0]} put {counted(spec.world, 'rank')} on {counted(len(seen), 'node')}, up to "
            f"{seen[0]} on each, and not on {nodes} with {spec.per_node} on each, as -n or --ppn says; "
            "choose an MPI that supports the scheduler with --mpi, or place ranks by --launcher"
        )


def now() -> str:
    """Return the current time in UTC, in ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
