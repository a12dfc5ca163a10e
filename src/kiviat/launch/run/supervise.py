"""The only loop that waits for a launcher, and ends it on signals and timeouts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kiviat.launch.mpi.leftovers import LeftoverJournal
from kiviat.launch.process.execution import Execution, exit_text, last_words_in
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.run.launch_record import now
from kiviat.launch.substrates.launch_spec import LaunchSpec

_LOOK_S = 0.2


@dataclass(frozen=True)
class LaunchResult:
    """The end of a launch.

    `exit_status` is the launcher's; `exited`: it ended by itself. `reason` is the cause of a failure, None if
    there was none; `signal` interrupted the launch; `limit_s` is the limit that it exceeded.
    """

    exit_status: int
    exited: bool
    reason: str | None
    signal: int | None
    limit_s: float | None
    started: str
    elapsed_s: float


def supervise(
    spec: LaunchSpec,
    interrupts: Interrupts,
    *,
    limit_s: Callable[[], float | None] | None = None,
    look: Callable[[Marker], bool] = lambda marker: False,
    look_s: float = _LOOK_S,
) -> LaunchResult:
    """Run the command until it exits, a signal arrives, or `limit_s()` seconds pass without progress.

    By default the limit is the launch's timeout. `look` is called every `look_s` seconds and once more after
    the exit; it returns whether there was progress. The command's output is in the launch's folder. However
    this returns or raises, no process of the launch is left, nor any file of its MPI outside the folder.
    """
    marker = Marker.new()
    journal = LeftoverJournal.open(marker, spec.mpi.vendor)
    try:
        started, began = now(), time.monotonic()
        execution = Execution(spec.command, spec.environment, spec.folder, marker)
        exited, exceeded, alive = False, None, began
        try:
            while not exited and exceeded is None and interrupts.signal is None:
                exited = execution.wait(look_s) is not None
                if look(marker):
                    alive = time.monotonic()
                limit = limit_s() if limit_s else spec.timeout_s
                if not exited and limit is not None and time.monotonic() > alive + limit:
                    exceeded = limit
            elapsed_s = time.monotonic() - began
        finally:
            status = execution.end()
        reason = None
        if interrupts.signal is not None:
            reason = f"interrupted by signal {interrupts.signal}"
        elif exceeded is not None:
            reason = f"took longer than {exceeded:g} s"
        elif status:
            reason = "; ".join(filter(None, (exit_text(status), last_words_in(spec.folder))))
        return LaunchResult(status, exited, reason, interrupts.signal, exceeded, started, elapsed_s)
    finally:
        journal.close()
