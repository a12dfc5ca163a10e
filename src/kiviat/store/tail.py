"""The end of records.jsonl, which a crash or a full disk may have torn."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kiviat.record import InputError

_BLOCK = 1 << 16
# How every line that we write begins, in all versions.
_BEGINNING = b'{"schema":"kiviat.record/'


@dataclass(frozen=True)
class TornTail:
    """The bytes after the last whole line."""

    start: int
    length: int


def refuse_irregular(file: Path) -> None:
    """Raises InputError where `file` is something else than a file: to open a FIFO may take for ever."""
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a FIFO" if stat.S_ISFIFO(mode) else "a device or socket"
        raise InputError(f"{file} is {kind} instead of a file; it is not ours")


def torn_tail(records: Path) -> TornTail | None:
    """What of a record stands after the last line end; None where nothing does, or nothing of ours."""
    try:
        refuse_irregular(records)
        with records.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            start = _after_last_line_end(stream, size)
            stream.seek(start)
            beginning = stream.read(len(_BEGINNING))
    except FileNotFoundError:
        return None
    ours = _BEGINNING.startswith(beginning) or not beginning.strip(b"\0")
    return TornTail(start, size - start) if beginning and ours else None


def _after_last_line_end(stream: BinaryIO, size: int) -> int:
    end = size
    while end:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        found = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
