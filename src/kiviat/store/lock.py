"""One writer per run, without file locks: NFS and Lustre do not all have them.

The folder `writer` holds one empty file. Its name describes the writer: host, process and the process's
start, by which a dead writer is told from a living one, and a number that no other lock has.

- A lock appears whole: a folder that already holds the file is renamed to `writer`. The renaming succeeds
  only while `writer` is missing or empty, so of any number of processes one succeeds.
- A lock disappears when the file of that very name is removed: by its writer, or by a process that found the
  writer dead. A process that acts late, on a lock that has been replaced meanwhile, removes nothing, since
  the new lock has another name.
- An empty `writer` is no lock. Any process may remove or replace it at any time.

So every step is safe whatever happened since the step before, and a process that dies between two steps
leaves nothing that keeps others out.
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

    `ns` is the namespace of process numbers in which `pid` counts, `start` the process's start in clock ticks
    since boot, `job` the scheduler's job in which the process runs, or "".
    """

    host: str
    ns: str
    pid: int
    start: str
    job: str
    id: str

    @classmethod
    def parse(cls, name: str) -> Writer:
        """ValueError or TypeError: the name is not one of ours."""
        values = {key: unquote(value) for key, _, value in (part.partition("=") for part in name.split(","))}
        return cls(pid=int(values.pop("pid", "")), **values)

    @property
    def name(self) -> str:
        """Name of the lock's file, which holds all of it."""
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
    """Makes this process the writer of the run, and returns what `unlock` needs; or raises InputError."""
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
    """Removes the lock of this writer, and no other."""
    if writer.id:
        _remove(path / WRITER, writer.name)
    else:
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):  # what is a folder stays
            (path / WRITER).unlink()


def forget_writer(path: Path, job: str) -> None:
    """For callers that know `job` to be over: removes the lock of its writer, wherever that process ran.

    The lock of any other writer stays, and so does that of a process which is seen to live.
    """
    for writer in _writers(path):
        if writer.gone or (job and writer.job == job and not writer.here):
            unlock(path, writer)


def writing_jobs(path: Path) -> list[str]:
    """The schedulers' jobs whose processes write the run, or did when they were cut off."""
    return [writer.job for writer in _writers(path) if writer.job]


def has_living_writer(path: Path) -> bool:
    """True if a process visible from here is writing the run."""
    try:
        refuse_living(path)
    except InputError:
        return True
    return False


def refuse_living(path: Path) -> list[Writer]:
    """Raises InputError where a process writes the run or may do so; returns the writers that are dead."""
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
    """At most one, in fact."""
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
    """Earlier versions wrote a file `writer`, which a process that died could leave empty."""
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
        if (folder / name).exists():  # NFS asks again when an answer was lost, and hears an error then
            return True
        if error.errno in _OCCUPIED:
            return False
        raise
    return True


def _sweep(path: Path) -> None:
    """Removes what processes that died in `lock` have left."""
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
    """When the process started, in clock ticks since boot; None if it is gone."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else rest[18]
