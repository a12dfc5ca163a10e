"""The base class of substrates: this machine, an allocation, an emulated cluster, a scheduler's job.

Only substrates know how their launches begin. `start` is pure, so that a dry run prints what a run executes.
Entering a substrate creates what it needs, leaving it cleans up.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.schedulers.scheduler import Scheduler, schedulers
from kiviat.launch.substrates.cores import (
    available_cores,
    in_allocation,
    is_one_node,
    oversubscribes,
    ranks_to_probe,
)
from kiviat.launch.substrates.launch_spec import Clock, LaunchSpec
from kiviat.machine.modelled.machine import Machine
from kiviat.machine.topology import Topology, local_topology
from kiviat.placement import Emitted, Layout, emit, place
from kiviat.plan import USUAL_LINK, Link
from kiviat.record import InputError


class Substrate(AbstractContextManager["Substrate"], ABC):
    """Where ranks run: `kind` is its name in records, `label` its name in `--on`.

    Defaults hold for ranks on real, permanent nodes; subclasses state how they differ.
    """

    kind: str
    label: str
    # The modelled machine, whose time is simulated, so that all launches of a case are equal; None for real
    # ones.
    machine: Machine | None = None
    # The scheduler in whose job the ranks run.
    scheduler: Scheduler | None = None
    # The nodes share the same cores, so ranks cannot be bound.
    shares_cores: bool = False

    @property
    def clock(self) -> Clock:
        """Clock of the samples: "simulated" on a modelled machine, else "wall"."""
        return "wall" if self.machine is None else "simulated"

    @property
    def is_this_machine(self) -> bool:
        """True if all ranks run on this machine and see its memory and folders."""
        return False

    @property
    def machine_name(self) -> str | None:
        """Name of the machine in a run; None: the host's own name."""
        return self.label

    @property
    def link(self) -> Link:
        """A node's link, on which estimates of run times rest; the usual one if it is not known."""
        return USUAL_LINK

    @abstractmethod
    def default_ranks(self, options: LauncherOptions) -> int:
        """Return the default number of ranks."""

    def oversubscribes(self, world: int) -> bool:
        """True if `world` ranks outnumber the cores; False if that is not known before the launch."""
        return False

    def ranks_to_probe(self, world: int) -> int:
        """Return the fewest of `world` ranks with near and far pairs; 0 if no probe is needed."""
        return ranks_to_probe(world)

    @abstractmethod
    def start(self, toolchain: Toolchain, world: int, folder: Path, options: LauncherOptions) -> LaunchSpec:
        """Return the launch of `world` ranks, except for its program.

        Pure. Raise InputError if ranks cannot be placed as requested.
        """

    def topology(self) -> Topology | None:
        """Return the real nodes; None on a substrate without any."""
        return None

    def bytes_sent(self) -> Mapping[str, int] | None:
        """Return the bytes that each node has sent, frames with their headers.

        None if they are not counted.
        """
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Native(Substrate):
    """The local machine, or the nodes of an allocation if Kiviat runs in one."""

    kind = "native"
    label = "native"

    @property
    def is_this_machine(self) -> bool:
        """True outside an allocation; in one, ranks may be on other nodes."""
        return not in_allocation()

    @property
    def machine_name(self) -> str | None:
        """None, so that the run uses the host's own name."""
        return None

    def default_ranks(self, options: LauncherOptions) -> int:
        """Return one rank per available core, or `per_node` if that is fewer; at least 2."""
        return max(2, min(available_cores(), options.per_node or available_cores()))

    def oversubscribes(self, world: int) -> bool:
        """True if `world` ranks outnumber the available cores; always False in an allocation."""
        return oversubscribes(world)

    def topology(self) -> Topology:
        """Return this machine's sockets and cores as one node."""
        return local_topology()

    def start(self, toolchain: Toolchain, world: int, folder: Path, options: LauncherOptions) -> LaunchSpec:
        """Return a launch by the MPI's own mpiexec, or by the launcher that `--launcher` names.

        Raise InputError if ranks are to be placed in an allocation that may have further nodes.
        """
        if options.places and in_allocation() and not is_one_node(os.environ):
            raise InputError(
                "--place, --ppn, --bind and -n NODESxRANKS would put all ranks on this node of the "
                f"allocation; give --on {_scheduler_here()}, which takes all of them under Slurm and "
                "-n NODESxRANKS elsewhere, or leave them out and place ranks by --launcher"
            )
        layout = layout_of(self.topology(), world, options) if options.places else None
        emitted = emit(layout, *toolchain.placement) if layout else None
        words = mpiexec.launcher(toolchain, world, options, arguments_of(emitted, folder))
        environment = mpiexec.environment(toolchain, options, os.environ)
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


def _scheduler_here() -> str:
    """Return the name of the scheduler in whose job this process runs."""
    inside = (name for name, scheduler in schedulers().items() if scheduler.is_inside(os.environ))
    return next(inside, "slurm, or the scheduler at hand")


def layout_of(topology: Topology, world: int, options: LauncherOptions) -> Layout:
    """Return the placement that the options request, by default blocked."""
    return place(
        topology,
        world,
        options.place or "blocked",
        per_node=options.per_node,
        binding=options.bind,
        oversubscribe=options.oversubscribed,
    )


def arguments_of(emitted: Emitted | None, folder: Path) -> tuple[str, ...]:
    """Return the launcher's arguments for a placement, with `folder` in place of "{folder}"."""
    if emitted is None:
        return ()
    return tuple(word.replace("{folder}", str(folder)) for word in emitted.arguments)


def environment_of(emitted: Emitted | None, folder: Path) -> dict[str, str]:
    """Return the variables of a placement, with `folder` in place of "{folder}"."""
    if emitted is None:
        return {}
    return {name: value.replace("{folder}", str(folder)) for name, value in emitted.environment.items()}
