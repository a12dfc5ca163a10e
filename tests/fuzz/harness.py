"""Runs one reader on one input and checks how it ends.

A reader must succeed, or refuse the input in one line (InputError, exit code 2). Everything else is a
finding: a traceback, the word "unexpected", more than `LIMIT_S` seconds of processor time, `LONGEST_S`
seconds in all or `MOST_BYTES` bytes, a started process, a file written, moved or removed outside of the
reader's folder, an escape sequence on the terminal.
"""

from __future__ import annotations

import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from typing import Any

from kiviat.cli.main import main
from kiviat.record import InputError

Reader = Callable[[Path], None]

LIMIT_S = 10.0
LONGEST_S = 120.0  # a reader beside other work is slow, one that waits for something never ends
MOST_BYTES = 600 << 20  # in addition to the memory that the process used before
_MOST_ADDRESSES = 8 << 30
_ESCAPES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_PROCESSES = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.forkpty",
)
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto")
_CHANGES = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.chmod",
    "os.chown",
    "os.truncate",
)
_SIMULATOR = shutil.which("smpicxx")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Hang(BaseException):
    """A reader exceeded its time limit."""


class Watch:
    """Records forbidden actions of a reader. Python cannot remove an audit hook, so all readers share one."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.seen: list[str] = []
        self._hooked = False

    @contextmanager
    def over(self, folder: Path) -> Iterator[list[str]]:
        """Yield a list to which forbidden actions are appended while the context is open."""
        if not self._hooked:
            sys.addaudithook(self._heard)
            self._hooked = True
        self.folder, self.seen = folder.resolve(), []
        try:
            yield self.seen
        finally:
            self.folder = None

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "subprocess.Popen" and arguments[0] == _SIMULATOR:
            raise PermissionError("`kiviat model fit` asks for the simulator; here it finds none")
        if self._is_forbidden(event, arguments):
            self.seen.append(f"{event} {arguments[:2]!a}")
            raise PermissionError(f"{event} while an input is read")

    def _is_forbidden(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            path, mode, flags = arguments
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or flags & _WRITING
            return bool(writes) and not self._is_own(path)
        if event in _CHANGES:
            return not all(map(self._is_own, arguments[: 1 + (event == "os.rename")]))
        return event in _PROCESSES or event in _NETWORK

    def _is_own(self, path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a descriptor; opening it was already checked
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 (Path.resolve would open what it resolves)
        temporary = f"{tempfile.gettempdir()}/"
        within = name.startswith((f"{self.folder}/", temporary, "/dev/fd/", "/proc/self/"))
        known = (str(self.folder), os.devnull, "/dev/full", temporary.rstrip("/"))
        return within or name in known or "__pycache__" in name


_watch = Watch()


def command(*words: str) -> Reader:
    """Return a reader that runs `kiviat` with these arguments in its folder."""

    def read(folder: Path) -> None:
        with chdir(folder):
            run(*words)

    return read


def function(read: Callable[[Path], object]) -> Reader:
    """Return a reader that calls a function, which must refuse bad input by an InputError of one line."""

    def reader(folder: Path) -> None:
        try:
            with chdir(folder):
                read(folder)
        except InputError as refusal:
            words = str(refusal)
            assert words and len(words.splitlines()) == 1, f"refused with {words[:200]!r}"

    return reader


def run(*words: str) -> int:
    """Run a command in this process, check its output, and return its exit code."""
    # Like a terminal, the output accepts UTF-8 only; other characters would raise an exception.
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as end:  # raised by argparse
            status = end.code if isinstance(end.code, int) else 1
        out.flush()
        err.flush()
    printed, said = (stream.buffer.getvalue().decode() for stream in (out, err))
    about = f"kiviat {' '.join(words)[:300]!a} → {status}: {said[:300]!a}"
    assert status in (0, 1, 2), about
    assert "unexpected" not in said, about
    assert "Traceback" not in said, about
    lines = said.splitlines()
    assert "Warning" not in said, about
    assert not status or all(line.startswith("kiviat: ") for line in lines), about
    assert lines or printed or status != 2, about  # `compare` without a verdict prints its table only
    for text in (printed, said):
        found = _ESCAPES.search(text)
        assert not found, f"{about}: prints {found and found[0]!a}: {printed[:300]!a}"
    return status


def wrong(read: Reader, folder: Path) -> str | None:
    """Run a reader on the files in `folder`; return a description of the failure, or None."""
    before, why = _occupied(), None
    _forget_peak()
    with _watch.over(folder) as seen, _limited():
        try:
            read(folder)
        except (Exception, Hang) as error:
            why = f"{type(error).__name__}: {error}; {_place(error)}"
    if seen:
        return f"it did what no reader does: {'; '.join(seen[:3])}"
    more = _peak() - before
    return why or (f"it took {more >> 20} MiB of memory" if more > MOST_BYTES else None)


@contextmanager
def _limited() -> Iterator[None]:
    """Limit time and address space, so that a decompression bomb raises MemoryError instead of swapping."""

    passed_s = count(1)  # a process that is stopped, for a measurement beside it, gets one tick only

    def computed(*_: object) -> None:
        raise Hang(f"it took more than {LIMIT_S:g} s of processor time")

    def tick(*_: object) -> None:
        if next(passed_s) >= LONGEST_S:
            raise Hang(f"it took more than {LONGEST_S:g} s")

    limits = resource.getrlimit(resource.RLIMIT_AS)
    former = {signal.SIGPROF: signal.signal(signal.SIGPROF, computed)}
    former[signal.SIGALRM] = signal.signal(signal.SIGALRM, tick)
    resource.setrlimit(resource.RLIMIT_AS, (_addresses() + _MOST_ADDRESSES, limits[1]))
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        for number, action in former.items():
            signal.signal(number, action)


def _place(error: BaseException) -> str:
    at = error.__traceback__
    places = []
    while at:
        places.append(f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}")
        at = at.tb_next
    return " ".join(places[-4:])


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _occupied() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0
