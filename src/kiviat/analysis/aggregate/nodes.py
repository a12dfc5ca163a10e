"""The nodes of the ranks, as observed by the launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.run import Launch, Run

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Nodes:
    """The node of each rank, counted from 0 in the order of ranks."""

    of: tuple[int, ...]

    def count(self, ranks: int) -> int:
        """Return the number of nodes used by the first `ranks` ranks."""
        return len(set(self.of[:ranks]))

    def near(self, a: int, b: int) -> bool:
        """True if two ranks share a node."""
        return self.of[a] == self.of[b]

    def busiest(self, pairs: Iterable[Pair]) -> int:
        """Return the number of pairs with at least one rank on the node that has most of them."""
        busy = Counter(node for a, b in pairs for node in {self.of[a], self.of[b]})
        return max(busy.values(), default=0)

    def crossing(self, pairs: Sequence[Pair]) -> float:
        """Return the share of the pairs whose ranks are on different nodes, 0 to 1."""
        return sum(not self.near(a, b) for a, b in pairs) / len(pairs)

    def crossing_all(self, ranks: int) -> float:
        """Return that share of all pairs of the first `ranks` ranks, at least two."""
        near = sum(count * (count - 1) for count in Counter(self.of[:ranks]).values())
        return 1 - near / (ranks * (ranks - 1))

    def boundaries(self, ranks: int) -> list[int]:
        """Return the ranks that are on another node than the rank before them."""
        return [rank for rank in range(1, ranks) if self.of[rank] != self.of[rank - 1]]


def nodes_of(run: Run, ranks: int) -> Nodes | None:
    """Return the nodes of the first `ranks` ranks in every launch that had at least as many.

    None if launches differ, or if the nodes of one are unknown.
    """
    seen = {_of_launch(launch, ranks) for launch in run.launches if launch.reaches(ranks)}
    of = seen.pop() if len(seen) == 1 else None
    return None if of is None else Nodes(of)


def bytes_of(sent: Grid, nodes: Nodes) -> tuple[float, float]:
    """Return the bytes between nodes and those within nodes of a table of messages between all ranks."""
    of_pairs = sent.median.sum(axis=0)  # sum of all kernels
    ranks = range(sent.ranks)
    far = np.array([[not nodes.near(a, b) for b in ranks] for a in ranks])
    return float(of_pairs[far].sum()), float(of_pairs[~far].sum())


def host_of(run: Run, rank: int) -> str | None:
    """Return the host of a rank; None if launches differ or no launch recorded it."""
    hosts = {one.host for launch in run.launches for one in launch.ranks if one.rank == rank}
    return str(hosts.pop()) if len(hosts) == 1 else None


def _of_launch(launch: Launch, count: int) -> tuple[int, ...] | None:
    """Return the node of each of the first `count` ranks of a launch; None if unknown.

    Nodes are groups of ranks that share memory; if they were not recorded, hosts are used. A simulation taken
    from the cache has no observed ranks; they are at their requested places.
    """
    names = {rank.rank: rank.node_or_host for rank in launch.ranks}
    if not names and launch.simulated and launch.placement:
        names = dict(enumerate(launch.placement.nodes))
    numbers: dict[object, int] = {}
    found = [names.get(rank) for rank in range(count)]
    return None if None in found else tuple(numbers.setdefault(name, len(numbers)) for name in found)
