"""Output of `kiviat place --emit` is accepted by real launchers: ranks run on the chosen nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.machine.topology import Node, Topology, local_topology
from kiviat.placement import differences
from kiviat.placement.automatic import automatic, layout_of_nodes
from kiviat.placement.target import of_topology
from kiviat.profile import Traffic

from .test_emit import AGENT, any_mpi, launched

__all__ = ["any_mpi"]


def test_ranks_come_to_the_nodes_that_were_chosen(any_mpi: Toolchain, tmp_path: Path) -> None:
    """Ranks run on the chosen nodes, made up as in test_emit; partners are 0 and 3, 1 and 5, 2 and 4."""
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    cores = local_topology().nodes[0].cores[:2]
    target = of_topology("made up", Topology(tuple(Node(f"made-up-{i}", (cores,), 2) for i in range(3))))
    traffic = Traffic.of_entries(6, [(0, 3, 1, 100), (1, 5, 1, 100), (2, 4, 1, 100), (0, 1, 1, 10)])
    node = automatic(traffic, target, "bytes").node
    assert node.tolist() == [0, 1, 2, 0, 2, 1]
    layout = layout_of_nodes(traffic, target, node, bound=False)
    if any_mpi.family == "openmpi":
        more: tuple[str, ...] = ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", str(agent))
    else:
        more = ("-launcher", "rsh", "-launcher-exec", str(agent))
    ranks = launched(layout, any_mpi, tmp_path, more)
    assert [rank["host"] for rank in ranks] == [f"made-up-{at}" for at in node]
    assert differences(layout, ranks) == []


def test_cores_are_taken_as_chosen_by_open_mpi(openmpi: Toolchain, tmp_path: Path) -> None:
    """Open MPI binds ranks to the chosen cores: the two of this machine in reverse order."""
    (here,) = local_topology().nodes
    if len(here.cores) < 2:
        pytest.skip("one core: two ranks cannot be bound differently")
    one, other = here.cores[:2]
    target = of_topology("here", Topology((Node(here.name, ((other,), (one,))),)))
    traffic = Traffic.of_entries(2, [(0, 1, 1, 100)])
    layout = layout_of_nodes(traffic, target, np.zeros(2, dtype=np.int64), bound=True)
    assert [where.core for where in layout.places] == [other, one]
    ranks = launched(layout, openmpi, tmp_path)
    assert [rank["cpus"] for rank in ranks] == [str(other), str(one)]
