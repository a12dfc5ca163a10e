"""Options and files for launchers: compared with golden text, interpreted, and executed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.machine.topology import Node, Topology, local_topology
from kiviat.placement import Emitted, Layout, Place, differences, emit, place
from kiviat.record import InputError

# Two nodes of two sockets of two cores, whose numbers alternate between sockets as on some machines; rank 2
# is on n1 again.
ALTERNATING = Topology(tuple(Node(name, ((0, 2), (1, 3))) for name in ("n1", "n2")))
CYCLIC = place(ALTERNATING, 3, "cyclic")
CYCLIC_BOUND = place(ALTERNATING, 3, "cyclic", binding="virtual-processor")
BLOCKED = place(ALTERNATING, 4, "blocked", per_node=2)
# The sequence n2 n1 n2 n2 n1 is not periodic.
MIXED = Layout("file:f", ALTERNATING, tuple(Place(node) for node in (1, 0, 1, 1, 0)))
MIXED_BOUND = Layout(
    "file:f",
    ALTERNATING,
    (Place(1, 0, 0), Place(0, 0, 0), Place(1, 1, 3), Place(1, 0, 2), Place(0, 1, 3)),
    "file",
)


def test_open_mpi_4() -> None:
    assert emit(CYCLIC, "openmpi", "4.1.4") == Emitted(
        ("--map-by", "seq", "--hostfile", "{folder}/hosts", "--bind-to", "none"),
        files={"hosts": "n1\nn2\nn1\n"},
    )
    assert emit(CYCLIC_BOUND, "openmpi", "4.1.4") == Emitted(
        (
            *("--hostfile", "{folder}/hosts", "--rankfile", "{folder}/ranks"),
            *("--mca", "rmaps_rank_file_physical", "1"),
        ),
        files={
            "hosts": "n1 slots=2\nn2 slots=1\n",
            "ranks": "rank 0=n1 slot=0\nrank 1=n2 slot=0\nrank 2=n1 slot=2\n",
        },
    )


def test_open_mpi_5_numbers_cores_as_hwloc() -> None:
    """Open MPI 5 numbers cores as hwloc does: core 2, the second of the first socket, becomes 1."""
    assert emit(CYCLIC, "openmpi", "5.0.11") == emit(CYCLIC, "openmpi", "4.1.4")
    assert emit(CYCLIC_BOUND, "openmpi", "5.0.11") == Emitted(
        (
            *("--hostfile", "{folder}/hosts", "--map-by", "rankfile:file={folder}/ranks"),
            *("--bind-to", "core"),
        ),
        files={
            "hosts": "n1 slots=2\nn2 slots=1\n",
            "ranks": "rank 0=n1 slot=0\nrank 1=n2 slot=0\nrank 2=n1 slot=1\n",
        },
    )


def test_open_mpi_with_more_ranks_than_cores_yields_and_shares_cores() -> None:
    topology = Topology((Node("n1", ((0, 1),)),))
    free = place(topology, 3, "blocked", oversubscribe=True)
    bound = place(topology, 3, "blocked", binding="core", oversubscribe=True)
    for version in ("4.1.4", "5.0.11"):
        for layout in (free, bound):
            assert emit(layout, "openmpi", version).environment == {"OMPI_MCA_mpi_yield_when_idle": "1"}
    assert emit(bound, "openmpi", "5.0.11").arguments[-1] == "core:overload-allowed"


def test_mpich() -> None:
    assert emit(CYCLIC, "mpich", "4.0.2") == Emitted(
        ("-f", "{folder}/hosts"),
        files={"hosts": "n1:1\nn2:1\n"},
    )
    assert emit(BLOCKED, "mpich", "5.0.2").files == {"hosts": "n1:2\nn2:2\n"}
    assert emit(CYCLIC_BOUND, "mpich", "4.0.2").arguments == ("-f", "{folder}/hosts", "-bind-to", "user:0,2")
    assert emit(MIXED_BOUND, "mpich", "5.0.2") == Emitted(
        ("-f", "{folder}/hosts", "-rankmap", "1,0,1,1,0", "-bind-to", "user:0,3,2"),
        files={"hosts": "n1:2\nn2:3\n"},
    )


def test_intel_mpi_is_bound_by_variables() -> None:
    hosts = {"hosts": "n1:1\nn2:1\n"}
    machines = ("-machinefile", "{folder}/hosts")
    assert emit(CYCLIC, "intelmpi", "2021") == Emitted(machines, {"I_MPI_PIN": "0"}, hosts)
    pinned = {"I_MPI_PIN_PROCESSOR_LIST": "0,2"}
    assert emit(CYCLIC_BOUND, "intelmpi", "2021") == Emitted(machines, pinned, hosts)


def test_mpich_4_takes_one_node_for_two_and_warns() -> None:
    emitted = emit(MIXED, "mpich", "4.0.2")
    assert emitted.files == {"hosts": "n2:1\nn1:1\nn2:2\nn1:1\n"}
    (note,) = emitted.notes
    assert "shared memory" in note
    with pytest.raises(InputError, match="same cores in turn, 3,2, but ranks 0 on n2 need 0"):
        emit(MIXED_BOUND, "mpich", "4.0.2")


def test_slurm() -> None:
    assert emit(CYCLIC, "slurm", "22.05") == Emitted(
        ("--distribution=arbitrary", "--cpu-bind=none"),
        {"SLURM_HOSTFILE": "{folder}/hosts"},
        {"hosts": "n1\nn2\nn1\n"},
    )
    whole = ("--nodes=2", "--ntasks-per-node=2")
    assert emit(BLOCKED, "slurm", "22.05").arguments == (
        *("--distribution=block", *whole, "--cpu-bind=none"),
    )
    bound = place(ALTERNATING, 4, "plane:2", per_node=2, binding="co-processor")
    assert emit(bound, "slurm", "22.05") == Emitted(
        ("--distribution=plane=2", *whole, "--cpu-bind=map_cpu:0,1")
    )
    assert "--distribution=arbitrary" in emit(MIXED, "slurm", "22.05").arguments
    one_node = place(ALTERNATING, 2, "cyclic", per_node=2)
    assert "--nodelist=n1" in emit(one_node, "slurm", "22.05").arguments
    crowded = place(ALTERNATING, 10, "cyclic", oversubscribe=True)
    assert "--overcommit" in emit(crowded, "slurm", "22.05").arguments


@pytest.mark.parametrize("family", ["mpich", "slurm"])
def test_one_list_of_cores_for_all_nodes(family: str) -> None:
    other = Topology((Node("n1", ((0, 1),)), Node("n2", ((4, 5),))))
    with pytest.raises(InputError, match="same cores in turn, 0,1, but ranks 2,3 on n2 need 4,5"):
        emit(place(other, 4, "blocked", binding="core"), family, "5.0")


def test_assumed_numbers_of_cores_are_noted_where_they_bind() -> None:
    """Open MPI 5 takes hwloc's numbers, which count socket by socket on every node."""
    launchers = [("openmpi", "4.1.4"), ("mpich", "4.0.2"), ("intelmpi", "2021"), ("slurm", "22.05")]
    for family, version in launchers:
        (note,) = emit(CYCLIC_BOUND, family, version, assumed=True).notes
        assert "the numbers of cores are assumed" in note
        assert emit(CYCLIC, family, version, assumed=True).notes == ()
        assert emit(CYCLIC_BOUND, family, version).notes == ()
    assert emit(CYCLIC_BOUND, "openmpi", "5.0.11", assumed=True).notes == ()


