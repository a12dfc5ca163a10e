"""In which order ranks go to nodes. `room` is how many each node takes; the sum is at least `ranks`."""

from __future__ import annotations

from collections.abc import Sequence


def blocked(room: Sequence[int], ranks: int) -> list[int]:
    """The node of each rank: one node is filled, then the next."""
    return [node for node, places in enumerate(room) for _ in range(places)][:ranks]


def plane(room: Sequence[int], ranks: int, size: int) -> list[int]:
    """Blocks of `size` ranks to the nodes in turn, as Slurm's plane distribution; cyclic is a size of 1.

    A node that is full is passed over, and a block that finds less room than its size is cut.
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
    """Room for more ranks than there is: every node once more as much, and so on, the last time in order."""
    times, rest = divmod(ranks, sum(room))
    last = blocked(room, rest)
    return [times * places + last.count(node) for node, places in enumerate(room)]
