"""Layout of a rank's file, as the recorder describes it in the file itself (native/trace/format.hpp)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiviat.record import InputError
from kiviat.trace.json_object import JsonObject, parsed

FORMAT = "kiviat.trace/1"
START = b'{"format":"kiviat.trace/'
DESCRIPTION_AT = 8192
MAGIC = b"kvtrace1"
_MOST_STREAM_AT = 1 << 24
_MOST_NAMES = 256  # a call number is one byte


@dataclass(frozen=True)
class Layout:
    """Positions in a rank's file. `fields` names its first words, `texts` has offsets and lengths in bytes.

    At `counted_at` each of `operations` has two words, calls and bytes. `line` is the description itself.
    """

    fields: Sequence[str]
    texts: Mapping[str, tuple[int, int]]
    counted_at: int
    stream_at: int
    operations: Sequence[str]
    calls: Sequence[str]
    line: bytes


def layout_of(line: bytes, path: Path) -> Layout:
    """Return the layout that `line` describes; InputError if it is of another version or damaged."""
    try:
        words = JsonObject.of(parsed(line))
        version = words.text("format")
    except ValueError:
        raise InputError(f"{path} is truncated; record the program again") from None
    if version != FORMAT:
        raise InputError(
            f"{path} is of version {version!r}: this kiviat reads {FORMAT!r}; use the one that wrote it, or "
            "record the program again"
        )
    try:
        return _layout(words, line)
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}; record the program again") from None


def _layout(words: JsonObject, line: bytes) -> Layout:
    """Return the layout; ValueError if anything lies outside the part before the description."""
    texts = words.inside("texts")
    places = {name: texts.wholes(name, 2) for name in texts.words}
    if any(len(place) < 2 for place in places.values()):
        raise ValueError("a text lacks its offset or its length")
    layout = Layout(
        fields=words.texts("fields", DESCRIPTION_AT // 8),
        texts={name: (at, length) for name, (at, length) in places.items()},
        counted_at=words.whole("counted_at", 0, DESCRIPTION_AT),
        stream_at=words.whole("stream_at", DESCRIPTION_AT, _MOST_STREAM_AT),
        operations=words.texts("operations", _MOST_NAMES),
        calls=words.texts("calls", _MOST_NAMES),
        line=line,
    )
    ends = [layout.counted_at + 16 * len(layout.operations), *map(sum, layout.texts.values())]
    if max(ends) > DESCRIPTION_AT:
        raise ValueError(f"a word ends at byte {max(ends):,}, beyond the header")
    return layout


def launched_in(folder: Path) -> tuple[list[tuple[Layout, dict[str, Any], Path]], int]:
    """Return layout, header and file of each rank recorded in `folder`, in the order of ranks.

    Ranks that MPI_Comm_spawn started are left out if there are others; the second value is their number.
    Raise InputError for files of another version.
    """
    found = []
    for path in sorted(folder.glob("rank-*.stream")):
        with path.open("rb") as file:
            head = file.read(1 << 16)
        if head[: len(MAGIC)] == MAGIC:  # else the rank ended before recording began
            layout = layout_of(head[DESCRIPTION_AT:].partition(b"\n")[0], path)
            found.append((layout, header_of(layout, head), path))
    found.sort(key=lambda one: int(one[1]["rank"]))
    launched = [one for one in found if not one[1].get("parents")] or found
    return launched, len(found) - len(launched)


def header_of(layout: Layout, content: bytes) -> dict[str, Any]:
    """Return the words and texts of a rank's header by name, and `counted`: calls and bytes per operation."""
    words = struct.unpack_from(f"<{len(layout.fields)}Q", content)
    header: dict[str, Any] = dict(zip(layout.fields, words, strict=True))
    for name, (at, length) in layout.texts.items():
        header[name] = content[at : at + length].split(b"\0")[0].decode(errors="replace")
    counted = struct.unpack_from(f"<{2 * len(layout.operations)}Q", content, layout.counted_at)
    header["counted"] = counted
    return header
