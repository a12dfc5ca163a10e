"""Identifies the shared resource that limits simultaneous pairs: pure functions.

The evidence is each pair's bandwidth while all pairs communicate, divided by that of one pair alone, and the
node of each rank. Pairs on one node share its memory. Pairs between nodes share the NICs of their nodes: if a
NIC is the limit, its pairs together get as much as one pair alone. If they get less, the limit is beyond the
nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.nodes import Nodes, Pair
from kiviat.analysis.findings.finding import SHARED_CORES, UNKNOWN_NODES, Ends
from kiviat.record.units import three_digits

# Pairs that keep at least this share of one pair's bandwidth are not limited.
ENOUGH = 0.8
# Range of the total bandwidth of a node's pairs, divided by that of one pair alone, in which the NIC is the
# limit.
_ONE = (0.75, 1.33)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`resource` is "none", "memory", "NIC", "network" or "unknown"; `reason` explains it in a sentence.

    "unclear": the pairs' share varies too much between launches to say whether anything limits them.
    """

    resource: str
    reason: str


def far_pairs(ranks: int) -> list[Pair]:
    """Return the pairs of rank r of the first half and r + P/2 of the second."""
    return [(rank, rank + ranks // 2) for rank in range(ranks // 2)]


def near_pairs(ranks: int) -> list[Pair]:
    """Return the pairs of neighbours 2r and 2r + 1."""
    return [(2 * pair, 2 * pair + 1) for pair in range(ranks // 2)]


def shared(
    share: float, of: Ends, pairs: Sequence[Pair], nodes: Nodes | None, oversubscribed: bool
) -> Verdict:
    """Return what limits `pairs`; each keeps `share` of one pair's bandwidth, whose interval is `of`."""
    if share >= ENOUGH:
        return Verdict("none", "No shared resource limits them.")
    if oversubscribed:
        return Verdict("unknown", SHARED_CORES)
    if nodes is None:
        return Verdict("unknown", UNKNOWN_NODES)
    crossing = nodes.crossing(pairs)
    together = nodes.busiest(pairs)
    if crossing == 0:
        if together == 1:
            return Verdict(
                "unknown",
                "No two pairs share a node and none leaves its own, so the limit cannot be determined.",
            )
        return Verdict(
            "memory", "No message leaves its node: they share the memory of the node, and its caches."
        )
    if crossing < 1:
        return Verdict(
            "unknown",
            "Some pairs are within a node and some between nodes, so the limit cannot be determined.",
        )
    return _between_nodes(share, of, together)


def _between_nodes(share: float, of: Ends, together: int) -> Verdict:
    if together == 1:
        return Verdict(
            "network",
            "No two pairs share a node, so they share neither memory nor NIC: links or switches "
            "between the nodes carry less than all pairs could send.",
        )
    of_one = share * together
    got = f"Together, the {together} pairs of a node get {three_digits(of_one)} times what one gets alone"
    low, high = (end * together for end in of)
    if not (high < _ONE[0] or _ONE[0] <= low <= high <= _ONE[1] or low > _ONE[1]):
        return Verdict("unknown", f"{got}, but launches differ too much to name the resource.")
    if of_one < _ONE[0]:
        return Verdict(
            "network", f"{got}: the NIC can do more, so links or switches beyond it carry less than that."
        )
    if of_one <= _ONE[1]:
        return Verdict("NIC", f"{got}: they share the NIC of the node, or its link.")
    return Verdict("unknown", f"{got}: one pair did not fill the NIC, so the limit cannot be determined.")
