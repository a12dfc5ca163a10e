"""What the words of a profile mean, as the profiler itself describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = "kiviat.profile/1"

# How far a message goes: the order of the words in a slot.
DISTANCES = ("same socket", "same node", "unknown", "other node")
ROWS = ("sent", "collective", "fetched", "crossed")


@dataclass(frozen=True, slots=True)
class Layout:
    """Places and lengths in words of 64 bits, but `calls`, which are names."""

    fields: Mapping[str, int]
    texts: Mapping[str, tuple[int, int]]
    slots_at: int
    slots: int
    slot_words: int
    groups_at: int
    groups: int
    group_words: int
    rows_at: int
    rows: int
    size_classes: int
    calls: tuple[str, ...]


def layout_of(words: Mapping[str, Any]) -> Layout:
    """Of the first line of a profile."""
    numbers = ("slots_at", "slots", "slot_words", "groups_at", "groups", "group_words", "rows_at", "rows")
    return Layout(
        fields={name: at for at, name in enumerate(words["fields"])},
        texts={name: (at, length) for name, (at, length) in words["texts"].items()},
        size_classes=words["size_classes"],
        calls=tuple(words["calls"]),
        **{name: words[name] for name in numbers},
    )
