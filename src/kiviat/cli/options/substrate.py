"""The substrate requested on the command line: `--on`, `-n 8x2`, `--ppn`, `--place`, `--bind`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from kiviat.cli.options.request import Where
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.schedulers.scheduler import Scheduler, schedulers
from kiviat.launch.substrates.emulated import Emulated
from kiviat.launch.substrates.scheduled import Scheduled
from kiviat.launch.substrates.simulated import Simulated
from kiviat.launch.substrates.substrate import Native, Substrate
from kiviat.machine.modelled.machine import machines
from kiviat.placement import parse_shape
from kiviat.plan.watts import Watts
from kiviat.record import InputError
from kiviat.record.suggestion import suggestion
from kiviat.record.units import counted


def substrate_of(text: str | None) -> Substrate:
    """Return the substrate of `--on`, such as "emulated:4x2,rate=1Gbit"; by default that of the current job.

    Outside of jobs the default is this machine.
    """
    kind, _, rest = (text or "native").partition(":")
    if kind == "native" and not rest:
        return Native()
    if kind == "emulated":
        return Emulated.parse(rest)
    if kind == "simulated":
        return Simulated.parse(rest)
    if kind in schedulers():
        return Scheduled(schedulers()[kind])
    if text in machines():
        raise InputError(f"--on {text!r} is a modelled machine: give --on simulated:{text}")
    known = ("native", "emulated", "simulated", *schedulers())
    hint = suggestion(kind, known, "give " + ", ".join(known))
    raise InputError(f"--on {text!r} is not a place to run{hint}")


def mpi_on(text: str | None, mpi: str | None) -> str | None:
    """Return the MPI that `--on` needs, else `mpi`."""
    if (text or "").partition(":")[0] != "simulated":
        if mpi == SIMULATOR:
            raise InputError(f"--mpi {mpi} runs on modelled machines only; give --on simulated:MACHINE")
        return mpi
    if mpi is not None:
        raise InputError(f"--mpi {mpi}: on a simulated machine the MPI is SimGrid's; leave it out")
    return SIMULATOR


@dataclass(frozen=True)
class DeclaredWatts:
    """Declared power of a node or socket, for the native program and for run.json."""

    control: str
    entry: dict[str, Any]


def declared_watts(given: str | None, substrate: Substrate) -> DeclaredWatts | None:
    """Return the power given by `--watts`, else that of a simulated machine's file."""
    if given is not None:
        asked = Watts.parse(given)
        sockets = substrate.machine.whole("node.sockets") if substrate.machine else None
        control = (asked if sockets is None else asked.of_node(sockets)).control()
        return DeclaredWatts(control, asked.to_json("command line"))
    power = substrate.machine.number("power.node") if substrate.machine else None
    if power is None:
        return None
    modelled = Watts(power, "node")
    return DeclaredWatts(modelled.control(), modelled.to_json("machine file"))


def scheduler_to_ask(text: str | None) -> Scheduler | None:
    """Return the scheduler that `--on` names; None inside one of its jobs."""
    scheduler = schedulers().get((text or "").partition(":")[0])
    return None if scheduler is None or scheduler.is_inside(os.environ) else scheduler


def settled_shape(ranks: str | None, where: Where) -> tuple[str | None, Where]:
    """Return ranks and placement; `-n 8x2` becomes 16 ranks, two per node.

    Several shapes, as in `-n 2x1,12x1`, have the same number of ranks per node; InputError if they differ.
    """
    if ranks is None or "x" not in ranks.lower():
        return ranks, where
    shapes = [parse_shape(word.strip()) for word in ranks.split(",")]
    per_node = {shape.per_node for shape in shapes}
    if len(per_node) > 1:
        listed = ", ".join(map(str, sorted(per_node)))
        raise InputError(
            f"-n {ranks} puts {listed} ranks on a node; a run has one number: make a run for each shape"
        )
    only = per_node.pop()
    if where.ppn not in (None, only):
        raise InputError(
            f"-n {ranks} puts {counted(only, 'rank')} on a node, --ppn says {where.ppn}; leave one out"
        )
    counts = dict.fromkeys(str(shape.nodes * shape.per_node) for shape in shapes)
    return ",".join(counts), replace(where, ppn=only)


def refuse_missing_nodes(ranks: str | None, substrate: Substrate) -> None:
    """Raise InputError for shapes such as 2x2 where there is one node: ranks would silently share it."""
    one_node = isinstance(substrate, Native) and substrate.is_this_machine
    if ranks is None or "x" not in ranks.lower() or not one_node:
        return
    largest = max((parse_shape(word.strip()) for word in ranks.split(",")), key=lambda shape: shape.nodes)
    if (nodes := largest.nodes) > 1:
        raise InputError(
            f"-n {ranks} needs {nodes} nodes, and this machine is one; use those of a scheduler (--on slurm) "
            f"or emulated ones (--on emulated:{nodes}x{largest.per_node})"
        )


def options_of(where: Where) -> LauncherOptions:
    """Return the launcher's options on the command line."""
    return LauncherOptions(launcher=where.launcher, place=where.place, per_node=where.ppn, bind=where.bind)
