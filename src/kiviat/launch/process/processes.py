"""Finds and ends every process of a launch.

Ranks are not always children of mpiexec, nor in its session (Hydra's proxies start their own sessions). So
each launch has a marker in its environment, which all descendants inherit. The marker names the kiviat
process that started the launch, so that a later one recognises ranks of a dead one. Processes are ended by
their number, never by their name.
"""

from __future__ import annotations

import os
import signal
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "KIVIAT_LAUNCH"
_PROC = Path("/proc")
_POLL_S = 0.02


@dataclass(frozen=True)
class Marker:
    """Marker of a launch. `host` and `namespace` tell whether `owner` is a process number valid here."""

    host: str
    namespace: str
    owner: int
    owner_started: int
    launch: str

    @classmethod
    def new(cls) -> Marker:
        """Return a marker of this process for one more launch."""
        pid = os.getpid()
        return cls(socket.gethostname(), _namespace(), pid, _started(pid) or 0, uuid.uuid4().hex)

    @classmethod
    def parse(cls, text: str) -> Marker | None:
        """Return the marker that str() has written; None for other text."""
        words = text.split("/")
        try:
            return cls(words[0], words[1], int(words[2]), int(words[3]), words[4])
        except (IndexError, ValueError):
            return None

    def __str__(self) -> str:
        return f"{self.host}/{self.namespace}/{self.owner}/{self.owner_started}/{self.launch}"

    def is_here(self, same_boot: bool = False) -> bool:
        """True if the marker's kiviat ran on this host and in this process namespace.

        `same_boot`: this kernel is known to be the marker's, whatever the host was called then.
        """
        return (same_boot or self.host == socket.gethostname()) and self.namespace == _namespace()

    def is_orphaned(self, same_boot: bool = False) -> bool:
        """True if the marker's kiviat ran here and has ended; another process may have its number now."""
        return self.is_here(same_boot) and (
            _is_zombie(self.owner) or _started(self.owner) != self.owner_started
        )


def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").stat().st_ino)
    except OSError:
        return "0"


def _status(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if the process is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _started(pid: int) -> int | None:
    status = _status(pid)
    return int(status[19]) if status else None


def _is_zombie(pid: int) -> bool:
    return _status(pid)[:1] == ["Z"]


def session_of(pid: int) -> int | None:
    """Return the session of a process; None if the process is gone."""
    status = _status(pid)
    return int(status[3]) if status else None


def our_processes() -> Iterator[int]:
    """Yield the processes of this user, except zombies and this process."""
    user = os.getuid()
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if (
                    entry.stat().st_uid == user
                    and int(entry.name) != os.getpid()
                    and not _is_zombie(int(entry.name))
                ):
                    yield int(entry.name)


def marker_of(pid: int) -> Marker | None:
    """Return the marker in a process's environment; None if it has none or may not be read."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    start = VARIABLE.encode() + b"="
    for variable in environment.split(b"\0"):
        if variable.startswith(start):
            return Marker.parse(variable[len(start) :].decode(errors="replace"))
    return None


def mapped(pid: int) -> set[str]:
    """Return the files that a process has mapped; empty if it is gone."""
    try:
        lines = (_PROC / str(pid) / "maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return set()
    return {line.split(None, 5)[5] for line in lines if line.count("/")}


def of_launch(marker: Marker, session: int | None = None) -> list[int]:
    """Return the living processes of a launch, found by its marker or by the session of its mpiexec."""
    return [
        pid
        for pid in our_processes()
        if marker_of(pid) == marker or (session is not None and session_of(pid) == session)
    ]


def orphans() -> list[int]:
    """Return the living processes of launches whose kiviat is dead."""
    return [pid for pid in our_processes() if (marker := marker_of(pid)) and marker.is_orphaned()]


def end_all(find: Callable[[], list[int]], grace_s: float = 0.0, limit_s: float = 10.0) -> list[int]:
    """End the processes that `find` returns until it returns none; SIGKILL after the grace period.

    Return those that could not be ended, such as processes that hang in the kernel.
    """
    start = time.monotonic()
    while (left := find()) and time.monotonic() < start + limit_s:
        if time.monotonic() >= start + grace_s:
            for pid in left:
                _kill(pid, lambda pid: pid in find())
        time.sleep(_POLL_S)
    return left


def descriptor_of(pid: int) -> int | None:
    """Return a descriptor of a process, which becomes readable when it exits.

    None before Linux 5.3, in old containers, and in Conda's Python, which have no such descriptors. Raise
    ProcessLookupError if the process is gone.
    """
    pidfd_open = getattr(os, "pidfd_open", None)
    try:
        return None if pidfd_open is None else int(pidfd_open(pid))
    except ProcessLookupError:
        raise
    except OSError:
        return None


def _kill(pid: int, still_meant: Callable[[int], bool]) -> None:
    """Kill a process, unless its number has been reused.

    A descriptor is opened before `still_meant` checks the process again; from then on the number cannot be
    reused.
    """
    with suppress(ProcessLookupError):
        descriptor = descriptor_of(pid)
        if descriptor is None:
            os.kill(pid, signal.SIGKILL)
            return
        try:
            if still_meant(pid):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
