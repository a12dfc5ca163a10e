"""CPU and memory limits of the control group, and the time for which it stopped programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kiviat.machine.host.files import integer, text

_FILES = ("active", "inactive")
_UNLIMITED = 1 << 60  # without a limit version 1 has a number near 2^63


def cpu_limit(root: Path) -> float | None:
    """Return the CPU limit in CPUs, the minimum over our group and its parents; None without a limit."""
    limits = [(_version_2 if second else _version_1)(group) for second, group in _groups(root)]
    return min((limit for limit in limits if limit is not None), default=None)


def throttled_s(root: Path) -> float | None:
    """Return the seconds for which CPU limits stopped programs: the most of our group and its parents.

    The time of each processor counts. None if no group reports it.
    """
    times = []
    for second, group in _groups(root):
        counted = dict(line.split(None, 1) for line in (text(group / "cpu.stat") or "").splitlines())
        ticks = integer(counted.get("throttled_usec" if second else "throttled_time"))
        if ticks is not None:
            times.append(ticks * (1e-6 if second else 1e-9))
    return max(times, default=None)


def memory_left(root: Path) -> int | None:
    """Return the bytes that our group and its parents still grant, None without a limit.

    Caches of files do not count as used, because the kernel drops them first.
    """
    left = []
    for second, group in _groups(root, "memory"):
        limit = integer(text(group / ("memory.max" if second else "memory.limit_in_bytes")))
        used = integer(text(group / ("memory.current" if second else "memory.usage_in_bytes")))
        if limit is not None and limit < _UNLIMITED and used is not None:
            of = dict(line.split(None, 1) for line in (text(group / "memory.stat") or "").splitlines())
            files = sum(integer(of.get(f"{'' if second else 'total_'}{kind}_file")) or 0 for kind in _FILES)
            left.append(max(0, limit - max(0, used - files)))
    return min(left, default=None)


def _groups(root: Path, controller: str = "cpu") -> Iterator[tuple[bool, Path]]:
    """Yield our group of a controller and its parents: whether they are of version 2, and their folder."""
    groups = root / "sys/fs/cgroup"
    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            if not controllers:
                yield True, groups / group
            elif controller in controllers.split(","):
                yield False, groups / controller / group  # a link where several are mounted together


def _version_2(group: Path) -> float | None:
    return _ratio(*(text(group / "cpu.max") or "").split())


def _version_1(group: Path) -> float | None:
    return _ratio(text(group / "cpu.cfs_quota_us") or "", text(group / "cpu.cfs_period_us") or "")


def _ratio(quota: str = "", period: str = "") -> float | None:
    """Return quota / period; None if there is no limit ("max" in version 2, -1 in version 1)."""
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None
