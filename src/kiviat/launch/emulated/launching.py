"""Arguments and environment of mpiexec that start ranks on emulated nodes and keep their messages there.

Has no side effects. kiviat.placement.emit places the ranks and leaves them unbound. Tested with Open MPI
4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.delaying import wire_number
from kiviat.launch.emulated.scripts import BRIDGE, HEAD_ADDRESS, INTERFACE, SUBNET, TEMPORARY
from kiviat.launch.emulated.shaping import rest_between_calls_s
from kiviat.launch.mpi.vendors import LaunchCondition, vendors
from kiviat.record import InputError


@dataclass(frozen=True)
class Launching:
    """`prefix` precedes mpiexec, `arguments` follow it; `environment` is added to the user's."""

    prefix: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def launching(
    cluster: Cluster,
    family: str,
    version: str,
    *,
    oversubscribed: bool,
    preload: Path | None = None,
    user: Mapping[str, str] | None = None,
) -> Launching:
    """Return how an MPI's mpiexec starts ranks on a cluster, by the needs that its file in mpi/vendors lists.

    Placeholders in the needs, such as "{agent}", are replaced by paths of the cluster. `oversubscribed`: the
    machine has fewer cores than the launch has ranks. `preload`: the path that `yield_library.library`
    returned; the libraries that the `user` preloads, by default in the environment, follow it. Raise
    InputError if the MPI's file lists no needs for emulated clusters.
    """
    known = {name: vendor for name, vendor in vendors().items() if vendor.needed(["emulated"], version)}
    if family not in known:
        raise InputError(f"emulated clusters do not support {family}; use {' or '.join(reversed(known))}")
    holding: dict[LaunchCondition, bool] = {
        "emulated": True,
        "preloaded": preload is not None,
        "oversubscribed": oversubscribed,
    }
    conditions = [condition for condition, holds in holding.items() if holds]
    needs = [need for need in known[family].needed(conditions, version) if "emulated" in need.when]
    places = {
        "{agent}": str(cluster.folder / "agent"),
        "{temporary}": str(cluster.folder / TEMPORARY),
        "{subnet}": SUBNET,
        "{head}": HEAD_ADDRESS,
        "{bridge}": BRIDGE,
        "{interface}": INTERFACE,
        "{preload}": ":".join([str(preload), *_preloaded(os.environ if user is None else user)]),
    }
    arguments = tuple(places.get(word, word) for need in needs for word in need.arguments)
    variables = {name: places.get(value, value) for need in needs for name, value in need.environment.items()}
    # Only ranks use this interface, and it is their only way to other nodes, so it counts exactly their
    # bytes.
    variables["KIVIAT_INTERFACE"] = INTERFACE
    if rest_s := rest_between_calls_s(cluster.spec):
        variables["KIVIAT_REFILL"] = f"{rest_s:.9f}"
    if (forwarding := wire_number(cluster.folder)) is not None:
        variables["KIVIAT_HELPERS"] = str(forwarding)  # its processor time serves the ranks
    return Launching(cluster.entering(), arguments, variables)


def _preloaded(user: Mapping[str, str]) -> list[str]:
    """Return the libraries in the user's LD_PRELOAD, which blanks or colons separate."""
    return user.get("LD_PRELOAD", "").replace(":", " ").split()
