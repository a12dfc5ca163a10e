"""Runs on a modelled machine, which SimGrid simulates; samples are in simulated time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat.launch.mpi.build import PLATFORM, PROGRAM, program_path
from kiviat.launch.mpi.build_cache import refuse_torn
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.transport import MODELLED
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Substrate, layout_of
from kiviat.machine.modelled import lowering
from kiviat.machine.modelled.machine import Machine, about, assumed, find_machine
from kiviat.placement import Layout
from kiviat.placement.binding import bound
from kiviat.record import InputError

_MOST_BY_DEFAULT = 16
_BEFORE = "-wrapper"  # smpirun's option for words that precede the simulator's command


class Simulated(Substrate):
    """A modelled machine, whose cores a run uses in order unless ranks are placed otherwise.

    `product`: the program (kiviat.launch.mpi.build) next to which the library with the machine is built.
    """

    kind = "simulated"

    machine: Machine

    def __init__(self, machine: Machine, product: str = PROGRAM) -> None:
        self.machine = machine
        self.product = product
        self.label = f"simulated:{machine.name}"

    @classmethod
    def parse(cls, text: str) -> Simulated:
        """Return the substrate of the machine that `text` names. Raise InputError for unknown names."""
        if not text:
            raise InputError("--on simulated: names no machine; `kiviat model list` lists them")
        return cls(find_machine(text))

    def default_ranks(self, options: LauncherOptions) -> int:
        """Return the number of modelled cores, limited so that a simulation takes little time; at least 2."""
        return max(2, min(self.machine.cores, _MOST_BY_DEFAULT))

    def ranks_to_probe(self, world: int) -> int:
        """Return 0, because the model defines the transports, and no probe is needed."""
        return 0

    def start(self, toolchain: Toolchain, world: int, folder: Path, options: LauncherOptions) -> LaunchSpec:
        """Return a launch by smpirun. Raise InputError if `--launcher` is given, or `folder` has blanks."""
        if options.launcher:
            raise InputError(
                f"--launcher {options.launcher!r} does not apply to a simulated machine; leave it out"
            )
        refuse_blanks(folder)
        layout = _on_cores(layout_of(self.machine.topology(), world, options))
        platform = program_platform(toolchain, self.product)
        words = simulator(toolchain, platform, world, folder / "hosts", lowering.options(self.machine))
        files = {"hosts": _hosts(layout), "machine.txt": lowering.platform(self.machine)}
        return LaunchSpec(
            words,
            {"KIVIAT_PLATFORM": str(folder / "machine.txt")},
            files,
            layout,
            toolchain,
            world,
            folder,
            self.kind,
            self.clock,
            transport=MODELLED,
        )


def simulator(
    toolchain: Toolchain, platform: Path, world: int, hosts: Path, options: Mapping[str, str]
) -> tuple[str, ...]:
    """Return smpirun with its options, to be followed by the program.

    `hosts` is a file with one line per rank. The platform library is preloaded before SimGrid, because it
    replaces some of SimGrid's functions (native/simgrid/smpi_overrides/leaders.cpp).
    """
    words = [
        *(str(toolchain.mpiexec), _BEFORE, "env LD_PRELOAD=", "-np", str(world)),
        *("-platform", str(platform), "-hostfile", str(hosts)),
        *(f"--cfg={name}:{value}" for name, value in options.items()),
        "--log=root.thres:error",
    ]
    return preloading(words, platform)


def refuse_blanks(folder: Path) -> None:
    """Raise InputError if smpirun would tear the path of a launch's folder."""
    if any(character.isspace() for character in str(folder)):
        raise InputError(
            f"{folder} contains a blank, which smpirun cannot handle; give another folder by -o or in "
            "KIVIAT_RUNS"
        )


def preloading(words: Sequence[str], library: Path) -> tuple[str, ...]:
    """Return the words of simulator() with one more library that the simulator preloads.

    Only the simulator preloads it: smpirun is a script that starts many small programs. Raise InputError if
    the path contains a blank or colon.
    """
    refuse_torn(library, "smpirun")
    at = words.index(_BEFORE) + 1
    between = "" if words[at].endswith("=") else ":"
    return (*words[:at], f"{words[at]}{between}{library}", *words[at + 1 :])


def alone(toolchain: Toolchain, folder: Path) -> list[str | Path]:
    """Return the words before a program that runs once, without a machine: SMPI programs have no main."""
    platform = folder / "platform.xml"
    platform.write_text(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        '<platform version="4.1"><zone id="z" routing="Full"><host id="h" speed="1Gf"/></zone></platform>\n'
    )
    return [toolchain.mpiexec, "-np", "1", "-platform", platform, "--log=root.thres:error"]


def program_platform(toolchain: Toolchain, product: str = PROGRAM) -> Path:
    """Return the library that loads a machine into SimGrid, built beside each simulated program."""
    return program_path(toolchain, product=product).with_name(PLATFORM)


def _on_cores(layout: Layout) -> Layout:
    """Return the layout with each rank bound to a core, by default the next one of its node.

    Simulated ranks never change their core.
    """
    if layout.binding is not None:
        return layout
    nodes = [place.node for place in layout.places]
    return replace(layout, places=tuple(bound(layout.topology, nodes, "core", False)), binding="core")


def _hosts(layout: Layout) -> str:
    """Return the host file: for each rank a line with its core."""
    cores = [(place.node, place.core) for place in layout.places if place.core is not None]
    return "".join(f"{lowering.host(node, core)}\n" for node, core in cores)


def described_machine(machine: Machine) -> dict[str, Any]:
    """Return the machine's entry in run.json; values that the model does not define are null."""
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
    """Return the description of the machine for reports, which then do not need the machine file."""
    return {
        **about(machine),
        "assumed": [place for place, _ in assumed(machine)],
        "losses": list(machine.losses),
        "open_questions": list(machine.open_questions),
        "published": [{"machine": name, "mode": mode} for name, mode in machine.published],
        "collectives": machine.words["mpi.collectives"]
        + (", through one rank of each node" if machine.node_aware else ""),
        "link_bandwidth": machine.number("topology.link"),
        "hop_s": machine.number("topology.hop"),
        "core_flops": machine.number("core.flops"),
    }
