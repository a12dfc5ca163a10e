"""Writes files atomically: readers see the old or the new file, never a part."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kiviat.record.errors import InputError

_MOST_LINKS = 40  # in a chain, as in Linux
_OF_RUNS = ("run.json", "records.jsonl")  # files of a run


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` at the end, keeping its mode, unless an exception occurs.

    If `path` is a symbolic link, its target is replaced. Devices and pipes are not replaced; the content is
    copied to them at the end. Raise OSError if that fails.
    """
    target = _target(path)
    if isinstance(target, int) or _is_special(target):
        from tempfile import (
            TemporaryFile,
        )  # imported here, because it takes as long as all other imports of `kiviat --help`

        with TemporaryFile() as file:
            yield file
            file.seek(0)
            _write_through(file, target)
        return
    draft = target.with_name(f".kiviat-{os.urandom(8).hex()}")
    try:
        unnamed = _unnamed(target.parent)
        with unnamed or draft.open("xb") as file:
            _keep_owner_and_mode(target, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
            if unnamed:
                os.link(f"/proc/self/fd/{file.fileno()}", draft, src_dir_fd=file.fileno())
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync_directory(target.parent)


def write_whole(text: str, path: Path, what: str) -> None:
    r"""Replace `path` by a file with this text, in UTF-8. Raise InputError if that fails.

    Characters that cannot be encoded, as in file names that are not UTF-8, are written as escapes such as
    \udc80.
    """
    with refusing(path, what), replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Context that turns errors of writing `path` into an InputError of one line.

    Refuses the files of a run, which an output would replace.
    """
    try:
        _refuse_results(path, what)
        yield
    except BrokenPipeError:
        raise  # the reader has closed the pipe; not an error of the path
    except OSError as error:
        raise InputError(
            f"the {what} cannot be written to {path}: {error.strerror}; name another file"
        ) from None


def _refuse_results(path: Path, what: str) -> None:
    target = _target(path)
    if isinstance(target, int) or target.name not in _OF_RUNS:
        return
    if target.exists() and all((target.parent / name).exists() for name in _OF_RUNS):
        raise InputError(
            f"the {what} cannot be written to {path}: results of a run are there; name another file"
        )


def is_replaced(path: Path) -> bool:
    """True if writing leaves a file of this name; devices and pipes consume what is written."""
    target = _target(path)
    return not isinstance(target, int) and not _is_special(target)


def sync_directory(path: Path) -> None:
    """Sync the folder, so that new names in it survive a crash; not all file systems support this."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _target(path: Path) -> Path | int:
    """Return the target of symbolic links: a file, or a descriptor of this process, as for /dev/stdout."""
    for _ in range(_MOST_LINKS):
        folder = Path(os.path.realpath(path.parent))
        if folder == Path(f"/proc/{os.getpid()}/fd") and path.name.isdecimal():
            return int(path.name)
        path = folder / path.name
        if path.is_dir() or path.name in ("", ".."):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not path.is_symlink():
            return path
        path = folder / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _is_special(target: Path) -> bool:
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return False


def _write_through(file: BinaryIO, target: Path | int) -> None:
    from shutil import copyfileobj

    sys.stdout.flush()  # so that earlier output comes first
    handle = os.dup(target) if isinstance(target, int) else os.open(target, os.O_WRONLY | os.O_NOCTTY)
    with os.fdopen(handle, "wb") as through:
        copyfileobj(file, through)


def _unnamed(folder: Path) -> BinaryIO | None:
    """Return a new file in the folder that has no name yet; if the process is killed, nothing stays.

    None if the file system does not support such files, or without /proc, which is needed to name them.
    """
    if not Path("/proc/self/fd").exists():
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666), "wb")
    except OSError:
        return None


def _keep_owner_and_mode(target: Path, handle: int) -> None:
    """Return the mode of the replaced file; a new file gets the default under the umask."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    with suppress(OSError):  # only root may change a file's owner
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))
