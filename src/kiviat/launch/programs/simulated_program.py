"""One launch of a simulated program that reports nothing itself: how it ended, and why it failed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kiviat import __version__
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.run.launch_record import described, now
from kiviat.launch.run.supervise import LaunchResult, supervise
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.record import RECORD_SCHEMA, Metric, Record
from kiviat.record.case_id import case_id
from kiviat.record.types import Scalar


@dataclass(frozen=True)
class ProgramFacts:
    """The part of a record that describes the program."""

    benchmark: str
    ranks: int
    axes: Mapping[str, Scalar]
    unchecked: str
    metrics: Sequence[Metric]
    notes: Mapping[str, str] = field(default_factory=dict)


def run_single(
    spec: LaunchSpec, told: Path, on_launch: Callable[[Mapping[str, Any]], None], interrupts: Interrupts
) -> LaunchResult:
    """Run the launch, and show and keep the program's output as it arrives.

    `told` is the file that a complete simulation writes; without it the launch failed. `on_launch` receives
    the launch's entry in run.json when it starts and when it ends.
    """
    mpi = spec.mpi
    launch = {
        **described(spec),
        "world": spec.world,
        "mpi": mpi.vendor.title,
        "mpi_version": mpi.version,
    }
    on_launch(launch)
    shown = 0

    def look(_: Marker) -> bool:
        nonlocal shown
        shown = _show(spec.folder / "stdout", shown)
        return False

    result = supervise(spec, interrupts, look=look)
    _show(spec.folder / "stdout", shown)
    result = replace(result, reason=_why(spec.folder, told, result))
    outcome = "interrupted" if result.signal is not None else "failed" if result.reason else "ok"
    status = result.exit_status if result.exited else None
    on_launch({**launch, "ended": now(), "exit": status, "outcome": outcome, "reason": result.reason})
    return result


def record_of(run: str, found: ProgramFacts, ended: LaunchResult) -> Record:
    """Return the record of the launch's only case."""
    return Record(
        schema=RECORD_SCHEMA,
        run=run,
        launch=0,
        case=case_id(found.benchmark, found.ranks, None, found.axes),
        plan=None,
        version=__version__,
        substrate="simulated",
        clock="simulated",
        benchmark=found.benchmark,
        ranks=found.ranks,
        bytes=None,
        axes=found.axes,
        mode="once",
        sync=None,
        outcome="failed" if ended.reason else "ok",
        phase="timing" if ended.reason else None,
        reason=ended.reason,
        check="not run",
        check_reason=found.unchecked,
        stopped_by="fixed",
        batch=None,
        missed_windows=None,
        clock_cost_s=None,
        elapsed_s=ended.elapsed_s,
        oversubscribed=False,
        started=ended.started,
        metrics=tuple(found.metrics),
        notes=found.notes,
    )


def _show(path: Path, shown: int) -> int:
    with path.open("rb") as file:
        file.seek(shown)
        text = file.read()
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
    return shown + len(text)


def _why(folder: Path, told: Path, result: LaunchResult) -> str | None:
    """Return why the launch failed, None if it did not.

    Deadlocks are found in the output, because SimGrid ends them with exit code 0. A rank that leaves without
    MPI_Finalize, as by _exit(0), ends the simulation with 0, too.
    """
    if result.signal is not None or result.limit_s is not None:
        return result.reason
    said = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any("Deadlock detected" in line for line in lines):
        return "deadlock: all remaining ranks wait for each other"
    if result.exit_status:
        return f"exit code {result.exit_status}" + (f": {lines[-1]}" if lines else "")
    return None if told.exists() else "the simulation ended without a result"
