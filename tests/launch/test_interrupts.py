"""Handling of signals: raised as exceptions, or noted for polling within a context."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kiviat.launch.mpi import leftovers
from kiviat.launch.process import children, processes
from kiviat.launch.process.signals import Interrupted, Interruptible, Interrupts
from kiviat.store import lock


def test_the_first_is_raised_and_others_are_not() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted) as raised, Interruptible():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGINT)  # cleanup after the first signal is not interrupted
    assert raised.value.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


def test_within_what_looks_nothing_is_raised() -> None:
    with Interruptible() as outer:
        with Interrupts() as inner:
            signal.raise_signal(signal.SIGHUP)
        assert inner.signal == outer.signal == signal.SIGHUP
        signal.raise_signal(signal.SIGINT)  # the first signal is still being handled


def test_nothing_is_raised_at_rest() -> None:
    with Interruptible() as interrupts:
        interrupts.rest()
        signal.raise_signal(signal.SIGTERM)
    assert interrupts.signal == signal.SIGTERM


def test_signals_in_finalisers_are_raised_afterwards() -> None:
    """A signal that arrives in a finaliser is raised after it.

    Python prints and drops exceptions of finalisers, so the signal would be lost.
    """

    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)
            time.sleep(0)

    with pytest.raises(Interrupted), Interruptible():
        Finalised()
        time.sleep(20)


def test_imports_and_temporary_folders_are_not_cut_in_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports and the creation and removal of temporary folders are not interrupted.

    An interrupted import of DuckDB aborted the process, and temporary folders remained.
    """
    source = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\ndone = True\n"
    (tmp_path / "cut_in_two.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Interrupted), Interruptible():
        importlib.import_module("cut_in_two")
        time.sleep(20)
    assert sys.modules["cut_in_two"].done
    removed = tmp_path / "removed"
    removed.mkdir()
    (removed / "file").touch()
    unlink = os.unlink

    def interrupted(*arguments: Any, **keywords: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        unlink(*arguments, **keywords)

    monkeypatch.setattr(os, "unlink", interrupted)
    with pytest.raises(Interrupted), Interruptible():
        with TemporaryDirectory(dir=removed) as folder:
            (Path(folder) / "file").touch()
        time.sleep(20)
    assert [path.name for path in removed.iterdir()] == ["file"]


def test_a_command_that_takes_too_long_leaves_nothing(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! >{tmp_path}/pid; wait"
    with pytest.raises(subprocess.TimeoutExpired):
        children.run(["sh", "-c", script], timeout_s=0.5)
    assert int((tmp_path / "pid").read_text()) not in processes.our_processes()


def test_a_command_reads_and_says() -> None:
    words = ["sh", "-c", "cat; echo $NAME >&2; exit 3"]
    done = children.run(words, text="a", environment={**os.environ, "NAME": "b"})
    assert (done.returncode, done.stdout, done.stderr) == (3, "a", "b\n")
    assert children.run(["cat"]).stdout == ""


def test_a_process_whose_name_is_cut_within_a_character_is_found(tmp_path: Path) -> None:
    """Linux keeps 15 bytes of a name, here the first byte of ü; reading them once ended every run."""
    program = tmp_path / "vierzehnbytes_ü"
    shutil.copy("/bin/sleep", program)
    process = subprocess.Popen([program, "60"])
    try:
        while program.name[:14].encode() not in Path(f"/proc/{process.pid}/comm").read_bytes():
            time.sleep(0.01)
        assert process.pid in list(processes.our_processes())
        assert not leftovers._uses(process.pid, ["sleep"], Path("/absent"))
        assert any(name.endswith(program.name) for name in processes.mapped(process.pid))
        assert lock._start(process.pid)
    finally:
        process.kill()
        process.wait()
