"""What the profiler takes for traffic between nodes, against the counters of their network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kiviat.launch import native
from kiviat.launch.cores import oversubscribes
from kiviat.launch.emulated import rights
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.launching import launching
from kiviat.launch.emulated.spec import Spec
from kiviat.launch.native import Options
from kiviat.launch.processes import VARIABLE, Marker
from kiviat.launch.toolchain import Toolchain
from kiviat.placement import emit, place
from kiviat.profile import DISTANCES, Profile, read_profile
from kiviat.record import InputError

from .conftest import Compiled

SENT = 8 * 5 * 4_000_000


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    try:
        rights.refuse_without_rights()
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Cluster.up(Spec(4, 2)) as cluster:
        yield cluster


def profile_of(
    cluster: Cluster, openmpi: Toolchain, program: Path, policy: str, folder: Path, *more: str
) -> tuple[Profile, str]:
    told = launching(cluster, openmpi.family, openmpi.version, oversubscribed=oversubscribes(8))
    placed = emit(place(cluster.topology(), 8, policy), openmpi.family, openmpi.version)
    for name, text in placed.files.items():
        (folder / name).write_text(text)
    where = [word.replace("{folder}", str(folder)) for word in placed.arguments]
    words = [*told.prefix, str(openmpi.mpiexec), "-n", "8", *told.arguments, *where, str(program), "bulk"]
    user = native.environment(openmpi, Options(), os.environ)
    environment = {**os.environ, **user, **told.environment, VARIABLE: str(Marker.new())}
    output = folder / f"{policy}.profile"
    command = [sys.executable, "-m", "kiviat.cli.main", "profile", "-o", str(output), *more, "--", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", "show", str(output)], capture_output=True, text=True
    )
    return read_profile(output), shown.stdout


@pytest.mark.parametrize(
    ("policy", "crossing"), [pytest.param("cyclic", 8, marks=pytest.mark.full), ("blocked", 4)]
)
def test_between_nodes(
    cluster: Cluster, openmpi: Toolchain, compiled: Compiled, tmp_path: Path, policy: str, crossing: int
) -> None:
    """Of the eight pairs of a ring so many have their ranks on two nodes.

    Headers of Ethernet, IP and TCP, 66 B in 1514, make 5 %, and acknowledgements, but for large segments,
    which the interfaces of namespaces hand over whole; the launcher's words are some kilobytes.
    """
    program = compiled(openmpi, "exchange.c", "-lpthread")
    profile, shown = profile_of(cluster, openmpi, program, policy, tmp_path, "--crossing")
    expected = SENT * crossing // 8
    by_distance = dict(zip(DISTANCES, profile.calls.bytes.sum(axis=0).tolist(), strict=True))
    assert by_distance["other node"] == expected
    assert sum(by_distance.values()) == SENT
    assert profile.sent.between(profile.node.tolist()) == (SENT - expected, expected)
    assert len(profile.interfaces) == 4
    carried = sum(one.sent for one in profile.interfaces)
    assert expected <= carried <= 1.06 * expected + 1e6
    # By the MPI's own count: the same, and a few small ones of its own.
    assert profile.crossed is not None
    inside, across = profile.crossed.between(profile.node.tolist())
    assert expected <= across <= expected + 1e5
    assert SENT - expected <= inside <= SENT - expected + 1e5
    assert re.search(r"8 ranks on 4 nodes", shown)
    assert "by its own count" in shown
