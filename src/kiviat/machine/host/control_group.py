"""CPU limit of the control group: a container may have less processor time than the host."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from kiviat.machine.host.files import text


def cpu_limit(root: Path) -> float | None:
    """Return the CPU limit in CPUs, the minimum over our group and its parents; None without a limit."""
    groups = root / "sys/fs/cgroup"
    limits = []
    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            if not controllers:
                limits.append(_version_2(groups / group))
            elif "cpu" in controllers.split(","):
                limits.append(_version_1(groups / controllers / group))
    return min((limit for limit in limits if limit is not None), default=None)


def _version_2(group: Path) -> float | None:
    return _ratio(*(text(group / "cpu.max") or "").split())


def _version_1(group: Path) -> float | None:
    return _ratio(text(group / "cpu.cfs_quota_us") or "", text(group / "cpu.cfs_period_us") or "")


def _ratio(quota: str = "", period: str = "") -> float | None:
    """Return quota / period; None if there is no limit ("max" in version 2, -1 in version 1)."""
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None
