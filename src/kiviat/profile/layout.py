"""What the words of a profile mean, as the profiler itself describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.trace.json_object import JsonObject

FORMATS = ("kiviat.profile/1", "kiviat.profile/2")

# How far a message goes: the order of the words in a slot. Files of version 1 do not tell the first one from
# the second.
DISTANCES = ("itself", "same socket", "same node", "unknown", "other node")
ROWS = ("sent", "collective", "fetched", "crossed")
_MOST_SLOTS_AT = 1 << 12
_MOST_SLOTS = 1 << 16
_GROUP_WORDS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """Places and lengths in words of 64 bits, but `calls` and `distances` (of a slot), which are names."""

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
    distances: tuple[str, ...]


def layout_of(words: JsonObject) -> Layout:
    """Of the first line of a profile; ValueError where words would stand in each other's place."""
    distances = DISTANCES[1:] if words.text("format") == FORMATS[0] else DISTANCES
    told = words.inside("texts")
    texts = {name: told.wholes(name, 2) for name in told.words}
    layout = Layout(
        fields={name: at for at, name in enumerate(words.texts("fields", _MOST_SLOTS_AT))},
        texts={name: (place[0], place[1]) for name, place in texts.items() if len(place) == 2},
        slots_at=words.whole("slots_at", 1, _MOST_SLOTS_AT),
        slots=words.whole("slots", 1, _MOST_SLOTS),
        slot_words=words.whole("slot_words", 1, _MOST_SLOTS_AT),
        groups_at=words.whole("groups_at"),
        groups=words.whole("groups", 1, _MOST_SLOTS),
        group_words=words.whole("group_words", _GROUP_WORDS, _GROUP_WORDS),
        rows_at=words.whole("rows_at"),
        rows=words.whole("rows", len(ROWS), len(ROWS)),
        size_classes=words.whole("size_classes", 1, 65),
        calls=tuple(words.texts("calls", 255)),
        distances=distances,
    )
    ends = (
        max(len(layout.fields), *map(sum, layout.texts.values())) <= layout.slots_at
        and layout.slot_words == 3 + 3 * len(distances) + layout.size_classes
        and layout.slots_at + layout.slots * layout.slot_words == layout.groups_at
        and layout.groups_at + layout.groups * layout.group_words == layout.rows_at
    )
    if missing := [name for name in _FIELDS if name not in layout.fields]:
        raise ValueError(f"fields has no {missing[0]}")
    if not ends or not set(layout.texts) >= set(TEXTS):
        raise ValueError("its first line does not describe a profile")
    return layout


# Those that a reader needs; later ones have later versions.
_FIELDS = (
    *("magic", "rank", "ranks", "stage", "inside", "first_ticks", "first_ns", "last_ticks", "last_ns"),
    *("started_s", "counter", "threads", "socket", "node", "lost_slots", "lost_persistent", "unseen_sends"),
    *("in_memory", "interfaces", "sent_before", "received_before", "sent_after", "received_after"),
    *("crossing", "latest", "resident"),
)
TEXTS = ("host", "cpus", "library", "program")