def test_an_unknown_launcher_is_refused() -> None:
    with pytest.raises(InputError, match="launchers of openmpi, mpich, intelmpi, slurm, not of intel"):
        emit(CYCLIC, "intel", "2021")


def read_back(emitted: Emitted, family: str, ranks: int) -> list[str]:
    """Return the node of each rank by interpreting the output according to the launcher's manual."""
    words = list(emitted.arguments)
    hosts = emitted.files.get("hosts", "").split("\n")[:-1]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    if family == "openmpi" and "seq" in words:
        return hosts
    if family == "openmpi":
        lines = emitted.files["ranks"].split("\n")[:-1]
        assert [line.split("=")[0] for line in lines] == [f"rank {rank}" for rank in range(ranks)]
        return [line.split("=")[1].split()[0] for line in lines]
    if family == "mpich":
        pairs = [(host.split(":")[0], int(host.split(":")[1])) for host in hosts]
        if "-rankmap" in words:
            return [pairs[int(number)][0] for number in words[words.index("-rankmap") + 1].split(",")]
        return list(islice(cycle(name for name, count in pairs for _ in range(count)), ranks))
    kind = options["--distribution"]
    if kind == "arbitrary":
        return hosts
    names = options["--nodelist"].split(",") if "--nodelist" in options else ALL
    assert len(names) == int(options["--nodes"])
    each = int(options["--ntasks-per-node"])
    plane = {"block": each, "cyclic": 1}.get(kind) or int(options["--distribution"].split("=")[1])
    turns = [name for _ in range(each) for name in names for _ in range(plane)]
    return turns[:ranks]


ALL = [f"n{index}" for index in range(1, 6)]


