"""Ranks run on the requested nodes and communicate only over the links."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.launching import launching
from kiviat.launch.emulated.spec import Spec
from kiviat.launch.emulated.yield_library import library
from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process.processes import VARIABLE, Marker
from kiviat.launch.substrates.cores import oversubscribes
from kiviat.placement import emit, place
from kiviat.record import InputError

MESSAGE_BYTES = 8 * 2**20


def command(
    cluster: Cluster, toolchain: Toolchain, ranks: int, policy: str, folder: Path, *program: object
) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the complete environment of a launch."""
    crowded = oversubscribes(ranks)
    told = launching(
        cluster, toolchain.family, toolchain.version, oversubscribed=crowded, preload=library(toolchain)
    )
    placed = emit(place(cluster.topology(), ranks, policy), toolchain.family, toolchain.version)
    for name, text in placed.files.items():
        (folder / name).write_text(text)
    where = [word.replace("{folder}", str(folder)) for word in placed.arguments]
    words = [*told.prefix, str(toolchain.mpiexec), "-n", str(ranks), *told.arguments, *where]
    user = mpiexec.environment(toolchain, LauncherOptions(), os.environ)
    environment = {**os.environ, **user, **told.environment, VARIABLE: str(Marker.new())}
    return [*words, *map(str, program)], environment


def hosts(answer: str) -> list[str]:
    return [line.split()[1] for line in answer.splitlines()]


def run(words: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("blocked", ["n1", "n1", "n2", "n2", "n3"]),
        ("cyclic", ["n1", "n2", "n3", "n1", "n2"]),
        ("file", ["n3", "n1", "n2", "n1", "n3"]),
    ],
)
def test_ranks_come_to_their_nodes(
    toolchain: Toolchain,
    exchange: Callable[[Toolchain], Path],
    tmp_path: Path,
    policy: str,
    expected: list[str],
) -> None:
    """Ranks run on the nodes that the placement gives them, are not bound to cores, and carry the launch's
    marker.
    """
    if policy == "file":
        (tmp_path / "places").write_text("".join(f"{name}\n" for name in expected))
        policy = f"file:{tmp_path / 'places'}"
    with Cluster.up(Spec(3, 2)) as cluster:
        words, environment = command(cluster, toolchain, 5, policy, tmp_path, exchange(toolchain), 0, 0, 0)
        lines = [line.split() for line in run(words, environment).splitlines()]
    assert [line[0] for line in lines] == ["0", "1", "2", "3", "4"]
    assert [line[1] for line in lines] == expected
    assert {line[2] for line in lines} == {str(len(os.sched_getaffinity(0)))}
    assert {line[3] for line in lines} == {environment[VARIABLE]}


@pytest.mark.both_mpis
@pytest.mark.parametrize(("policy", "near", "far"), [("blocked", (0, 1), (0, 2)), ("cyclic", (0, 2), (0, 1))])
def test_messages_cross_the_link_between_nodes_and_only_there(
    toolchain: Toolchain,
    exchange: Callable[[Toolchain], Path],
    tmp_path: Path,
    policy: str,
    near: tuple[int, int],
    far: tuple[int, int],
) -> None:
    """A message between nodes crosses their link, and a message within a node does not, according to the
    interfaces' counters.
    """
    with Cluster.up(Spec(2, 2, 10**9)) as cluster:
        sent = []
        for pair in (near, far):
            before = cluster.traffic()
            run(*command(cluster, toolchain, 4, policy, tmp_path, exchange(toolchain), *pair, MESSAGE_BYTES))
            after = cluster.traffic()
            sent.append({name: after[name].sent_bytes - before[name].sent_bytes for name in after})
        received = after["n2"].received_bytes - before["n2"].received_bytes
    assert max(sent[0].values()) < MESSAGE_BYTES / 20, sent[0]
    assert MESSAGE_BYTES < sent[1]["n1"] < 1.1 * MESSAGE_BYTES, sent[1]
    assert MESSAGE_BYTES < received < 1.1 * MESSAGE_BYTES
    assert sent[1]["n2"] < MESSAGE_BYTES / 10


def test_launches_end(mpich: Toolchain, exchange: Callable[[Toolchain], Path], tmp_path: Path) -> None:
    """Launches with each MPI end.

    MPICH 4 over TCP hung in MPI_Finalize in up to two thirds of all launches, because it waited for a rank
    that was already in the final barrier.
    """
    with Cluster.up(Spec(2, 2)) as cluster:
        for _ in range(8):
            run(*command(cluster, mpich, 4, "blocked", tmp_path, exchange(mpich), 0, 2, 4))


def test_other_launchers_are_refused() -> None:
    with pytest.raises(InputError, match="do not support intel"):
        launching(Cluster.planned(Spec(2, 1)), "intel", "2021.1", oversubscribed=False)


def test_open_mpi_5_gets_options_of_prrte() -> None:
    """Open MPI 5 gets the options of its launcher PRRTE, which differ from those of version 4. Tried with
    5.0.11.
    """
    cluster = Cluster.planned(Spec(2, 1))
    told = launching(cluster, "openmpi", "5.0.11", oversubscribed=True)
    pairs = dict(zip(told.arguments[1::3], told.arguments[2::3], strict=True))
    assert set(told.arguments[::3]) == {"--prtemca"}
    assert pairs["plm_ssh_agent"] == str(cluster.folder / "agent")
    assert told.environment["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert told.prefix == (str(cluster.folder / "enter"), "head")


@pytest.mark.parametrize(
    ("own", "loaded"), [("", "/yield.so"), ("/a.so:/b.so /c.so", "/yield.so:/a.so:/b.so:/c.so")]
)
def test_ranks_of_mpich_load_the_libraries_of_the_user(own: str, loaded: str) -> None:
    """The option that sets LD_PRELOAD to Kiviat's library once replaced the user's value."""
    told = launching(
        Cluster.planned(Spec(2, 1)),
        "mpich",
        "4.0.2",
        oversubscribed=False,
        preload=Path("/yield.so"),
        user={"LD_PRELOAD": own},
    )
    assert told.arguments[told.arguments.index("LD_PRELOAD") + 1] == loaded
