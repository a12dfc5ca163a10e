"""Number of ranks that this node runs without oversubscription."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kiviat.machine.host.control_group import cpu_limit
from kiviat.record.plain import whole_number

_SYSTEM = Path("/sys/devices/system/cpu")
_ALLOCATIONS = ("SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "FLUX_URI")


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    Hardware threads of a core count once.
    """
    cpus = os.sched_getaffinity(0)
    cores = {_core(cpu) for cpu in cpus}
    quota = cpu_limit(Path("/"))
    return max(1, len(cores) if quota is None else min(len(cores), int(quota)))


def oversubscribes(world: int) -> bool:
    """True if `world` ranks outnumber the cores of this node.

    False in a scheduler's allocation, where ranks may also run on other nodes; kiviat-bench then counts the
    ranks and cores of each node.
    """
    return world > available_cores() and not in_allocation()


def in_allocation() -> bool:
    """True if this process runs in an allocation, where a scheduler places the ranks."""
    return any(name in os.environ for name in _ALLOCATIONS)


def is_one_node(job: Mapping[str, str]) -> bool:
    """True if the variables of an allocation tell that it has one node, which is this one."""
    counts = []
    if "SLURM_JOB_NUM_NODES" in job:
        counts.append(whole_number(job["SLURM_JOB_NUM_NODES"]))
    if "LSB_HOSTS" in job:
        counts.append(len(set(job["LSB_HOSTS"].split())))
    for name in ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE"):
        with suppress(OSError, KeyError):
            counts.append(len(set(Path(job[name]).read_text(errors="replace").split())))
    return bool(counts) and all(count == 1 for count in counts)


def ranks_to_probe(world: int) -> int:
    """Return the fewest ranks with near and far pairs: in an allocation, one more than the node's cores."""
    cores = available_cores()
    return min(world, cores + 1 if in_allocation() else max(cores, 2))


def _core(cpu: int) -> str:
    try:
        return (_SYSTEM / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
