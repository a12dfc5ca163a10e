"""Topologies of nodes, from fabricated kernel files and from this machine's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from kiviat.machine.topology import Node, Topology, local_topology
from kiviat.record import InputError


def write(root: Path, cpus: Mapping[int, tuple[int | None, str]]) -> Path:
    """Create kernel files; `cpus` maps each CPU that has a topology to its package and thread siblings."""
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/hostname").write_text("node001\n")
    for cpu, (package, siblings) in cpus.items():
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
        if package is not None:
            (folder / "physical_package_id").write_text(f"{package}\n")
    return root


# Two sockets of two cores of two threads; the numbers of CPUs alternate between sockets, as on some machines.
ALTERNATING = {cpu: (cpu % 2, f"{cpu % 4},{cpu % 4 + 4}") for cpu in range(8)}


@pytest.mark.parametrize(
    ("allowed", "sockets"),
    [
        (range(8), ((0, 2), (1, 3))),
        ([1, 5, 6], ((6,), (1,))),
        ([3], ((3,),)),
        ([7, 4], ((4,), (7,))),
    ],
)
def test_cores_are_counted_once_and_only_where_we_may_run(
    tmp_path: Path, allowed: range | list[int], sockets: tuple[tuple[int, ...], ...]
) -> None:
    topology = local_topology(write(tmp_path, ALTERNATING), allowed)
    assert topology == Topology((Node("node001", sockets),))
    assert topology.slots == sum(map(len, sockets))


def test_siblings_side_by_side(tmp_path: Path) -> None:
    adjacent = {cpu: (3 * (cpu // 4), f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}") for cpu in range(8)}
    assert local_topology(write(tmp_path, adjacent), range(8)).nodes[0].sockets == ((0, 2), (4, 6))


@pytest.mark.parametrize("package", [None, -1])
def test_without_packages_there_is_one_socket(tmp_path: Path, package: int | None) -> None:
    root = write(tmp_path, {cpu: (package, str(cpu)) for cpu in range(3)})
    assert local_topology(root, range(3)).nodes[0].sockets == ((0, 1, 2),)


def test_without_any_topology_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert local_topology(tmp_path, [4, 2]).nodes[0].sockets == ((2, 4),)


def test_this_machine() -> None:
    (node,) = local_topology().nodes
    assert set(node.cores) <= os.sched_getaffinity(0)
    assert node.slots == len(set(node.cores)) >= 1


def test_slots_are_cores_unless_somebody_else_decides() -> None:
    assert Node("n1", ((0, 1), (2,))).slots == 3
    assert Node("n1", granted=16).slots == 16
    assert Node("n1", ((0, 1),), granted=1).slots == 1
    topology = Topology((Node("n1", granted=2), Node("n2", granted=3)))
    assert (topology.slots, topology.index("n2"), topology.index("n3")) == (5, 1, None)


def test_a_node_is_listed_once() -> None:
    with pytest.raises(InputError, match="'n1' is listed 2 times"):
        Topology((Node("n1"), Node("n2"), Node("n1")))
