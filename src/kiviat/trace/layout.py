"""Where words stand in the file of a rank, as the recorder describes them (native/trace/format.hpp)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kiviat.record import InputError

FORMAT = "kiviat.trace/1"
START = b'{"format":"kiviat.trace/'
DESCRIPTION_AT = 8192
MAGIC = b"kvtrace1"


@dataclass(frozen=True)
class Layout:
    """`fields` are words from the beginning on, `texts` places and lengths in bytes; at `counted_at` are two
    words for each of `operations`: calls and bytes. `line` is the description itself.
    """

    fields: Sequence[str]
    texts: Mapping[str, tuple[int, int]]
    counted_at: int
    stream_at: int
    operations: Sequence[str]
    calls: Sequence[str]
    line: bytes


def layout_of(line: bytes, path: Path) -> Layout:
    """InputError for another version, and for what is torn."""
    try:
        words: Mapping[str, Any] = json.loads(line)
        seen = words["format"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path} is truncated; record the program again") from None
    if seen != FORMAT:
        raise InputError(
            f"{path} is of version {seen!r}: this kiviat reads {FORMAT!r}; use the one that wrote it, or "
            "record the program again"
        )
    texts = {name: (at, length) for name, (at, length) in words["texts"].items()}
    return Layout(
        fields=words["fields"],
        texts=texts,
        counted_at=words["counted_at"],
        stream_at=words["stream_at"],
        operations=words["operations"],
        calls=words["calls"],
        line=line,
    )


def header_of(layout: Layout, content: bytes) -> dict[str, Any]:
    """The words and texts of a rank's file by name, and `counted`: calls and bytes of each operation."""
    words = struct.unpack_from(f"<{len(layout.fields)}Q", content)
    header: dict[str, Any] = dict(zip(layout.fields, words, strict=True))
    for name, (at, length) in layout.texts.items():
        header[name] = content[at : at + length].split(b"\0")[0].decode(errors="replace")
    counted = struct.unpack_from(f"<{2 * len(layout.operations)}Q", content, layout.counted_at)
    header["counted"] = counted
    return header
