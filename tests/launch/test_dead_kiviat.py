"""The next command removes ranks and files that a killed Kiviat process left behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from kiviat.launch.emulated.removal import clean_dead
from kiviat.launch.mpi.leftovers import LeftoverJournal
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process import processes
from kiviat.launch.process.execution import Execution
from kiviat.launch.process.processes import Marker

from .conftest import SHARED_MEMORY

RUN = """
import sys
from pathlib import Path
from kiviat.launch.process import children
from kiviat.launch.run.runner import run_plan
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.mpi.transport import UNKNOWN
from kiviat.plan import Case, Plan

family, stub, directory, tied = sys.argv[1:]
if tied == "no":
    children._libc.prctl = lambda *arguments: 0  # as if mpiexec had lost the tie to us
case = Case("a", "a", 2, None, {"act": "stubborn"}, {}, 2)
plan = Plan(name="p", launches=1, seed=1, cases=(case,), definition={})
run_plan(plan, find_toolchain(family), Path(stub), run_id="r", directory=Path(directory), done=set(),
         on_launch=lambda launch: print("launched", flush=True), on_record=print, transport=UNKNOWN)
"""


def start(toolchain: Toolchain, stub: Path, directory: Path, tied: str) -> subprocess.Popen[str]:
    directory.mkdir()
    arguments = [sys.executable, "-c", RUN, toolchain.family, str(stub), str(directory), tied]
    kiviat = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert kiviat.stdout is not None and kiviat.stdout.readline() == "launched\n"
    return kiviat


def wait_until(condition: object, limit_s: float = 10) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.05)


@pytest.mark.parametrize("tied", ["yes", "no"])
def test_the_next_command_cleans_up(toolchain: Toolchain, stub: Path, tmp_path: Path, tied: str) -> None:
    kiviat = start(toolchain, stub, tmp_path / "run", tied)
    mine = [
        pid for pid in processes.our_processes() if (m := processes.marker_of(pid)) and m.owner == kiviat.pid
    ]
    assert len(mine) >= 3, "mpiexec and two ranks"
    assert processes.orphans() == [], "their kiviat lives"
    assert clean_dead() == []
    kiviat.kill()
    kiviat.wait()
    if tied == "no":
        assert set(mine) <= set(processes.orphans())
    lines = clean_dead()
    assert processes.orphans() == []
    assert all(not Path(f"/proc/{pid}").exists() or processes._is_zombie(pid) for pid in mine)
    assert tied == "yes" or any("ended process" in line for line in lines)
    assert clean_dead() == []


def test_mpiexec_ends_by_itself_when_kiviat_is_killed(
    toolchain: Toolchain, stub: Path, tmp_path: Path
) -> None:
    """The launcher ends by itself if its Kiviat process is killed, because no further command may follow."""
    kiviat = start(toolchain, stub, tmp_path / "run", "yes")
    kiviat.kill()
    kiviat.wait()
    wait_until(lambda: processes.orphans() == [])
    clean_dead()


def test_files_are_ours_only_if_they_are_new_and_unused(openmpi: Toolchain, tmp_path: Path) -> None:
    name = f"vader_segment.kiviat-test.{os.getpid()}"
    old, new, used = (SHARED_MEMORY / f"{name}.{number}" for number in range(3))
    other = SHARED_MEMORY / f"kiviat-test.{os.getpid()}"
    try:
        old.touch()
        journal = LeftoverJournal.open(Marker.new(), openmpi.vendor)
        for path in (new, used, other):
            path.touch()
        with subprocess.Popen(["sleep", "60"], stdin=used.open()) as sleeper:
            assert journal.close() == [new]
            sleeper.kill()
        assert [path.exists() for path in (old, new, used, other)] == [True, False, True, True]
    finally:
        for path in (old, new, used, other):
            path.unlink(missing_ok=True)


def test_files_of_others_stay(openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of other users are not removed, even by root."""
    path = SHARED_MEMORY / f"vader_segment.kiviat-test.{os.getpid()}.9"
    journal = LeftoverJournal.open(Marker.new(), openmpi.vendor)
    path.touch()
    try:
        monkeypatch.setattr("kiviat.launch.mpi.leftovers.os.getuid", lambda: os.geteuid() + 1)
        assert path not in journal.close()
        assert path.exists()
    finally:
        path.unlink(missing_ok=True)


