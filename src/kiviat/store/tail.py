"""The end of records.jsonl, which a crash or a full disk may have left incomplete."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kiviat.record import InputError
from kiviat.record.files import IrregularFileError, open_binary

_BLOCK = 1 << 16
# Beginning of every record line, in all versions.
_BEGINNING = b'{"schema":"kiviat.record/'


@dataclass(frozen=True)
class TornTail:
    """Position and length of the bytes after the last complete line."""

    start: int
    length: int


def torn_tail(records: Path) -> TornTail | None:
    """Return the incomplete record after the last line end; None if there is none."""
    try:
        with open_binary(records) as stream:
            size = stream.seek(0, os.SEEK_END)
            start = _after_last_line_end(stream, size)
            stream.seek(start)
            beginning = stream.read(len(_BEGINNING))
    except FileNotFoundError:
        return None
    except IrregularFileError as error:
        raise InputError(f"{records} is {error.kind} instead of a file; kiviat did not write it") from None
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
