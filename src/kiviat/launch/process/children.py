"""Programs that kiviat starts for itself, such as compilers: none outlives it, however kiviat ends.

Each program has its own session, so that Ctrl-C reaches kiviat only, which then ends the whole session. If
kiviat is killed, the kernel signals the program, and a helper process (`Sentinel`) ends the rest of the
session.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from kiviat.launch.process import processes

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
# Time for a program to remove its own temporary files.
_GRACE_S = 2.0
_LOOK_S = 0.01


def tied(number: int = signal.SIGTERM, session: bool = False) -> Callable[[], None]:
    """Return a `preexec_fn`: the program gets this signal when kiviat, or the thread that started it, ends.

    `session`: the sentinel then ends the program's own session, too.
    """
    parent = os.getpid()

    def tie() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, number)
        if session:
            _tell_sentinel(f"+{os.getpid()}")
        if os.getppid() != parent:
            os._exit(1)

    return tie


def run(
    words: Sequence[str | Path],
    *,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output: IO[str] | int = subprocess.PIPE,
    errors: int = subprocess.PIPE,
    inherits: bool = False,
    timeout_s: float | None = None,
    tie: int = signal.SIGTERM,
) -> subprocess.CompletedProcess[str]:
    """Like subprocess.run, but no process survives an interrupt or a timeout.

    Output is captured unless `output` is given. The program reads `text`, or nothing; if it `inherits`, it
    uses kiviat's own streams.
    """
    stdin = subprocess.DEVNULL if text is None else subprocess.PIPE
    streams: tuple[IO[str] | int | None, ...] = (None, None, None) if inherits else (stdin, output, errors)
    child = subprocess.Popen(
        words,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        text=True,
        errors="replace",
        cwd=folder,
        env=environment,
        start_new_session=True,
        preexec_fn=tied(tie, session=True),
    )
    with child:
        try:
            said = child.communicate(text, timeout_s)
        except BaseException:
            end_session(child.pid)
            raise
        finally:
            _tell_sentinel(f"-{child.pid}")
    return subprocess.CompletedProcess(child.args, child.returncode, *said)


def end_session(session: int) -> None:
    """Terminate the processes of a session; kill those that have not ended after a while."""

    def living() -> list[int]:
        return [pid for pid in processes.our_processes() if processes.session_of(pid) == session]

    for pid in living():
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
    processes.end_all(living, _GRACE_S)


class Sentinel:
    """A process that waits for the end of kiviat, then ends programs' sessions and calls `clean`.

    It is started before there are threads, and dismissed when kiviat ends by itself. Then it ends programs
    that a signal left behind while they were being started; run() ends all others.
    """

    def __init__(self, clean: Callable[[], object]) -> None:
        self._clean = clean
        self._pid: int | None = None

    def begin(self) -> None:
        """Fork the process. It notices kiviat's end by a pipe, which the kernel closes."""
        global _to_sentinel
        told, _to_sentinel = os.pipe()  # the sentinel reads until kiviat's end closes
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _watch(told, parent, self._clean)
        os.close(told)

    def dismiss(self) -> None:
        """End the sentinel and the programs that are left, even if begin() was interrupted."""
        global _to_sentinel  # noqa: PLW0603 (there is one sentinel for the process)
        _tell_sentinel(".")
        if _to_sentinel is not None:
            os.close(_to_sentinel)
            _to_sentinel = None
        if self._pid is not None:
            with suppress(OSError):
                os.waitpid(self._pid, 0)


_to_sentinel: int | None = None


def _tell_sentinel(line: str) -> None:
    if _to_sentinel is not None:
        with suppress(OSError):
            os.write(_to_sentinel, f"{line}\n".encode())


def _watch(told: int, parent: int, clean: Callable[[], object]) -> None:
    """Loop of the sentinel process; never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        for descriptor in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
            if descriptor > 2 and descriptor != told:
                with suppress(OSError):
                    os.close(descriptor)
        sessions = set[int]()
        dismissed = False
        with os.fdopen(told) as lines:
            for line in lines:
                if dismissed := line.startswith("."):
                    break
                (sessions.add if line[0] == "+" else sessions.discard)(int(line[1:]))
        while not dismissed and os.getppid() == parent:  # its files are closed, so it is about to end
            time.sleep(_LOOK_S)
        for session in sessions:
            end_session(session)
        if not dismissed:
            clean()
    finally:
        os._exit(0)
