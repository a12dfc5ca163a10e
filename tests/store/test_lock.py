"""The lock of a run's writer.

If two processes started at the same moment, both once wrote the run in 62 of 300 cases.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from kiviat.record import InputError
from kiviat.store import RunDirectory, directory, forget_writer
from kiviat.store.lock import WRITER, Writer, has_living_writer, lock, unlock
from tests.store.made_up import PLAN

_FORK = multiprocessing.get_context("fork")
_PROCESSES, _TRIES = 4, 100


def none(*paths: Path) -> None:
    """Leave no lock."""


def dead(*paths: Path) -> None:
    """Leave the lock of a writer that died."""

    def die() -> None:
        for path in paths:
            lock(path)
        os._exit(0)

    in_another(die)


def dead_of_an_older_version(*paths: Path) -> None:
    for path in paths:
        (path / WRITER).write_text(json.dumps({"host": socket.gethostname(), "pid": 1 << 30, "start": "1"}))


def dead_at_once(*paths: Path) -> None:
    """Leave the lock file of an older version that was killed before it wrote its process number."""
    for path in paths:
        (path / WRITER).touch()


def in_another(do: Callable[[], None]) -> None:
    process = _FORK.Process(target=do)
    process.start()
    process.join()


def is_let_in(path: Path) -> bool:
    try:
        lock(path)
    except InputError as error:
        assert "writ" in str(error)
        return False
    return True


def tries(folder: Path, together: Barrier, said: Connection) -> None:
    for number in range(_TRIES):
        together.wait()
        said.send(is_let_in(folder / str(number)))
    together.wait()  # all processes live until then


@pytest.mark.parametrize("before", [none, dead, dead_of_an_older_version, dead_at_once])
def test_one_of_many_that_come_at_the_same_moment_is_let_in(
    tmp_path: Path, before: Callable[..., None]
) -> None:
    paths = [tmp_path / str(number) for number in range(_TRIES)]
    for path in paths:
        path.mkdir()
    before(*paths)
    together = _FORK.Barrier(_PROCESSES, timeout=60)
    pipes = [_FORK.Pipe(duplex=False) for _ in range(_PROCESSES)]
    all_of_them = [_FORK.Process(target=tries, args=(tmp_path, together, said)) for _, said in pipes]
    for process in all_of_them:
        process.start()
    let_in = Counter(sum(heard.poll(60) and heard.recv() for heard, _ in pipes) for _ in range(_TRIES))
    for process in all_of_them:
        process.join()
    assert let_in == {1: _TRIES}


def test_a_lock_is_removed_by_its_writer_alone(tmp_path: Path) -> None:
    """Only its own writer removes a lock.

    Here the first writer was stopped and considered dead, and ends after a second one has started.
    """
    first = lock(tmp_path)
    unlock(tmp_path, first)
    second = lock(tmp_path)
    unlock(tmp_path, first)
    assert has_living_writer(tmp_path)
    unlock(tmp_path, second)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["touch", "rename", "unlink"])
def test_a_process_killed_between_two_steps_keeps_no_other_out(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(tmp_path)

    def killed() -> None:
        monkeypatch.setattr(Path, step, lambda *arguments, **more: os._exit(0))
        lock(tmp_path)

    in_another(killed)
    assert list(tmp_path.glob(".writer-*"))
    unlock(tmp_path, lock(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_another_container_cannot_be_judged(tmp_path: Path) -> None:
    """A lock of another container is respected.

    Containers may share a host name but not process numbers.
    """
    elsewhere = Writer(socket.gethostname(), "7", 1 << 30, "1", "slurm:12", "abc")
    (tmp_path / WRITER).mkdir()
    (tmp_path / WRITER / elsewhere.name).touch()
    with pytest.raises(InputError, match=rf"process {1 << 30} on .*, job slurm:12; if that process is gone"):
        lock(tmp_path)
    forget_writer(tmp_path, "slurm:1")
    forget_writer(tmp_path, "")
    assert has_living_writer(tmp_path)
    forget_writer(tmp_path, "slurm:12")
    unlock(tmp_path, lock(tmp_path, "slurm:12"))


def test_a_living_writer_is_not_forgotten(tmp_path: Path) -> None:
    lock(tmp_path, "slurm:12")
    forget_writer(tmp_path, "slurm:12")
    assert has_living_writer(tmp_path)


def test_what_is_no_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / WRITER).mkdir()
    (tmp_path / WRITER / "notes").touch()
    with pytest.raises(InputError, match=r"writer holds 'notes', which is not a lock of kiviat's; delete it"):
        lock(tmp_path)


def test_a_run_that_another_has_just_finished_is_not_written_again(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is read again once locked, because another process may have finished it in between.

    Otherwise its records would be lost.
    """

    def late(path: Path, job: str) -> Writer:
        run.finish()
        run.close()
        return lock(path, job)

    monkeypatch.setattr(directory, "lock", late)
    with pytest.raises(InputError, match="is complete; there is nothing to resume"):
        RunDirectory.reopen(run.path, PLAN["hash"])
    assert json.loads((run.path / "run.json").read_text())["state"] == "complete"


def test_a_pipe_is_no_lock(run: RunDirectory) -> None:
    """A pipe named like a lock file of earlier versions is ignored, and never read."""
    run.close()
    os.mkfifo(run.path / WRITER)
    assert not has_living_writer(run.path)
