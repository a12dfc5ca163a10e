"""Orders in which ranks fill nodes. `room` is the number of ranks of each node, at least `ranks` in total."""

from __future__ import annotations

from collections.abc import Sequence


def blocked(room: Sequence[int], ranks: int) -> list[int]:
    """Return the node of each rank if one node is filled after the other."""
    return [node for node, places in enumerate(room) for _ in range(places)][:ranks]


def plane(room: Sequence[int], ranks: int, size: int) -> list[int]:
    """Return the node of each rank: nodes get `size` ranks in turn, as in Slurm's plane distribution.

    Cyclic is a size of 1. Full nodes are skipped, and a block that exceeds the room of its node is cut.
    """
    left = list(room)
    nodes: list[int] = []
    while len(nodes) < ranks:
        for node, places in enumerate(left):
            taken = min(size, places)
            nodes += [node] * taken
            left[node] -= taken
    return nodes[:ranks]


def crowded(room: Sequence[int], ranks: int) -> list[int]:
    """Return the node of each rank if there are more ranks than slots: all nodes are filled repeatedly."""
    times, rest = divmod(ranks, sum(room))
    last = blocked(room, rest)
    return [times * places + last.count(node) for node, places in enumerate(room)]
