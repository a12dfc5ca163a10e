"""Runs on a modelled machine: SimGrid stands for the machine, and simulated time for the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat.launch.build import PLATFORM, PROGRAM, build
from kiviat.launch.native import Options
from kiviat.launch.substrate import AlwaysReady, Start, layout_of
from kiviat.launch.toolchain import Toolchain
from kiviat.machine import lowering
from kiviat.machine.model import Machine, about, assumed, find_machine
from kiviat.placement import Layout
from kiviat.placement.binding import bound
from kiviat.record import InputError

_MOST_BY_DEFAULT = 16


class Simulated(AlwaysReady):
    """A run takes the cores of the machine in order, unless it is placed otherwise. `product` is the
    program (kiviat.launch.build) beside which there is what loads the machine.
    """

    kind = "simulated"

    def __init__(self, machine: Machine, product: str = PROGRAM) -> None:
        self.machine = machine
        self.product = product
        self.label = f"simulated:{machine.name}"

    @classmethod
    def parse(cls, text: str) -> Simulated:
        if not text:
            raise InputError("--on simulated: names no machine; `kiviat machines` lists them")
        return cls(find_machine(text))

    def default_ranks(self, options: Options) -> int:
        return max(2, min(self.machine.cores, _MOST_BY_DEFAULT))

    def oversubscribes(self, ranks: int) -> bool:
        return False

    def ranks_to_probe(self, world: int) -> int:
        """What carries messages is what the model says: there is nothing to be found out."""
        return 0

    def start(self, toolchain: Toolchain, ranks: int, folder: Path, options: Options) -> Start:
        if options.launcher:
            raise InputError(
                f"--launcher {options.launcher!r} makes no sense on a simulated machine; leave it out"
            )
        layout = _on_cores(layout_of(self.machine.topology(), ranks, options))
        config = [f"--cfg={name}:{value}" for name, value in lowering.options(self.machine).items()]
        platform = program_platform(toolchain, self.product)
        words = [
            *(str(toolchain.mpiexec), "-np", str(ranks)),
            *("-platform", str(platform), "-hostfile", str(folder / "hosts")),
            *config,
            "--log=root.thres:error",
        ]
        files = {"hosts": _hosts(layout), "machine.txt": lowering.platform(self.machine)}
        return Start(tuple(words), {"KIVIAT_PLATFORM": str(folder / "machine.txt")}, files, layout)


def alone(toolchain: Toolchain, folder: Path) -> list[str | Path]:
    """The words before a program that is to run on any machine at all: a program of SMPI's has no main."""
    platform = folder / "platform.xml"
    platform.write_text(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        '<platform version="4.1"><zone id="z" routing="Full"><host id="h" speed="1Gf"/></zone></platform>\n'
    )
    return [toolchain.mpiexec, "-np", "1", "-platform", platform, "--log=root.thres:error"]


def program_platform(toolchain: Toolchain, product: str = PROGRAM) -> Path:
    """What loads a machine into SimGrid: built with each simulated program, and beside it."""
    return build(toolchain, product=product).with_name(PLATFORM)


def _on_cores(layout: Layout) -> Layout:
    """A simulated rank never leaves its core: the next one of its node, unless it is bound to another."""
    if layout.binding is not None:
        return layout
    nodes = [place.node for place in layout.places]
    return replace(layout, places=tuple(bound(layout.topology, nodes, "core", False)), binding="core")


def _hosts(layout: Layout) -> str:
    """A line for each rank: the core that it has."""
    cores = [(place.node, place.core) for place in layout.places if place.core is not None]
    return "".join(f"{lowering.host(node, core)}\n" for node, core in cores)


def described_machine(machine: Machine) -> dict[str, Any]:
    """The machine as run.json holds it; what a model does not say is null."""
    sockets, nodes = machine.whole("node.sockets"), machine.nodes
    return {
        "name": f"simulated:{machine.name}",
        "cpu": machine.title,
        "sockets": sockets * nodes,
        "cores": machine.cores,
        "threads": machine.cores,
        "cpu_limit": None,
        "memory_bytes": int(machine.numbers["node.memory"].value) * nodes,
        "caches": [],
        "kernel": None,
        "os": None,
        "virtualization": "simulated",
        "governor": None,
        "interfaces": [],
        "model": model_of(machine),
    }


def model_of(machine: Machine) -> Mapping[str, Any]:
    """What a report says of a simulated run, so that it needs no machine file."""
    return {
        **about(machine),
        "assumed": [place for place, _ in assumed(machine)],
        "losses": list(machine.losses),
        "open_questions": list(machine.open_questions),
        "published": [{"machine": name, "mode": mode} for name, mode in machine.published],
        "collectives": machine.words["mpi.collectives"],
        "link_bandwidth": machine.number("topology.link"),
        "hop_s": machine.number("topology.hop"),
    }
