"""Which shared resource makes pairs slower that communicate at once: pure functions.

The evidence is one number, the bandwidth of each pair while all communicate over that of one pair alone,
and who was on which node. Pairs on one node share its memory. Pairs between nodes share the way of a node
into the network, as many as have an end there: if that is what they share, they get together what one gets
alone. If they get less, something is short that one pair did not notice, beyond the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.nodes import Nodes, Pair
from kiviat.record.units import three_digits

# Pairs that keep this share of what one has alone do not lack anything worth telling.
ENOUGH = 0.8
# What all pairs of a node get together, over what one gets alone: from here to there they share one thing.
_ONE = (0.75, 1.33)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`resource` is "none", "memory", "NIC", "network" or "unknown"; `reason` is a sentence that says why."""

    resource: str
    reason: str


def far_pairs(ranks: int) -> list[Pair]:
    """Rank r of the first half with r + P/2 of the second."""
    return [(rank, rank + ranks // 2) for rank in range(ranks // 2)]


def near_pairs(ranks: int) -> list[Pair]:
    """Neighbours 2r and 2r + 1."""
    return [(2 * pair, 2 * pair + 1) for pair in range(ranks // 2)]


def shared(share: float, pairs: Sequence[Pair], nodes: Nodes | None, oversubscribed: bool) -> Verdict:
    """What `pairs` share, each of which has `share` of the bandwidth of one alone while all communicate."""
    if share >= ENOUGH:
        return Verdict("none", "Nothing that they share is short.")
    if oversubscribed:
        return Verdict(
            "unknown", "There are more ranks than cores: they share processors too, so it cannot be told."
        )
    if nodes is None:
        return Verdict(
            "unknown", "It is not known which ranks share a node, so it cannot be told what they share."
        )
    crossing = nodes.crossing(pairs)
    together = nodes.busiest(pairs)
    if crossing == 0:
        if together == 1:
            return Verdict(
                "unknown", "No two pairs share a node and none leaves its own, so it cannot be told why."
            )
        return Verdict(
            "memory", "No message leaves its node: what they share is the memory of the node, and its caches."
        )
    if crossing < 1:
        return Verdict(
            "unknown",
            "Some pairs are within a node and some between nodes, so it cannot be told what is short.",
        )
    return _between_nodes(share, together)


def _between_nodes(share: float, together: int) -> Verdict:
    if together == 1:
        return Verdict(
            "network",
            "No two pairs share a node, so neither memory nor NIC is what they share: links or switches "
            "between the nodes carry less than all pairs could send.",
        )
    of_one = share * together
    got = f"The {together} pairs of a node get together {three_digits(of_one)} times what one gets alone"
    if of_one < _ONE[0]:
        return Verdict(
            "network", f"{got}: the NIC can do more, so links or switches beyond it carry less than that."
        )
    if of_one <= _ONE[1]:
        return Verdict("NIC", f"{got}: they share the NIC of the node, or its link.")
    return Verdict("unknown", f"{got}: one pair did not fill the NIC, and it cannot be told what stops them.")
