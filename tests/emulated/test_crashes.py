"""Whichever process is killed at whatever time, the next command removes its remains, and nothing else."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.emulated import commands, journal
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.removal import clean_dead
from kiviat.launch.emulated.spec import Spec
from kiviat.launch.mpi.build import PROGRAM, build
from kiviat.launch.mpi.leftovers import LeftoverJournal
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.process import processes
from kiviat.launch.process.execution import Execution
from kiviat.launch.process.processes import Marker

from .conftest import cleaned, in_child, system, wait_until
from .test_mpi import command

# Moments of the kill after the cluster's first file appears; creation and removal together take about 0.1 s.
MOMENTS_S = [0.003, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15]


@pytest.mark.parametrize(
    ("moment_s", "delay_s"),
    [*((moment_s, None) for moment_s in MOMENTS_S), *((moment_s, 1.0) for moment_s in MOMENTS_S[1::2])],
)
def test_killed_while_creating_or_removing_a_cluster(
    state: Path, moment_s: float, delay_s: float | None
) -> None:
    """A process killed while it creates or removes a cluster leaves no remains after clean_dead(), and other
    clusters keep working.

    With a delay, the cluster may have a forwarding program that has no marker.
    """

    def up_and_down() -> None:
        while True:
            Cluster.up(Spec(3, 1, 10**8, delay_s)).down()

    with Cluster.up(Spec(1, 1), "other") as other:
        child = in_child(up_and_down)
        wait_until(lambda: len(list(state.iterdir())) > 1)
        time.sleep(moment_s)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        clean_dead()
        assert [folder.name for folder in state.iterdir()] == ["other"]
        assert subprocess.run([*other.entering("n1"), "true"]).returncode == 0
        assert cleaned() == []


def test_killed_at_any_step_of_its_removal(state: Path) -> None:
    """A process killed at any step of removing a cluster leaves a journal as long as any other part exists,
    so the rest can be removed.
    """

    def removed_but_for(steps: int) -> None:
        cluster = Cluster.up(Spec(1, 1), "falling")
        done = itertools.count()

        def die(event: str, _: object) -> None:
            if event in ("os.remove", "os.rmdir") and next(done) == steps:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die)
        cluster.down()

    for steps in itertools.count():
        child = in_child(partial(removed_but_for, steps))
        _, status = os.waitpid(child, 0)
        clean_dead()
        assert list(state.iterdir()) == [], steps
        if os.WIFEXITED(status):
            break
    assert steps > 8


def test_children_of_a_killed_kiviat_are_ended(state: Path) -> None:
    """Child processes of a killed Kiviat process are ended, because they could continue to create the cluster
    that is being removed.
    """
    cluster = Cluster.planned(Spec(1, 1), "half")

    def act() -> None:
        marker = Marker.new()
        noted = journal.claim("half", cluster.spec, marker)
        commands.run(["sh", "-c", "setsid sleep 60 & echo $! >began; wait"], marker, folder=noted.folder)

    child = in_child(act)
    wait_until(lambda: (cluster.folder / "began").exists() and (cluster.folder / "began").read_text())
    sleeper = int((cluster.folder / "began").read_text())
    wait_until(lambda: Path(f"/proc/{sleeper}/comm").read_text() == "sleep\n")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert Path(f"/proc/{sleeper}/comm").read_text() == "sleep\n"
    assert "removed emulated cluster half (1x1), whose kiviat process has ended" in clean_dead()
    assert sleeper not in processes.our_processes()
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("victim", ["kiviat", "kiviat and mpiexec", "kiviat and a rank"])
def test_killed_while_ranks_run(
    toolchain: Toolchain, exchange: Callable[[Toolchain], Path], state: Path, tmp_path: Path, victim: str
) -> None:
    folder = tmp_path / "launch"
    folder.mkdir()

    def act() -> None:
        with Cluster.up(Spec(2, 2), "run") as cluster:
            words, environment = command(
                cluster, toolchain, 4, "blocked", folder, exchange(toolchain), 0, 1, -1
            )
            marker = Marker.new()
            LeftoverJournal.open(marker, toolchain.vendor)
            Execution(words, environment, folder, marker)
            while True:  # a signal just before pause() would be missed
                time.sleep(0.05)

    program = str(exchange(toolchain).resolve())
    child = in_child(act)
    wait_until(lambda: (folder / "stdout").exists() and (folder / "stdout").read_text().count("\n") == 4)
    ranks = [pid for pid in processes.our_processes() if program in processes.mapped(pid)]
    assert len(ranks) == 4
    assert cleaned() == [] and all(program in processes.mapped(pid) for pid in ranks), "its kiviat lives"
    victims = [child]
    if victim == "kiviat and a rank":
        victims.append(ranks[0])
    elif victim == "kiviat and mpiexec":
        victims += map(int, Path(f"/proc/{child}/task/{child}/children").read_text().split())
    for pid in victims:
        with suppress(ProcessLookupError):  # the death of the first may already have ended it
            os.kill(pid, signal.SIGKILL)
    os.waitpid(child, 0)
    assert "removed emulated cluster run (2x2), whose kiviat process has ended" in clean_dead()
    assert not any(program in processes.mapped(pid) for pid in ranks)
    assert list(state.iterdir()) == []


@pytest.mark.full
def test_after_twenty_crashes_nothing_is_left(toolchain: Toolchain, state: Path, tmp_path: Path) -> None:
    """After kills of Kiviat, launchers and ranks at random moments of twenty runs, nothing is left once the
    next command has run.

    If Kiviat survives, it cleans up after the killed launcher or rank and continues.
    """
    build(toolchain)
    chance = random.Random(f"crashes {toolchain.family}")
    before = system(tmp_path)
    for crash in range(20):
        what = ["allreduce", "-m", "8", "--budget", "0.2", "--launches", "2"]
        where = ["--on", "emulated:2x2,rate=1Gbit", "--mpi", str(toolchain.mpicxx)]
        run = subprocess.Popen(
            [sys.executable, "-m", "kiviat.cli.main", "run", *what, *where, "-o", str(tmp_path / f"{crash}")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda run=run: any(state.glob("*")) or run.poll() is not None)
        time.sleep(chance.uniform(0, 4))
        victim = chance.choice(["kiviat", "launcher", "rank", "all three"])
        for pid in _victims(run.pid, victim):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        run.wait(120)
        assert main(["cluster", "status"]) == 0
        assert list(state.iterdir()) == [], (crash, victim)
        assert system(tmp_path) == before, (crash, victim)


def _victims(kiviat: int, victim: str) -> list[int]:
    """Return the processes to kill; Kiviat itself if the intended process does not exist yet."""
    started = {
        pid: name
        for pid in processes.our_processes()
        if (marker := processes.marker_of(pid)) and marker.owner == kiviat and (name := _name(pid))
    }
    ranks = [pid for pid, name in started.items() if name == PROGRAM]
    launchers = [pid for pid, name in started.items() if name.startswith(("mpiexec", "mpirun", "orterun"))]
    if victim == "all three":
        return [kiviat, *launchers, *ranks[:1]]
    return {"launcher": launchers[:1], "rank": ranks[-1:]}.get(victim) or [kiviat]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_a_folder_without_a_journal_is_removed(state: Path) -> None:
    """A cluster folder without a journal is removed: its Kiviat process died before it created more."""
    (state / "early").mkdir(parents=True)
    (state / "drafted").mkdir()
    (state / "drafted/cluster.json.new").write_text('{"name": ')
    assert cleaned() == []
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\0" * 200, b'{"name": "lab",'])
def test_a_cluster_whose_journal_was_lost_is_removed(state: Path, content: bytes) -> None:
    """After a power failure the journal could be empty; the cluster was then neither usable nor removable."""
    folder = Cluster.up(Spec(1, 1), "lab", kept=True).folder
    (folder / "cluster.json").write_bytes(content)
    assert cleaned() == ["removed emulated cluster lab, whose journal is damaged"]
    assert list(state.iterdir()) == []


def test_a_journal_of_another_version_is_left_alone(state: Path) -> None:
    (state / "lab").mkdir(parents=True)
    file = state / "lab/cluster.json"
    file.write_text('{"format": 2}')
    assert cleaned() == []
    file.unlink()
    file.parent.rmdir()


def test_a_journal_is_on_the_disk_before_it_gets_its_name(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda handle: synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
    )
    noted = journal.claim("lab", Spec(1, 1), Marker.new())
    assert synced == ["cluster.json.new"]
    journal.remove_folder(noted.folder)
    assert list(state.iterdir()) == []


def test_clusters_of_other_machines_are_left_alone(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals of other hosts, found in a shared home directory, are left alone."""
    cluster = Cluster.up(Spec(1, 1), "lab", kept=True)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("socket.gethostname", lambda: "another")
        elsewhere.setattr(journal, "boot", lambda: "another")
        assert cleaned() == []
    cluster.down()
