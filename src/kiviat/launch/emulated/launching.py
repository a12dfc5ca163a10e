"""What mpiexec is told so that ranks start on emulated nodes, find one another there and nowhere else.

Pure. Where each rank goes, and that nobody is bound, is told by kiviat.placement.emit. Tried with Open MPI
4.1.4 and 5.0.11, MPICH 4.0.2 and 5.0.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.scripts import BRIDGE, HEAD_ADDRESS, INTERFACE, SUBNET, TEMPORARY
from kiviat.record import InputError


@dataclass(frozen=True)
class Launching:
    """`prefix` comes before mpiexec, `arguments` after it; `environment` is beside that of the user."""

    prefix: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def launching(
    cluster: Cluster, family: str, version: str, *, oversubscribed: bool, preload: Path | None = None
) -> Launching:
    """For the mpiexec of an MPI, "openmpi" or "mpich".

    `oversubscribed`: the machine has fewer cores than the launch has ranks. `preload` is what
    `patience.library` built, for MPICH alone.
    """
    major = int(version.split(".")[0])
    # Ranks have no other way to other nodes, and nobody else has this one: what it counts is theirs.
    counted = {"KIVIAT_INTERFACE": INTERFACE}
    if family == "openmpi":
        arguments = _openmpi(cluster.folder, major)
        return Launching(cluster.entering(), arguments, _openmpi_environment(oversubscribed) | counted)
    if family == "mpich":
        return Launching(cluster.entering(), _mpich(cluster.folder, major, oversubscribed, preload), counted)
    raise InputError(f"emulated clusters do not know the launcher of {family}; take openmpi or mpich")


def _openmpi(folder: Path, major: int) -> tuple[str, ...]:
    """Version 5 has given its launching parameters to PRRTE. No node may ask another to start a third.

    Killed launches leave session folders, which go with the cluster.
    """
    agent, temporary = str(folder / "agent"), str(folder / TEMPORARY)
    if major < 5:
        return (
            *("--mca", "plm", "rsh"),
            *("--mca", "plm_rsh_agent", agent),
            *("--mca", "plm_rsh_no_tree_spawn", "1"),
            *("--mca", "oob_tcp_if_include", SUBNET),
            *("--mca", "orte_tmpdir_base", temporary),
        )
    return (
        *("--prtemca", "plm", "ssh"),
        *("--prtemca", "plm_ssh_agent", agent),
        *("--prtemca", "plm_ssh_no_tree_spawn", "1"),
        *("--prtemca", "prte_tmpdir_base", temporary),
    )


def _openmpi_environment(oversubscribed: bool) -> dict[str, str]:
    """TCP between nodes, shared memory within: named, so that nothing else can be found."""
    variables = {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "^openib,uct,ofi,usnic",
        "OMPI_MCA_btl_tcp_if_include": SUBNET,
    }
    return variables | ({"OMPI_MCA_mpi_yield_when_idle": "1"} if oversubscribed else {})


def _mpich(folder: Path, major: int, oversubscribed: bool, preload: Path | None) -> tuple[str, ...]:
    """UCX would open loopback too, which has the same address on every node."""
    variables = {"UCX_NET_DEVICES": INTERFACE}
    if preload:
        variables["LD_PRELOAD"] = str(preload)
        variables |= {"KIVIAT_UCX_YIELD": "1"} if oversubscribed else {}
        variables |= {"KIVIAT_UCX_NO_FLUSH": "1"} if major < 5 else {}
    return (
        *("-launcher", "rsh", "-launcher-exec", str(folder / "agent")),
        *("-localhost", HEAD_ADDRESS, "-iface", BRIDGE),
        *(word for name, value in variables.items() for word in ("-genv", name, value)),
    )
