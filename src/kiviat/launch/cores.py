"""How many ranks this node runs without oversubscription."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_SYSTEM = Path("/sys/devices/system/cpu")
_CGROUPS = Path("/sys/fs/cgroup")
_ALLOCATIONS = ("SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "FLUX_URI")


def available_cores() -> int:
    """The cores that this process may use, hardware threads of one core counted once, and at least 1."""
    cpus = os.sched_getaffinity(0)
    cores = {_core(cpu) for cpu in cpus}
    quota = _quota()
    return max(1, len(cores) if quota is None else min(len(cores), int(quota)))


def oversubscribes(ranks: int) -> bool:
    """Whether `ranks` are too many for this node.

    In a scheduler's allocation other nodes may take ranks as well, so nothing is claimed before the
    launch; kiviat-bench counts the ranks and cores of each node and has the last word.
    """
    return ranks > available_cores() and not in_allocation()


def in_allocation() -> bool:
    """Whether a scheduler decides where ranks go."""
    return any(name in os.environ for name in _ALLOCATIONS)


def _core(cpu: int) -> str:
    try:
        return (_SYSTEM / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _quota() -> float | None:
    """CPUs that the control group grants, from the tightest group above us; None without a limit."""
    quotas = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            root = _CGROUPS if not controllers else _CGROUPS / controllers
            group = root / path.lstrip("/")
            for folder in (group, *group.parents):
                quotas += _quota_of(folder)
                if folder == root:
                    break
    return min(quotas, default=None)


def _quota_of(folder: Path) -> list[float]:
    with suppress(OSError, ValueError):
        limit, period = (folder / "cpu.max").read_text().split()
        return [] if limit == "max" else [int(limit) / int(period)]
    with suppress(OSError, ValueError):
        limit, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return [] if int(limit) < 0 else [int(limit) / int(period)]
    return []
