"""One writer per run, without file locks: NFS and Lustre do not all have them.

The file `writer` is created with O_EXCL and names host, process and the process's start, so that the
file of a writer that died is told from that of a living one.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from kiviat.record import InputError

WRITER_FILE = "writer"


def lock(path: Path) -> None:
    """Makes this process the writer of the run, or raises InputError."""
    file = path / WRITER_FILE
    for _ in range(2):
        try:
            handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            _refuse_living(file)
            file.unlink(missing_ok=True)
            continue
        with os.fdopen(handle, "w") as stream:
            json.dump(_describe(os.getpid()), stream)
        return
    raise InputError(f"another process has just begun to write {path}; wait until it has finished")


def unlock(path: Path) -> None:
    (path / WRITER_FILE).unlink(missing_ok=True)


def forget_writer(path: Path) -> None:
    """For those who know that the last writer is gone, wherever it ran."""
    (path / WRITER_FILE).unlink(missing_ok=True)


def has_living_writer(path: Path) -> bool:
    """Whether somebody writes the run, as far as that can be seen from here."""
    try:
        _refuse_living(path / WRITER_FILE)
    except InputError:
        return True
    return False


def _refuse_living(file: Path) -> None:
    try:
        writer = json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return
    host, pid = writer.get("host"), writer.get("pid")
    if host != socket.gethostname():
        raise InputError(
            f"{file.parent} is being written by process {pid} on {host}; "
            f"if that process is gone, delete {file} and try again"
        )
    if writer == _describe(pid):
        raise InputError(f"{file.parent} is being written by process {pid}; wait until it has finished")


def _describe(pid: int) -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": pid, "start": _start(pid)}


def _start(pid: int) -> str | None:
    """When the process started, in clock ticks since boot; None if it is gone."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state == "Z" else rest[18]
