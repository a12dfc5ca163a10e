"""Makes one file of what the ranks left."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.record import InputError, replacing
from kiviat.trace.layout import DESCRIPTION_AT, MAGIC, Layout, header_of, layout_of
from kiviat.trace.trace import Rate

_LEVEL = 4  # of compression: streams repeat themselves so much that more brings little
_ABOUT = (
    *("rank", "stage", "length", "events", "computed_ns", "elapsed_ns", "polls", "sparse", "unsupported"),
    *("other_threads", "unseen", "lost", "node", "host", "counted"),
)


def pack(folder: Path, output: Path, rate: Rate | None) -> bool:
    """Writes `output`; False where no rank left anything.

    The first line is the recorder's description of words, the second one says what each rank did and how long
    its stream is, the streams follow, compressed each by itself.
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
                continue  # its rank ended before it began to record
            layout = layout or layout_of(content[DESCRIPTION_AT:].partition(b"\n")[0], path)
            header = header_of(layout, content)
            stream = content[layout.stream_at : layout.stream_at + header["length"]]
            squeezed = zlib.compress(stream, _LEVEL)
            packed.write(squeezed)
            common = common or {name: header[name] for name in ("ranks", "started_s", "program", "library")}
            about = {name: header[name] for name in _ABOUT}
            each.append(about | {"packed": len(squeezed), "crc32": zlib.crc32(squeezed)})
    if layout is None:
        return False
    # Names of files sort ranks as words.
    starts, at = {}, 0
    for one in each:
        starts[one["rank"]] = at
        at += one["packed"]
    each.sort(key=lambda one: int(one["rank"]))
    if len(starts) < len(each):
        raise InputError(f"{folder} has files of several programs; record one at a time")
    words = json.dumps(
        {**common, "rate": asdict(rate) if rate else None, "each": each}, separators=(",", ":")
    ).encode()
    _write(output, draft, layout.line, words, [(starts[one["rank"]], one["packed"]) for one in each])
    return True


def _write(output: Path, draft: Path, first: bytes, second: bytes, places: list[tuple[int, int]]) -> None:
    checked = json.dumps({"bytes": len(second), "crc32": zlib.crc32(second)}, separators=(",", ":")).encode()
    with replacing(output) as file, draft.open("rb") as packed:
        file.write(first + b"\n" + checked + b"\n" + second + b"\n")
        for at, length in places:
            packed.seek(at)
            file.write(packed.read(length))
