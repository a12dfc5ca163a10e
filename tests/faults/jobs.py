"""The Slurm of a trial: two emulated nodes of one core each, inside the namespaces of the trial."""

from __future__ import annotations

import os
import re
import shutil

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.spec import parse_spec
from tests.slurm.site import Slurm

from . import world
from .command import wait_until

_DAEMONS = ("munged", "slurmctld", "slurmscriptd", "slurmd")
_SITE = world.HOME / "slurm"
_NODES = "2x1"
_SETTLED_S = 60.0
# Files of Slurm and of the emulated nodes; a job's files in the folder of its run.
FILES = re.compile(
    rf"{_SITE}/|{world.STATE}/kiviat/clusters/"
    rf"|{world.RUNS}/[^/]+/(job\.(json|sh)|job-\d+\.out|report\.html)$"
)


def installed() -> bool:
    return all(map(shutil.which, ("slurmctld", "slurmd", "munged")))


def start() -> Slurm:
    """Start a Slurm that lasts as long as the namespaces."""
    os.environ.update(world.environment({}))  # the cluster's files belong to the trial, too
    _SITE.mkdir()
    slurm = Slurm(Cluster.up(parse_spec(_NODES)), _SITE)
    slurm.__enter__()
    return slurm


def daemons(kind: str) -> tuple[str, ...]:
    """Return the processes that may be left after a fault. If its controller is killed, a job's may stay."""
    return (*_DAEMONS, "slurmstepd") if kind == "controller killed" else _DAEMONS


def settle(slurm: Slurm) -> list[str]:
    """Wait for the end of all jobs; return those that do not end, after cancelling them."""
    wait_until(lambda: not slurm.jobs(), _SETTLED_S)
    if left := slurm.jobs():
        slurm.run("scancel", *left)
    return left


def outputs() -> list[str]:
    """Return what jobs have printed, of all runs."""
    files = sorted(world.RUNS.glob("*/job-*.out"))
    return [file.read_text(errors="replace") for file in files]
