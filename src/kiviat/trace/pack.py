"""Packs the files of all ranks into one trace."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.record import InputError, replacing
from kiviat.trace.layout import DESCRIPTION_AT, MAGIC, Layout, header_of, layout_of
from kiviat.trace.trace import Rate

_LEVEL = 4  # compression level; streams are so repetitive that higher levels gain little
_ABOUT = (
    *("rank", "stage", "length", "events", "computed_ns", "elapsed_ns", "polls", "sparse", "unsupported"),
    *("other_threads", "crossed", "apart", "unseen", "lost", "node", "host", "counted"),
)
# Only in recordings of times.
TIMES = (
    *("begun_ns", "clock", "offset_before_ns", "moment_before_ns", "trip_before_ns"),
    *("offset_after_ns", "moment_after_ns", "trip_after_ns"),
)


def pack(folder: Path, output: Path, rate: Rate | None, subject: str | None = None) -> bool:
    """Write the trace of the ranks in `folder` to `output`; return False if there are none.

    `subject` is what was recorded, in words for a title, if that is more than the program's name.

    The first line is the recorder's description of the header fields, the second has the facts of each rank
    and the length of its stream. The streams follow, each compressed separately.
    """
    files = sorted(folder.glob("rank-*.stream"))
    layout: Layout | None = None
    each: list[dict[str, Any]] = []
    common: dict[str, Any] = {}
    draft = folder / "packed"
    with draft.open("wb") as packed:
        for path in files:
            content = path.read_bytes()
            if content[: len(MAGIC)] != MAGIC:
                continue  # the rank ended before recording began
            layout = layout or layout_of(content[DESCRIPTION_AT:].partition(b"\n")[0], path)
            header = header_of(layout, content)
            stream = content[layout.stream_at : layout.stream_at + header["length"]]
            squeezed = zlib.compress(stream, _LEVEL)
            packed.write(squeezed)
            common = common or {name: header[name] for name in ("ranks", "started_s", "program", "library")}
            about = {name: header[name] for name in (*_ABOUT, *(TIMES if header["stamps"] else ()))}
            each.append(about | {"packed": len(squeezed), "crc32": zlib.crc32(squeezed)})
    if layout is None:
        return False
    # Ranks are in the order of file names, sorted as text.
    starts, at = {}, 0
    for facts in each:
        starts[facts["rank"]] = at
        at += facts["packed"]
    each.sort(key=lambda facts: int(facts["rank"]))
    if len(starts) < len(each):
        raise InputError(f"{folder} has files of several programs; record one at a time")
    words = json.dumps(
        {**common, "rate": asdict(rate) if rate else None, "subject": subject, "each": each},
        separators=(",", ":"),
    ).encode()
    places = [(starts[facts["rank"]], facts["packed"]) for facts in each]
    _write(output, draft, layout.line, words, places)
    return True


def _write(output: Path, draft: Path, first: bytes, second: bytes, places: list[tuple[int, int]]) -> None:
    checked = json.dumps({"bytes": len(second), "crc32": zlib.crc32(second)}, separators=(",", ":")).encode()
    with replacing(output) as file, draft.open("rb") as packed:
        file.write(first + b"\n" + checked + b"\n" + second + b"\n")
        for at, length in places:
            packed.seek(at)
            file.write(packed.read(length))
