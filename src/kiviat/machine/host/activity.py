"""Use of this machine's processors, from /proc and /sys: load, time by kind, throttling and frequency.

Only processors that this process may use count, so that in a job or a container those of others do not;
load and heat are the whole machine's.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kiviat.machine.host.control_group import throttled_s
from kiviat.machine.host.files import integer, text
from kiviat.record.activity import Activity

_CPUS = "sys/devices/system/cpu"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Over a shorter time, ticks of 10 ms say too little.
LEAST_S = 0.4


@dataclass(frozen=True, slots=True)
class Usage:
    """Totals since the machine's start, in seconds of all processors that this process may use.

    `busy_s` is the time of all programs without interrupts, `own_s` that of this process and its ended
    children. Unavailable values are None.
    """

    at_s: float
    processors: int
    busy_s: float | None
    stolen_s: float | None
    own_s: float

    @classmethod
    def now(cls, root: Path = Path("/"), own_s: float = 0.0) -> Usage:
        """Read the totals; `own_s` is time of further processes that are ours."""
        allowed = os.sched_getaffinity(0)
        times = _times(root, allowed)
        return cls(
            time.monotonic(),
            len(allowed),
            None if times is None else times[0],
            None if times is None else times[1],
            own_s + sum(_used_s(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)),
        )


def others_between(before: Usage, after: Usage) -> Activity | None:
    """Return the use by others between two readings; None if it is unknown or the time too short.

    What only ranks know about themselves is unavailable.
    """
    elapsed_s = after.at_s - before.at_s
    if before.busy_s is None or after.busy_s is None or elapsed_s < LEAST_S:
        return None
    busy_s = after.busy_s - before.busy_s
    stolen_s = (after.stolen_s or 0.0) - (before.stolen_s or 0.0)
    wanted_s = busy_s + stolen_s
    others = max(0.0, busy_s - (after.own_s - before.own_s)) / elapsed_s
    steal = stolen_s / wanted_s if wanted_s > 0 else None
    return Activity(elapsed_s, after.processors, others, steal, wait=None, involuntary_switches=None)


def load(root: Path = Path("/")) -> float | None:
    """Return the average number of programs that ran or waited to in the last minute."""
    words = (text(root / "proc/loadavg") or "").split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Throttling:
    """Totals of throttling: by the CPU limits of our control groups, and for heat. None where unavailable."""

    limited_s: float | None
    heat: int | None

    @classmethod
    def now(cls, root: Path = Path("/")) -> Throttling:
        """Read the totals; heat is counted by core, and once by the package of each processor."""
        counts = [
            integer(text(folder / name))
            for folder in (root / _CPUS).glob("cpu[0-9]*/thermal_throttle")
            for name in ("core_throttle_count", "package_throttle_count")
        ]
        known = [count for count in counts if count is not None]
        return cls(throttled_s(root), sum(known) if known else None)


def frequencies_hz(root: Path = Path("/")) -> tuple[float, float] | None:
    """Return the lowest and the highest present frequency of the processors that this process may use."""
    found = []
    for cpu in os.sched_getaffinity(0):
        kilohertz = integer(text(root / _CPUS / f"cpu{cpu}/cpufreq/scaling_cur_freq"))
        if kilohertz:
            found.append(1e3 * kilohertz)
    return (min(found), max(found)) if found else None


def process_s(process: int, root: Path = Path("/")) -> float:
    """Return the processor time of a process and its ended children in seconds; 0 once it is gone."""
    fields = (text(root / f"proc/{process}/stat") or "").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_S if len(fields) > 14 else 0.0


def _used_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def _times(root: Path, allowed: Collection[int]) -> tuple[float, float] | None:
    """Return busy and stolen seconds of the allowed processors; None if one of them is not listed."""
    busy = stolen = seen = 0
    for line in (text(root / "proc/stat") or "").splitlines():
        name, *ticks = line.split()
        if name[:3] == "cpu" and name[3:].isdecimal() and int(name[3:]) in allowed and len(ticks) >= 7:
            seen += 1
            busy += sum(map(int, ticks[:3]))  # user, nice and system
            stolen += int(ticks[7]) if len(ticks) > 7 else 0
    return (busy / _TICKS_PER_S, stolen / _TICKS_PER_S) if seen == len(allowed) else None
