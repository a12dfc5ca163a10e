"""Where a run takes place, as the command line says it: `--on`, `-n 8x2`, `--ppn`, `--place`, `--bind`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from kiviat.launch.mpi.mpiexec import Options
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.schedulers.scheduler import Scheduler, schedulers
from kiviat.launch.substrates.emulated import Emulated
from kiviat.launch.substrates.scheduled import Scheduled
from kiviat.launch.substrates.simulated import Simulated
from kiviat.launch.substrates.substrate import Native, Substrate
from kiviat.placement import parse_shape
from kiviat.plan.watts import Watts
from kiviat.record import InputError
from kiviat.record.suggestion import suggestion


def substrate_of(text: str | None) -> Substrate:
    """What `--on` means: "native", "emulated:4x2,rate=1Gbit", or a scheduler in whose job we are."""
    kind, _, rest = (text or "native").partition(":")
    if kind == "native" and not rest:
        return Native()
    if kind == "emulated":
        return Emulated.parse(rest)
    if kind == "simulated":
        return Simulated.parse(rest)
    if kind in schedulers():
        return Scheduled(schedulers()[kind])
    known = ("native", "emulated", "simulated", *schedulers())
    hint = suggestion(kind, known, "give " + ", ".join(known))
    raise InputError(f"--on {text!r} is not a place to run{hint}")


def mpi_on(text: str | None, mpi: str | None) -> str | None:
    """The MPI that `--on` needs, else the one that `--mpi` names."""
    if (text or "").partition(":")[0] != "simulated":
        if mpi == SIMULATOR:
            raise InputError(f"--mpi {mpi} runs on modelled machines only; give --on simulated:MACHINE")
        return mpi
    if mpi is not None:
        raise InputError(f"--mpi {mpi}: on a simulated machine the MPI is SimGrid's; leave it out")
    return SIMULATOR


def ask_once(arguments: Namespace) -> None:
    """Simulated time repeats itself: one launch, one call, unless the command line says otherwise."""
    arguments.launches = arguments.launches or 1
    arguments.once = arguments.iterations is None and not arguments.pallas2


def declared_watts(arguments: Namespace, substrate: Substrate) -> dict[str, Any] | None:
    """What a node or socket is said to take, as run.json holds it; settles it for the plan.

    The command line says it, or the file of a simulated machine.
    """
    if arguments.watts is not None:
        asked = Watts.parse(arguments.watts)
        sockets = substrate.machine.whole("node.sockets") if substrate.machine else None
        arguments.watts = (asked if sockets is None else asked.of_node(sockets)).control()
        return asked.to_json("command line")
    if arguments.resume or substrate.machine is None:
        return None
    power = substrate.machine.number("power.node")
    if power is None:
        return None
    modelled = Watts(power, "node")
    arguments.watts = modelled.control()
    return modelled.to_json("machine file")


def scheduler_to_ask(text: str | None) -> Scheduler | None:
    """The scheduler that `--on` names, unless we are in a job of it already."""
    scheduler = schedulers().get((text or "").partition(":")[0])
    return None if scheduler is None or scheduler.is_inside(os.environ) else scheduler


# What a run keeps of this, and of which type.
WHERE: Mapping[str, type] = {"on": str, "ppn": int, "place": str, "bind": str, "launcher": str}


def settle_shape(arguments: Namespace) -> None:
    """Turns `-n 8x2` into 16 ranks, two on each node."""
    if arguments.ranks is None or "x" not in arguments.ranks.lower():
        return
    shape = parse_shape(arguments.ranks)
    if arguments.ppn not in (None, shape.per_node):
        raise InputError(
            f"-n {arguments.ranks} puts {shape.per_node} ranks on a node, --ppn says {arguments.ppn}; "
            "leave one out"
        )
    arguments.ranks, arguments.ppn = str(shape.nodes * shape.per_node), shape.per_node


def options_of(arguments: Namespace) -> Options:
    return Options(
        launcher=arguments.launcher,
        place=arguments.place,
        per_node=arguments.ppn,
        bind=arguments.bind,
    )
