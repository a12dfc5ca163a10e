"""Delays of frames: by netem if the kernel has it, else by a program that forwards frames.

Forwarding itself takes some tens of microseconds, depending on the machine. The program is calibrated by
round trips over plain TCP; delays shorter than that are refused.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from kiviat.launch.emulated import commands
from kiviat.launch.emulated.compiling import compiled
from kiviat.launch.emulated.spec import Spec
from kiviat.launch.process import children
from kiviat.record import InputError

# Files in the cluster's folder: the program's process number, and the delay in seconds.
_NUMBER, _DELAY = "wire.pid", "wire.delay"
_TUN = Path("/dev/net/tun")
# For longer delays the time of forwarding is negligible.
_LONG_S = 10e-3
_CORRECTIONS = 2


def wire_for(spec: Spec) -> Path | None:
    """Return the forwarding program; None if it is not needed. Raise InputError if it cannot work here."""
    if spec.delay_s is None or has_netem():
        return None
    if not _TUN.exists():
        raise InputError(
            f"emulated cluster {spec.label!r}: a delay needs netem or {_TUN}, and this kernel "
            f"({os.uname().release}) has neither; load sch_netem or tun, or leave delay out"
        )
    return compiled("wire", ["emulated/wire.cpp", "platform/native/clock.cpp"])


def has_netem() -> bool:
    """Return whether the kernel has netem, by trying it in a temporary network namespace."""
    words = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us"]
    tried = children.run(words, environment={**os.environ, "PATH": commands.path()})
    return tried.returncode == 0


def wire_number(folder: Path) -> int | None:
    """Return the process number of a cluster's forwarding program; None if the kernel delays the frames."""
    try:
        return int((folder / _NUMBER).read_text())
    except (OSError, ValueError):
        return None


def calibrate(folder: Path, spec: Spec, one_way_s: Callable[[], float]) -> None:
    """Shorten the delay of the forwarding program by the time that forwarding itself takes.

    This time is measured with the full delay, because with a shorter delay a frame may wake the program once
    instead of twice. `one_way_s` measures the one-way time of the link in seconds. Raise InputError if
    forwarding alone takes longer than the delay.
    """
    number = wire_number(folder)
    if spec.delay_s is None or number is None:
        return
    waited_s = spec.delay_s
    _wait(folder, number, waited_s)
    if spec.delay_s > _LONG_S:
        return
    for _ in range(_CORRECTIONS):
        waited_s -= one_way_s() - spec.delay_s
        if waited_s <= 0:
            raise InputError(
                f"emulated cluster {spec.label!r}: without netem, which this kernel lacks, a frame takes "
                f"{(spec.delay_s - waited_s) * 1e6:.0f} us to be forwarded; give a longer delay, or leave "
                "delay out"
            )
        _wait(folder, number, waited_s)


def _wait(folder: Path, number: int, seconds: float) -> None:
    (folder / _DELAY).write_text(f"{seconds:.9f}\n")
    os.kill(number, signal.SIGUSR1)
    # The program reads the file when the signal has woken it.
    time.sleep(0.01)
