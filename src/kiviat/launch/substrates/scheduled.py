"""The nodes of a scheduler's job, as seen inside it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
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
from kiviat.record.plain import whole_number


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
        per_node = options.per_node
        layout = layout_of(self.topology(), world, options) if self._places(options) else None
        if not layout:
            options = replace(options, per_node=None)  # the job has so many ranks on a node
        environment = mpiexec.environment(toolchain, options, os.environ)
        if options.launcher or not self._launches(toolchain):
            emitted = emit(layout, *toolchain.placement) if layout else None
            words = mpiexec.launcher(toolchain, world, options, arguments_of(emitted, folder))
        else:
            emitted = emit(layout, self.scheduler.name, "0") if layout else None
            launcher = [
                word.format(ranks=world, pmi=toolchain.vendor.pmi) for word in self.scheduler.launcher
            ]
            mpiexec.refuse_unbound(toolchain, options, " ".join(launcher[:2]), self.scheduler.binding)
            binding = self.scheduler.binding if "bind" in options.conditions else ()
            words = [*launcher, *binding, *arguments_of(emitted, folder)]
            job = os.environ
            room = sum(slots_of(job))
            # More ranks than tasks have room for would ask for more processors than the job has.
            passed = self.scheduler.passed.items() if world <= room or not room else ()
            environment |= {name: job[of] for name, of in passed if of in job and name not in job}
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
            per_node=None if layout or options.launcher else per_node,
        )

    def _places(self, options: LauncherOptions) -> bool:
        """Return whether Kiviat places the ranks.

        Where the scheduler does not list the job's nodes, the job itself has so many ranks on a node.
        """
        return options.places and (bool(self.scheduler.hosts) or replace(options, per_node=None).places)

    def _launches(self, toolchain: Toolchain) -> bool:
        """True if the scheduler's launcher can start ranks of this MPI; otherwise mpiexec does."""
        return bool(self.scheduler.launcher) and (
            not self.scheduler.pmis or toolchain.vendor.pmi in self._pmis
        )

    @cached_property
    def _pmis(self) -> list[str]:
        """The launcher's interfaces, asked for once, so that all launches of a run have the same launcher."""
        return self.scheduler.interfaces()

    def topology(self) -> Topology:
        """Return Slurm's nodes. Their cores are unknown, so ranks cannot be bound to them."""
        hosts = answer(list(self.scheduler.hosts)).split() if self.scheduler.hosts else []
        slots = slots_of(os.environ)
        if not hosts or len(slots) != len(hosts):
            raise InputError(
                f"ranks are placed on the nodes of the job, which {self.scheduler.title} does not list here; "
                "leave --place, --ppn and --bind out, or place ranks by --launcher"
            )
        return Topology(tuple(Node(host, granted=count) for host, count in zip(hosts, slots, strict=True)))


def slots_of(job: Mapping[str, str]) -> list[int]:
    """Return the number of ranks that each node of a Slurm job has room for.

    It is that of its tasks, if the job asked for tasks, else of its processors, divided by those of a task.
    """
    if "SLURM_NTASKS" in job and (tasks := per_node(job.get("SLURM_TASKS_PER_NODE", ""))):
        return tasks
    each = whole_number(job.get("SLURM_CPUS_PER_TASK", "")) or 1
    return [max(1, processors // each) for processors in per_node(job.get("SLURM_JOB_CPUS_PER_NODE", ""))]


def per_node(text: str) -> list[int]:
    """Return the number of each node from Slurm's notation: "2(x3),4" means 2, 2, 2, 4."""
    numbers = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text):
        numbers += [int(count)] * int(times or 1)
    return numbers
