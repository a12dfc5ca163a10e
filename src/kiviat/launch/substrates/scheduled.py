"""The nodes of a scheduler's job, as seen inside it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.command_line import variables_of
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, answer
from kiviat.launch.schedulers.scheduler import Scheduler
from kiviat.launch.substrates.cores import available_cores
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Substrate, arguments_of, environment_of, layout_of
from kiviat.machine.topology import Node, Topology
from kiviat.placement import emit
from kiviat.record import InputError


class Scheduled(Substrate):
    """A job's nodes. Ranks are started by the scheduler's own launcher if it has one, else by mpiexec."""

    kind = "native"
    scheduler: Scheduler

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.label = scheduler.name

    @property
    def machine_name(self) -> str | None:
        """None, so that the run uses the host's own name."""
        return None

    def default_ranks(self, options: LauncherOptions) -> int:
        """Return one rank per slot of the job, or `per_node` on each node if that is fewer; at least 2.

        If the scheduler does not list the job's nodes, it is `per_node` or the number of cores available
        here.
        """
        nodes = self.topology().nodes if self.scheduler.hosts else ()
        if not nodes:
            return max(2, options.per_node or available_cores())
        return max(2, sum(min(node.slots, options.per_node or node.slots) for node in nodes))

    def start(self, toolchain: Toolchain, world: int, folder: Path, options: LauncherOptions) -> LaunchSpec:
        """Return a launch by the scheduler's own launcher; by mpiexec if it has none, or by `--launcher`."""
        layout = layout_of(self.topology(), world, options) if options.places else None
        environment = mpiexec.environment(toolchain, options, os.environ)
        if options.launcher or not self._launches(toolchain):
            emitted = emit(layout, *toolchain.placement) if layout else None
            words = mpiexec.launcher(toolchain, world, options, arguments_of(emitted, folder))
        else:
            emitted = emit(layout, self.scheduler.name, "0") if layout else None
            launcher = [
                word.format(ranks=world, pmi=toolchain.vendor.pmi) for word in self.scheduler.launcher
            ]
            words = [*launcher, *arguments_of(emitted, folder)]
            environment |= variables_of(options.arguments, launcher[0])
        return LaunchSpec(
            tuple(words),
            environment | environment_of(emitted, folder),
            emitted.files if emitted else {},
            layout,
            toolchain,
            world,
            folder,
            self.kind,
            self.clock,
            options.oversubscribed,
        )

    def _launches(self, toolchain: Toolchain) -> bool:
        """True if the scheduler's launcher can start ranks of this MPI; otherwise mpiexec does."""
        speaks = self.scheduler.pmis
        return bool(self.scheduler.launcher) and (
            not speaks or toolchain.vendor.pmi in answer(list(speaks)).split()
        )

    def topology(self) -> Topology:
        """Return Slurm's nodes. Their cores are unknown, so ranks cannot be bound to them."""
        hosts = answer(list(self.scheduler.hosts)).split() if self.scheduler.hosts else []
        cores = cores_per_node(os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""))
        if not hosts or len(cores) != len(hosts):
            raise InputError(
                f"--place and --ppn need the nodes of the job, and {self.scheduler.title} does not list "
                "them here; leave them out, or place ranks by --launcher"
            )
        return Topology(tuple(Node(host, granted=count) for host, count in zip(hosts, cores, strict=True)))


def cores_per_node(text: str) -> list[int]:
    """Return the cores of each node from Slurm's notation: "2(x3),4" means 2, 2, 2, 4."""
    cores = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text):
        cores += [int(count)] * int(times or 1)
    return cores
