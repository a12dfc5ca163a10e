"""Fixtures with real emulated clusters in a temporary state folder, and a check that tests leave nothing
behind.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kiviat.launch.emulated import rights
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.removal import clean_dead
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process.processes import marker_of, our_processes
from kiviat.launch.process.signals import Interrupted, Interruptible
from kiviat.record import InputError


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of this test's clusters; afterwards, check that the system is as it was before."""
    try:
        rights.refuse_without_rights()
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before = system(tmp_path)
    yield tmp_path / "state" / "kiviat" / "clusters"
    assert system(tmp_path) == before
    assert not any((tmp_path / "state" / "kiviat").glob("*/*")), "a journal was left"


@pytest.fixture(scope="session")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Toolchain], Path]:
    """Return a function that compiles exchange.cpp, once for each MPI."""
    folder = tmp_path_factory.mktemp("exchange")

    def program(toolchain: Toolchain) -> Path:
        built = folder / toolchain.name.replace(" ", "-")
        if not built.exists():
            source = Path(__file__).with_name("exchange.cpp")
            subprocess.run([toolchain.mpicxx, "-std=c++20", "-w", source, "-o", built], check=True)
        return built

    return program


def system(tmp_path: Path) -> dict[str, object]:
    """Return interfaces, named namespaces, mounts, host names and processes, without those of other Kiviat
    processes and other tests.
    """
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]

    def is_ours(mount: str) -> bool:
        return str(tmp_path) in mount or ("/kiviat/clusters/" not in mount and "/pytest-of-" not in mount)

    return {
        "interfaces": _said("ip", "-o", "link").count("\n"),
        "namespaces": _said("ip", "netns"),
        "mounts": [mount for mount in mounts if is_ours(mount)],
        "hosts": Path("/etc/hosts").read_text(),
        "processes": _of_this_test(tmp_path),
    }


def _said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def _of_this_test(tmp_path: Path) -> list[int]:
    """Return the processes of launches that this process, or a process started by it, has made."""
    return [
        pid
        for pid in our_processes()
        if (marker := marker_of(pid)) and (marker.owner == os.getpid() or marker.is_orphaned())
        if str(tmp_path) in _environment(pid)
    ]


def _environment(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def said(cluster: Cluster, node: str, *words: str) -> str:
    """Return the output of a command on a node."""
    command = [*cluster.entering(node), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def in_child(act: Callable[[], object]) -> int:
    """Call `act` in a forked child process, and return its process number."""
    if child := os.fork():
        return child
    try:
        with Interruptible():
            act()
    except Interrupted as interrupted:
        os._exit(128 + interrupted.signal)
    except InputError as error:
        print(error, flush=True)
        os._exit(2)
    os._exit(0)


def wait_until(condition: object, limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.02)


def cleaned() -> list[str]:
    """Remove what dead ones left; return what was said, without the runs of tests on other workers."""
    return [line for line in clean_dead() if not line.endswith("a run whose kiviat is dead")]
