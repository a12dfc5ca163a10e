"""Packs the files of all ranks into one trace."""

from __future__ import annotations

import json
import shutil
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.record import InputError, replacing
from kiviat.trace.layout import launched_in
from kiviat.trace.trace import Rate

_LEVEL = 4  # compression level; streams are so repetitive that higher levels gain little
_ABOUT = (
    *("rank", "stage", "length", "events", "computed_ns", "elapsed_ns", "polls", "sparse", "unsupported"),
    *("other_threads", "crossed", "apart", "failed", "unseen", "lost", "node", "host", "counted"),
)
# Only in recordings of times.
TIMES = (
    *("begun_ns", "clock", "offset_before_ns", "moment_before_ns", "trip_before_ns"),
    *("offset_after_ns", "moment_after_ns", "trip_after_ns"),
)


class SeveralProgramsError(InputError):
    """Several programs wrote recordings, and nothing tells which rank belongs to which."""


def pack(folder: Path, output: Path, rate: Rate | None, subject: str | None = None) -> int | None:
    """Write the trace of the ranks in `folder` to `output`; return None without any.

    Else return the number of ranks that MPI_Comm_spawn started, which are left out. Raise
    SeveralProgramsError if the launcher started several, InputError for damaged recordings.

    `subject` is what was recorded, in words for a title, if that is more than the program's name.

    The first line is the recorder's description of the header fields, the second has the facts of each rank
    and the length of its stream. The streams follow, each compressed separately.
    """
    streams, left_out = launched_in(folder)
    if not streams:
        return None
    if len({header["rank"] for _, header, _ in streams}) < len(streams):
        raise SeveralProgramsError("several programs were recorded at once; record one at a time")
    first, header, _ = streams[0]
    common = {name: header[name] for name in ("ranks", "started_s", "program", "library")}
    each: list[dict[str, Any]] = []
    draft = folder / "packed"
    with draft.open("wb") as packed:
        for layout, header, path in streams:
            with path.open("rb") as file:
                file.seek(layout.stream_at)
                squeezed = zlib.compress(file.read(header["length"]), _LEVEL)
            packed.write(squeezed)
            about = {name: header[name] for name in (*_ABOUT, *(TIMES if header["stamps"] else ()))}
            each.append(about | {"packed": len(squeezed), "crc32": zlib.crc32(squeezed)})
    words = json.dumps(
        {**common, "rate": asdict(rate) if rate else None, "subject": subject, "each": each},
        separators=(",", ":"),
    ).encode()
    _write(output, draft, first.line, words)
    return left_out


def _write(output: Path, draft: Path, first: bytes, second: bytes) -> None:
    checked = json.dumps({"bytes": len(second), "crc32": zlib.crc32(second)}, separators=(",", ":")).encode()
    with replacing(output) as file, draft.open("rb") as packed:
        file.write(first + b"\n" + checked + b"\n" + second + b"\n")
        shutil.copyfileobj(packed, file)
