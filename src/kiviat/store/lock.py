"""One writer per run, without file locks, which not every NFS or Lustre has.

The folder `writer` contains one empty file. Its name describes the writer: host, process, and the process's
start, which distinguishes dead writers from living ones, and a number that no other lock has.

- A lock appears whole: a folder that already contains the file is renamed to `writer`. Renaming succeeds only
while `writer` is missing or empty, so exactly one of several processes succeeds. - A lock is released by
removing the file of exactly that name: by its writer, or by a process that found the writer dead. A process
that does this late, after the lock has been replaced, removes nothing, because the new lock has another name.
- An empty `writer` is not a lock. Any process may remove or replace it at any time.

So every step is safe whatever happened since the previous one, and a process that dies between two steps
leaves nothing that locks others out.
"""

from __future__ import annotations

import errno
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from kiviat.record import InputError
from kiviat.record.files import read_text
from kiviat.record.valid import parse_json

WRITER = "writer"
_ASIDE = ".writer-"
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_MOST_TRIES = 100


@dataclass(frozen=True)
class Writer:
    """A process that writes a run.

    `ns`: namespace of process numbers to which `pid` belongs; `start`: the process's start in clock ticks
    since boot; `job`: the scheduler's job in which the process runs, or "".
    """

    host: str
    ns: str
    pid: int
    start: str
    job: str
    id: str

    @classmethod
    def parse(cls, name: str) -> Writer:
        """Parse the name of a lock's file. Raise ValueError or TypeError for other names."""
        values = {key: unquote(value) for key, _, value in (part.partition("=") for part in name.split(","))}
        return cls(pid=int(values.pop("pid", "")), **values)

    @property
    def name(self) -> str:
        """Name of the lock's file, which contains all fields."""
        return ",".join(f"{key}={quote(str(value), safe='')}" for key, value in asdict(self).items())

    @property
    def here(self) -> bool:
        """True if this host and container can see the process."""
        return (self.host, self.ns) == (socket.gethostname(), _namespace())

    @property
    def gone(self) -> bool:
        """True if the writer ran on this host and has ended; False if that cannot be known here."""
        return self.here and not _lives(self.pid, self.start)


def lock(path: Path, job: str = "") -> Writer:
    """Make this process the writer of the run and return its lock, for `unlock`.

    Raise InputError if another process writes the run.
    """
    refuse_living(path)
    pid = os.getpid()
    this = Writer(socket.gethostname(), _namespace(), pid, str(_start(pid)), job, secrets.token_hex(4))
    aside = path / (_ASIDE + this.name)
    aside.mkdir()
    try:
        (aside / this.name).touch()
        for _ in range(_MOST_TRIES):
            for writer in refuse_living(path):
                unlock(path, writer)
            if _enter(aside, path / WRITER, this.name):
                _sweep(path)
                return this
    finally:
        _remove(aside, this.name)
    raise InputError(f"another process has just begun to write {path}; wait until it has finished")


def unlock(path: Path, writer: Writer) -> None:
    """Remove the lock of this writer only."""
    if writer.id:
        _remove(path / WRITER, writer.name)
    else:
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):  # a folder of that name is kept
            (path / WRITER).unlink()


def forget_writer(path: Path, job: str) -> None:
    """Remove the lock of the writer in `job`, wherever it ran; the caller must know that the job has ended.

    Keeps the locks of other writers, and of a process that is seen to live.
    """
    for writer in _writers(path):
        if writer.gone or (job and writer.job == job and not writer.here):
            unlock(path, writer)


def writing_jobs(path: Path) -> list[str]:
    """Return the scheduler jobs whose processes write the run, or did so until they were cut off."""
    return [writer.job for writer in _writers(path) if writer.job]


def has_living_writer(path: Path) -> bool:
    """True if a process visible from here is writing the run."""
    try:
        refuse_living(path)
    except InputError:
        return True
    return False


def refuse_living(path: Path) -> list[Writer]:
    """Raise InputError if a process writes the run or may do so; return the dead writers."""
    writers = _writers(path)
    for writer in writers:
        if not writer.here:
            raise InputError(
                f"{path} is being written by process {writer.pid} on {writer.host}{_in_job(writer)}; "
                f"if that process is gone, delete {path / WRITER} and try again"
            )
        if not writer.gone:
            raise InputError(f"{path} is being written by process {writer.pid}; wait until it has finished")
    return writers


def _in_job(writer: Writer) -> str:
    return f", job {writer.job}" if writer.job else ""


def _writers(path: Path) -> list[Writer]:
    """Return the writers that have a lock; normally at most one."""
    try:
        return [_of_name(path, file.name) for file in (path / WRITER).iterdir()]
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        return [_of_older_version(path / WRITER)]


def _of_name(path: Path, name: str) -> Writer:
    try:
        return Writer.parse(name)
    except (TypeError, ValueError):
        raise InputError(
            f"{path / WRITER} holds {name!r}, which is not a lock of kiviat's; "
            "delete it if no process writes the run"
        ) from None


def _of_older_version(file: Path) -> Writer:
    """Return the writer in an earlier version's file `writer`, which a dying process could leave empty."""
    try:
        said = parse_json(read_text(file))
        host, pid, start = str(said["host"]), int(said["pid"]), str(said["start"])
    except (OSError, ValueError, TypeError, KeyError):
        host, pid, start = socket.gethostname(), 0, ""
    return Writer(host, _namespace(), pid, start, "", "")


def _enter(aside: Path, folder: Path, name: str) -> bool:
    with suppress(OSError):  # some file systems do not replace even an empty folder
        folder.rmdir()
    try:
        aside.rename(folder)
    except OSError as error:
        if (
            folder / name
        ).exists():  # NFS repeats a request if the answer was lost, and then reports an error
            return True
        if error.errno in _OCCUPIED:
            return False
        raise
    return True


def _sweep(path: Path) -> None:
    """Remove what processes that died in `lock` have left."""
    for aside in path.glob(f"{_ASIDE}*"):
        with suppress(ValueError, TypeError):
            if (writer := Writer.parse(aside.name.removeprefix(_ASIDE))).gone:
                _remove(aside, writer.name)


def _remove(folder: Path, name: str) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        (folder / name).unlink()
    with suppress(OSError):
        folder.rmdir()


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _lives(pid: int, start: str) -> bool:
    if (now := _start(pid)) is not None:
        return now == start
    try:
        os.kill(pid, 0)
    except PermissionError:  # /proc may hide the processes of other users
        return not Path(f"/proc/{pid}").exists()
    except (ProcessLookupError, OverflowError):
        pass
    return False


def _start(pid: int) -> str | None:
    """Return when the process started, in clock ticks since boot; None if it is gone."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else rest[18]