def test_session_folders_of_open_mpi(
    openmpi: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Session folders of Open MPI are removed; their names contain the process number of their mpiexec."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    parent = tmp_path / "tmp" / "ompi.here.0"
    parent.mkdir(parents=True)
    journal = LeftoverJournal.open(Marker.new(), openmpi.vendor)
    with subprocess.Popen(["sleep", "60"]) as living:
        (parent / f"pid.{living.pid}").mkdir()
        (parent / "pid.4194999").mkdir()
        assert journal.close() == [parent / "pid.4194999"]
        assert (parent / f"pid.{living.pid}").is_dir()
        living.kill()


def test_unreadable_journals_are_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "state/kiviat/launches"
    folder.mkdir(parents=True)
    for number, text in enumerate(("", "[]", "{}", json.dumps({"marker": "x", "family": "openmpi"}))):
        (folder / f"{number}.json").write_text(text)
    assert clean_dead() == []
    for path in folder.iterdir():
        path.unlink()


CUT = """
import resource, signal
from kiviat.launch.mpi.leftovers import LeftoverJournal
from kiviat.launch.process.processes import Marker
from kiviat.launch.mpi.vendors import vendors

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
LeftoverJournal.open(Marker.new(), vendors()["openmpi"])
"""


def test_journals_are_written_atomically(tmp_path: Path) -> None:
    """Journals are written atomically.

    A process killed while writing once left half a journal, and its files were never removed.
    """
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    died = subprocess.run([sys.executable, "-c", CUT], env=environment)
    assert died.returncode == -signal.SIGXFSZ
    assert list((tmp_path / "kiviat/launches").glob("*.json")) == []


def test_a_journal_of_another_user_is_not_heeded(openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals of other users are ignored: they could name arbitrary files to remove."""
    journal = LeftoverJournal.open(Marker.new(), openmpi.vendor)
    assert journal.file
    try:
        assert LeftoverJournal.load(journal.file)
        monkeypatch.setattr("kiviat.launch.process.state_folder.os.geteuid", lambda: os.getuid() + 1)
        assert LeftoverJournal.load(journal.file) is None
    finally:
        journal.file.unlink()


def test_a_marker_is_orphaned_only_here_and_only_when_its_kiviat_is_gone() -> None:
    marker = Marker.new()
    assert Marker.parse(str(marker)) == marker
    assert not marker.is_orphaned()
    with subprocess.Popen(["sleep", "60"]) as process:
        process.kill()
        process.wait()
    gone = Marker(marker.host, marker.namespace, process.pid, 1, "x")
    assert gone.is_orphaned()
    reused = Marker(marker.host, marker.namespace, marker.owner, marker.owner_started - 1, "x")
    assert reused.is_orphaned(), "our number, but started at another time"
    assert not Marker("elsewhere", marker.namespace, process.pid, 1, "x").is_orphaned()
    assert not Marker(marker.host, "other", process.pid, 1, "x").is_orphaned()
    renamed = Marker("elsewhere", marker.namespace, process.pid, 1, "x")
    assert renamed.is_orphaned(same_boot=True), "the host was called elsewhere then"
    assert not Marker(marker.host, "other", process.pid, 1, "x").is_orphaned(same_boot=True)
    assert Marker.parse("nonsense") is None


def without_descriptors(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the system one that has no descriptors of processes."""
    if kernel == "with Conda's Python":
        monkeypatch.delattr(os, "pidfd_open")
    elif kernel != "new":
        code = errno.ENOSYS if kernel == "before 5.3" else errno.EPERM
        monkeypatch.setattr(os, "pidfd_open", Mock(side_effect=OSError(code, os.strerror(code))))


@pytest.mark.parametrize("kernel", ["new", "before 5.3", "in an old container", "with Conda's Python"])
def test_every_process_of_a_launch_is_ended(
    tmp_path: Path, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every process of a launch is ended: one in another session, one in another session that ignores
    SIGTERM, and one whose parent has ended.
    """
    without_descriptors(kernel, monkeypatch)
    script = "setsid sleep 60 & setsid sh -c 'trap \"\" TERM; sleep 61; sleep 61' & (sleep 62 &) ; sleep 63"
    execution = Execution(["sh", "-c", script], {}, tmp_path, Marker.new())
    wait_until(lambda: len(processes.of_launch(execution.marker)) == 6)
    stranger = subprocess.Popen(["sleep", "64"])
    try:
        execution.end()
        assert processes.of_launch(execution.marker) == []
        assert stranger.poll() is None, "processes of others must not be ended"
    finally:
        stranger.send_signal(signal.SIGKILL)
        stranger.wait()


@pytest.mark.parametrize("kernel", ["new", "before 5.3"])
def test_the_end_of_a_launch_is_noticed(tmp_path: Path, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a launch is noticed at once, not at the next poll, 0.1 s later on average."""
    without_descriptors(kernel, monkeypatch)
    begin = time.monotonic()
    execution = Execution(["sh", "-c", "sleep 2; exit 3"], {}, tmp_path, Marker.new())
    assert execution.wait(0.01) is None
    assert execution.wait(20 if kernel == "new" else 4) == 3
    assert time.monotonic() - begin < 10
    assert execution.end() == 3


def test_the_launcher_is_signalled_before_the_ranks(tmp_path: Path) -> None:
    """The launcher is signalled before the ranks, because only it can end the ranks on other nodes."""
    script = f"trap 'touch {tmp_path}/asked; exit 0' TERM; touch {tmp_path}/ready; sleep 60 & wait"
    execution = Execution(["sh", "-c", script], {}, tmp_path, Marker.new())
    wait_until((tmp_path / "ready").exists)
    assert execution.end() == 0
    assert (tmp_path / "asked").exists()
