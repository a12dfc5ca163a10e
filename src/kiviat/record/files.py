"""Reads untrusted files: no pipes or devices; texts of limited size, in UTF-8."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from pathlib import Path
from typing import Any, BinaryIO

# Exceeded only by a run.json such as that of 100 launches on a million ranks.
LARGEST_BYTES = 1 << 30


class IrregularFileError(OSError):
    """The file is not a regular file; `kind` is "a folder", "a FIFO", or "a device or socket"."""

    def __init__(self, name: str, mode: int) -> None:
        self.kind = (
            "a folder" if stat.S_ISDIR(mode) else "a FIFO" if stat.S_ISFIFO(mode) else "a device or socket"
        )
        super().__init__(errno.EINVAL, f"it is {self.kind} instead of a file", name)


def read_text(path: Path, errors: str = "strict", largest_bytes: int = LARGEST_BYTES) -> str:
    """Return the text, with newlines as line ends.

    Raise OSError if the file is not regular or too large, ValueError if it is not UTF-8. Pipes and devices,
    which may never end, are not read.
    """
    with open(path, encoding="utf-8-sig", errors=errors, opener=_regular) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {largest_bytes >> 20} MiB", str(path))
        return file.read(size)  # not what is appended meanwhile


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading. Raise IrregularFileError (an OSError) for folders, pipes and devices."""
    return open(path, "rb", opener=_regular)


def _regular(name: str, flags: int) -> int:
    """Open a regular file; does not block if it is a pipe without writer."""
    handle = os.open(name, flags | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise IrregularFileError(str(name), mode)
    return handle


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raise OSError like `read_text`, ValueError if it is not TOML."""
    try:
        return tomllib.loads(read_text(path, largest_bytes=16 << 20))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
