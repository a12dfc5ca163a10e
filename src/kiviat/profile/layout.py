"""Layout of a profile, as the profiler describes it in the file itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.trace.json_object import JsonObject

FORMATS = ("kiviat.profile/1", "kiviat.profile/2")

# Distances of messages, in the order of the words in a slot. Files of version 1 count messages to self as
# sent within a socket.
DISTANCES = ("itself", "same socket", "same node", "unknown", "other node")
ROWS = ("sent", "collective", "fetched", "crossed")
_MOST_SLOTS_AT = 1 << 12
_MOST_SLOTS = 1 << 16
_GROUP_WORDS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets and lengths in 64-bit words; `calls` and `distances` (of a slot) are names."""

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
    """Return the layout that the first line of a profile describes; ValueError if its parts overlap."""
    distances = DISTANCES[1:] if words.text("format") == FORMATS[0] else DISTANCES
    places = words.inside("texts")
    texts = {name: places.wholes(name, 2) for name in places.words}
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
        max([len(layout.fields), *map(sum, layout.texts.values())]) <= layout.slots_at
        and layout.slot_words == 3 + 3 * len(distances) + layout.size_classes
        and layout.slots_at + layout.slots * layout.slot_words == layout.groups_at
        and layout.groups_at + layout.groups * layout.group_words == layout.rows_at
    )
    if missing := [name for name in _FIELDS if name not in layout.fields]:
        raise ValueError(f"fields lacks {missing[0]}")
    if not ends or not set(layout.texts) >= set(TEXTS):
        raise ValueError("its first line does not describe a profile")
    return layout


# Required fields; later versions have more.
_FIELDS = (
    *("magic", "rank", "ranks", "stage", "inside", "first_ticks", "first_ns", "last_ticks", "last_ns"),
    *("started_s", "counter", "threads", "socket", "node", "lost_slots", "lost_persistent", "unseen_sends"),
    *("in_memory", "interfaces", "sent_before", "received_before", "sent_after", "received_after"),
    *("crossing", "latest", "resident"),
)
TEXTS = ("host", "cpus", "library", "program")
