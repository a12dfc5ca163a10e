"""Delays for frames: by netem where the kernel has it, else by a program that forwards them.

The program takes time of its own, some tens of microseconds that depend on the machine. It is calibrated
by a round trip over plain TCP, and a delay below what it takes is refused.
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

# Files in the cluster's folder: the number of the program, and what it is to wait.
_NUMBER, _DELAY = "wire.pid", "wire.delay"
_TUN = Path("/dev/net/tun")
# Forwarding takes a negligible part of a long delay.
_LONG_S = 10e-3
_CORRECTIONS = 2
_ROUND_TRIPS = 30


def wire_for(spec: Spec) -> Path | None:
    """The program, where it is needed."""
    if spec.delay_s is None or has_netem():
        return None
    if not _TUN.exists():
        raise InputError(
            f"emulated cluster {spec.label!r}: a delay needs netem or {_TUN}, and this kernel "
            f"({os.uname().release}) has neither; load sch_netem or tun, or leave delay out"
        )
    return compiled("wire", ["emulated/wire.cpp", "platform/native/clock.cpp"])


def has_netem() -> bool:
    """Tried in a network namespace that ends with the command."""
    words = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1us"]
    tried = children.run(words, environment={**os.environ, "PATH": commands.path()})
    return tried.returncode == 0


def wire_number(folder: Path) -> int | None:
    """The process that carries the frames of a cluster; None where the kernel does."""
    try:
        return int((folder / _NUMBER).read_text())
    except (OSError, ValueError):
        return None


def calibrate(folder: Path, spec: Spec, one_way_s: Callable[[int], float]) -> None:
    """Shorten the delay of the forwarding program by the time that forwarding itself takes.

    That time is measured beside the full delay, because with a shorter one a frame may need one waking of the
    program instead of two. `one_way_s` returns the one-way time of the link in seconds, from that many round
    trips. Raise InputError if forwarding alone takes longer than the delay.
    """
    number = wire_number(folder)
    if spec.delay_s is None or number is None:
        return
    waited_s = spec.delay_s
    _wait(folder, number, waited_s)
    if spec.delay_s > _LONG_S:
        return
    for _ in range(_CORRECTIONS):
        waited_s -= one_way_s(_ROUND_TRIPS) - spec.delay_s
        if waited_s <= 0:
            raise InputError(
                f"emulated cluster {spec.label!r}: without netem, which this kernel lacks, a frame takes "
                f"{(spec.delay_s - waited_s) * 1e6:.0f} us already; take a longer delay, or leave delay out"
            )
        _wait(folder, number, waited_s)


def _wait(folder: Path, number: int, seconds: float) -> None:
    (folder / _DELAY).write_text(f"{seconds:.9f}\n")
    os.kill(number, signal.SIGUSR1)
    # It looks at the file when it has woken for the signal.
    time.sleep(0.01)
