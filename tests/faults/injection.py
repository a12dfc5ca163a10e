"""Fault injection: each fault changes the environment of a trial and returns a function that undoes the
change.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from . import world

Undo = Callable[[], None]


def send(pids: list[int], name: str, group: bool = False) -> None:
    number = signal.Signals[f"SIG{name}"]
    for pid in pids:
        with suppress(ProcessLookupError):
            if group:
                os.killpg(pid, number)
            else:
                os.kill(pid, number)


def nothing() -> None:
    """Undo function of faults that need no undoing."""


def disturb(kind: str, folder: Path | None, disk: Path) -> Undo | None:
    """Inject a fault into files and folders; `disk` is the file system that the command writes to.

    Return the undo function, or None if the affected file or folder does not exist yet.
    """
    if kind.startswith("folder") and not (folder and folder.exists()):
        return None
    if kind == "disk full":
        return _fill(disk)
    if kind == "read-only":
        world.mount("--bind", str(disk), str(disk))
        world.mount("-o", "remount,bind,ro", str(disk))
        return lambda: world.unmount(disk)
    if kind == "folder moved" and folder:
        folder.rename(folder.with_name(f"{folder.name}.moved"))
    elif kind == "folder removed" and folder:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)  # again, for files written during the first removal
    elif kind == "TMPDIR removed":
        return _remove(world.TEMPORARY)
    elif kind == "cwd removed":
        return _remove(world.WORK)
    elif kind.startswith("clock"):
        world.step_clock(86400 if kind == "clock forward" else -86400)
    return nothing


def _fill(disk: Path) -> Undo:
    ballast = disk / "ballast"
    room = os.statvfs(disk)
    with ballast.open("wb") as file:
        with suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize)
        with suppress(OSError):  # also fills space that was freed meanwhile
            while True:
                os.write(file.fileno(), bytes(room.f_frsize))
    return ballast.unlink


def _remove(folder: Path) -> Undo:
    shutil.rmtree(folder, ignore_errors=True)
    return lambda: folder.mkdir(exist_ok=True)
