"""A program run under a placement: how long it took, and what went over the nodes' interfaces meanwhile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.process.execution import Execution, exit_text
from kiviat.launch.process.processes import Marker
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.substrates.emulated import Emulated
from kiviat.launch.substrates.substrate import Start, Substrate

_LOOK_S = 0.02
# Frames that are still on their way when the launcher ends.
_SETTLE_S = 0.05


@dataclass(frozen=True)
class Trial:
    """`sent_bytes` left the nodes, headers included, None where nobody counts; `reason` is why it failed."""

    seconds: float
    sent_bytes: int | None
    reason: str | None
    signal: int | None


def tried(
    substrate: Substrate, start: Start, program: Sequence[str], folder: Path, timeout_s: float | None
) -> Trial:
    """Runs it to its end; what it prints is in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    start.write(folder)
    before = _sent(substrate)
    began = time.monotonic()
    with Interrupts() as interrupts:
        execution = Execution(start.command(program), start.environment, folder, Marker.new())
        try:
            status = None
            late = False
            while status is None and interrupts.signal is None and not late:
                status = execution.wait(_LOOK_S)
                late = timeout_s is not None and time.monotonic() - began > timeout_s
        finally:
            seconds = time.monotonic() - began
            execution.end()
        signal = interrupts.signal
    time.sleep(_SETTLE_S)
    after = _sent(substrate)
    reason = None
    if signal is not None:
        reason = f"interrupted by signal {signal}"
    elif status is None:
        reason = f"took longer than {timeout_s:g} s"
    elif status != 0:
        reason = "; ".join(filter(None, (exit_text(status), execution.last_words())))
    sent = None if before is None or after is None else after - before
    return Trial(seconds, sent, reason, signal)


def _sent(substrate: Substrate) -> int | None:
    return sum(substrate.bytes_sent().values()) if isinstance(substrate, Emulated) else None