@pytest.mark.parametrize(
    ("family", "version"),
    [("openmpi", "4.1.4"), ("openmpi", "5.0.11"), ("mpich", "4.0.2"), ("mpich", "5.0.2"), ("slurm", "22.05")],
)
def test_every_launcher_brings_ranks_where_they_belong(family: str, version: str) -> None:
    source = random.Random(22)
    seen = set()
    for _ in range(400):
        topology = Topology(tuple(Node(name, granted=source.randint(1, 4)) for name in ALL))
        ranks = source.randint(1, topology.slots)
        policy = source.choice(["blocked", "cyclic", "plane:2", "plane:3", "mixed"])
        if policy == "mixed":
            nodes = [source.randrange(5) for _ in range(ranks)]
            layout = Layout("file:f", topology, tuple(Place(node) for node in nodes))
        else:
            per_node = source.choice([None, min(node.slots for node in topology.nodes)])
            ranks = min(ranks, 5 * (per_node or 4))
            layout = place(topology, ranks, policy, per_node)
        emitted = emit(layout, family, version)
        seen.add(emitted.arguments[:1])
        assert read_back(emitted, family, ranks) == [ALL[place.node] for place in layout.places], (
            policy,
            emitted,
        )
    assert family != "slurm" or len(seen) >= 4


PROGRAM = """
import json, os, pathlib, sys
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"])
cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
host = os.environ.get("MADE_UP_NODE") or os.uname().nodename
pathlib.Path(sys.argv[1], f"rank-{rank}").write_text(json.dumps({"rank": rank, "host": host, "cpus": cpus}))
"""
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
export MADE_UP_NODE=$1 TMPDIR=$0.$1
mkdir -p "$TMPDIR"
shift
exec /bin/sh -c "$*"
"""


def launched(
    layout: Layout, toolchain: Toolchain, folder: Path, more: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Start ranks by the real launcher and return the node and cores that each rank observed."""
    emitted = emit(layout, toolchain.family, toolchain.version)
    for name, text in emitted.files.items():
        (folder / name).write_text(text)
    words = [word.replace("{folder}", str(folder)) for word in emitted.arguments]
    count = len(layout.places)
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [toolchain.mpiexec, "-n", str(count), *more, *words, sys.executable, "-c", PROGRAM, folder],
        env={**os.environ, **root, **emitted.environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(folder.glob("rank-*"))) == count
    return [json.loads((folder / f"rank-{rank}").read_text()) for rank in range(count)]


@pytest.fixture(params=["openmpi", "mpich", "wheel"])
def any_mpi(request: pytest.FixtureRequest) -> Toolchain:
    """Provide Open MPI 4, MPICH 4 and MPICH 5 in turn."""
    found: Toolchain = request.getfixturevalue(request.param)
    return found


def test_ranks_are_bound_only_if_requested(any_mpi: Toolchain, tmp_path: Path) -> None:
    here = local_topology()
    (node,) = here.nodes
    if len(node.cores) < 2:
        pytest.skip("one core: two ranks cannot be bound differently")
    free = place(here, 2, "blocked")
    assert differences(free, launched(free, any_mpi, tmp_path)) == []
    first, second = node.cores[:2]
    socket = {core: index for index, cores in enumerate(node.sockets) for core in cores}
    swapped = tuple(Place(0, socket[core], core) for core in (second, first))
    bound = Layout("file:f", here, swapped, "file")
    ranks = launched(bound, any_mpi, tmp_path)
    assert differences(bound, ranks) == []
    assert differences(free, ranks)
    crowded = place(
        Topology((Node(node.name, ((first, second),)),)), 3, "cyclic", binding="core", oversubscribe=True
    )
    assert differences(crowded, launched(crowded, any_mpi, tmp_path)) == []


def nodes_and_cores(layout: Layout) -> list[tuple[str, int | None]]:
    return [(layout.topology.nodes[place.node].name, place.core) for place in layout.places]


@pytest.mark.parametrize("policy", ["blocked", "cyclic", "plane:2", "mixed"])
def test_real_launchers_on_nodes_that_are_made_up(any_mpi: Toolchain, tmp_path: Path, policy: str) -> None:
    """Real launchers place ranks on made-up nodes, whose daemons a script starts on this machine.

    Each daemon has its own temporary folder, because Open MPI's daemons on one host destroy each other's
    files.
    """
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    cores = local_topology().nodes[0].cores[:2]
    topology = Topology(tuple(Node(f"made-up-{i}", (cores,), granted=2) for i in range(3)))
    binding = "core" if len(cores) == 2 else None
    if policy == "mixed":
        file = tmp_path / "places"
        file.write_text("made-up-2\nmade-up-0\nmade-up-1\nmade-up-0\nmade-up-2\n")
        # MPICH 4 counts each line of the file as a node and starts again with its first core.
        binding = None if any_mpi.family == "mpich" and any_mpi.version.startswith("4") else binding
        layout = place(topology, 5, f"file:{file}", binding=binding)
    else:
        layout = place(topology, 5, policy, binding=binding)
    if any_mpi.family == "openmpi":
        more: tuple[str, ...] = ("--mca", "plm", "rsh", "--mca", "plm_rsh_agent", str(agent))
    else:
        more = ("-launcher", "rsh", "-launcher-exec", str(agent))
    ranks = launched(layout, any_mpi, tmp_path, more)
    assert [rank["host"] for rank in ranks] == [name for name, _ in nodes_and_cores(layout)]
    assert differences(layout, ranks) == []
