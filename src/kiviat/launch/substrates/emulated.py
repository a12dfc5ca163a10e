"""Runs on an emulated cluster: created for the run, or kept by `kiviat cluster up`."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.launching import launching
from kiviat.launch.emulated.shaping import rest_between_calls_s
from kiviat.launch.emulated.spec import parse_spec
from kiviat.launch.emulated.yield_library import library
from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.cores import available_cores
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Substrate, arguments_of, environment_of, layout_of
from kiviat.machine.topology import Topology
from kiviat.placement import emit
from kiviat.plan import USUAL_LINK, Link
from kiviat.record import InputError

_STACK_S = 50e-6  # a small message through TCP and two emulated nodes


class Emulated(Substrate):
    """An emulated cluster. Before it is entered, `start` describes a cluster that does not exist yet."""

    kind = "emulated"
    shares_cores = True

    def __init__(self, cluster: Cluster, kept: bool) -> None:
        self._cluster = cluster
        self._kept = kept
        self.label = f"emulated:{cluster.spec.label}"

    @classmethod
    def parse(cls, text: str) -> Emulated:
        """Return the substrate for a specification ("4x2,rate=1Gbit") or the name of a kept cluster."""
        if re.fullmatch(r"[a-z][a-z0-9-]*", text):
            return cls(Cluster.find(text), kept=True)
        return cls(Cluster.planned(parse_spec(text)), kept=False)

    @property
    def is_this_machine(self) -> bool:
        """True, because all nodes are namespaces of this machine."""
        return True

    @property
    def link(self) -> Link:
        """A node's emulated link, which messages between nodes share."""
        spec = self._cluster.spec
        bytes_per_s = spec.rate_bit_per_s / 8 if spec.rate_bit_per_s else USUAL_LINK.bytes_per_s
        latency_s = USUAL_LINK.latency_s + _STACK_S + 2 * (spec.delay_s or 0)
        return Link(latency_s, bytes_per_s, spec.slots, rest_between_calls_s(spec))

    def __enter__(self) -> Self:
        if not self._kept:
            self._cluster = Cluster.up(self._cluster.spec).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._kept:
            self._cluster.__exit__(kind, error, trace)

    def topology(self) -> Topology:
        """Return the emulated nodes, each with all cores of this machine."""
        return self._cluster.topology()

    def bytes_sent(self) -> dict[str, int]:
        """Return the bytes that each emulated node has sent: frames with their headers."""
        return self._cluster.bytes_sent()

    def default_ranks(self, options: LauncherOptions) -> int:
        """Return one rank per slot, or `per_node` on each node if that is fewer; at least 2."""
        spec = self._cluster.spec
        return max(2, spec.nodes * min(spec.slots, options.per_node or spec.slots))

    def oversubscribes(self, world: int) -> bool:
        """True if `world` ranks outnumber the cores of this machine, which the nodes share."""
        return world > available_cores()

    def ranks_to_probe(self, world: int) -> int:
        """Return one rank more than a node has slots, so that some pair spans two nodes; at most `world`."""
        return min(world, self._cluster.spec.slots + 1)

    def start(self, toolchain: Toolchain, world: int, folder: Path, options: LauncherOptions) -> LaunchSpec:
        """Return a launch whose ranks start in namespaces. Raise InputError for --bind and --launcher."""
        if options.bind or options.launcher:
            asked = f"--bind {options.bind}" if options.bind else f"--launcher {options.launcher!r}"
            raise InputError(
                f"{asked} is not supported on an emulated cluster: its nodes share the cores of this "
                "machine, and mpiexec has to start ranks in namespaces; leave it out"
            )
        # Ranks are limited by slots of nodes, not by cores, which all nodes share.
        layout = layout_of(self._cluster.topology(), world, replace(options, oversubscribed=False))
        emitted = emit(layout, *toolchain.placement)
        how = launching(
            self._cluster,
            toolchain.family,
            toolchain.version,
            oversubscribed=options.oversubscribed,
            preload=library(toolchain),
        )
        words = mpiexec.launcher(toolchain, world, options, (*how.arguments, *arguments_of(emitted, folder)))
        environment = mpiexec.environment(toolchain, options, os.environ)
        return LaunchSpec(
            (*how.prefix, *words),
            {**environment, **how.environment, **environment_of(emitted, folder)},
            emitted.files,
            layout,
            toolchain,
            world,
            folder,
            self.kind,
            self.clock,
            options.oversubscribed,
        )
