"""Improves a mapping by the load of its worst link.

The search minimises the sum over all links of a high power of their load instead of the maximum: an exchange
that relieves one of several equally loaded links then counts as an improvement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kiviat.placement.graph import Floats, Integers
from kiviat.placement.routes import Routes
from kiviat.profile import Traffic

_SEED = 1
# With the low power many links count, with the high one little more than the worst.
_POWERS = (12, 48)
_TOGETHER = 2048  # exchanges evaluated at once
_PARTNERS = 128
# Number of evaluations after which the search ends; it is not a time limit, so the result depends on the
# problem only.
_EVALUATIONS = 500
_MOST_ALL_PAIRS = 48
# Links that are tried in turn if nothing relieves the worst, and ranks of each.
_LINKS, _RANKS = 12, 6
# Number of random perturbations times the number of ranks; each perturbation is followed by a descent.
_KICKS = 600
_MOST_KICKS = 40
_MIN_EVALUATIONS = 60


@dataclass(frozen=True)
class _Flows:
    """The messages of each rank in compressed rows: rank i has the peers `peer[first[i]:first[i + 1]]`.

    `out` is 1 if the rank is the sender. Each message is in the rows of both ranks.
    """

    first: Integers
    peer: Integers
    out: Integers
    bytes: Floats

    @classmethod
    def of(cls, traffic: Traffic) -> _Flows:
        keep = (traffic.source != traffic.target) & (traffic.bytes > 0)
        source, target = traffic.source[keep], traffic.target[keep]
        rank, peer = np.concatenate([source, target]), np.concatenate([target, source])
        out = np.repeat([1, 0], len(source))
        order = np.argsort(rank, kind="stable")
        first = np.searchsorted(rank[order], np.arange(traffic.ranks + 1))
        sizes = np.concatenate([traffic.bytes[keep]] * 2).astype(np.float64)
        return cls(first, peer[order], out[order], sizes[order])


class Loads:
    """The load of each link under a mapping, in bytes; `node[i]` is the node of rank i."""

    def __init__(self, traffic: Traffic, node: Integers, room: Integers, routes: Routes) -> None:
        self.node, self.room, self.routes = node.copy(), room, routes
        self.power = _POWERS[0]
        self.ranks = traffic.ranks
        self._traffic, self._flows = traffic, _Flows.of(traffic)
        self.recount()

    def recount(self) -> None:
        """Compute the loads from scratch."""
        traffic = self._traffic
        ends = self.node[traffic.source], self.node[traffic.target]
        self.loads = self.routes.loads(*ends, traffic.bytes.astype(np.float64))

    @property
    def worst(self) -> float:
        """Load of the worst link, in bytes."""
        return float(self.loads.max(initial=0.0))

    def involved(self, link: int) -> Integers:
        """Return the ranks whose messages cross a link, by decreasing bytes."""
        traffic = self._traffic
        pair, arc = self.routes.crossings(self.node[traffic.source], self.node[traffic.target])
        here = pair[arc == link]
        share = np.zeros(self.ranks)
        np.add.at(share, traffic.source[here], traffic.bytes[here])
        np.add.at(share, traffic.target[here], traffic.bytes[here])
        order = np.argsort(-share, kind="stable")
        return order[share[order] > 0]

    def partners(self, rank: int, random: np.random.Generator) -> tuple[Integers, Integers]:
        """Return possible partners of an exchange, -1 for a free slot, and their nodes; a sample if many."""
        at = self.node[rank]
        others = np.flatnonzero(self.node != at)
        used = np.bincount(self.node, minlength=len(self.room))
        free = np.flatnonzero((used < self.room) & (np.arange(len(self.room)) != at))
        if len(others) > _PARTNERS:
            here = slice(self._flows.first[rank], self._flows.first[rank + 1])
            near = np.isin(self.node[others], self.node[self._flows.peer[here]])
            chosen, rest = others[near], others[~near]
            chosen = random.permutation(chosen)[: _PARTNERS // 2]
            others = np.concatenate([chosen, random.permutation(rest)[: _PARTNERS - len(chosen)]])
        free = random.permutation(free)[:_PARTNERS] if len(free) > _PARTNERS else free
        partners = np.concatenate([others, np.full(len(free), -1)])
        return partners, np.concatenate([self.node[others], free])

    def changes(self, rank: Integers, other: Integers, to: Integers) -> tuple[Integers, Integers, Floats]:
        """Return (exchange, link, additional bytes), each pair of exchange and link once.

        Exchange k moves rank `rank[k]` to node `to[k]` and `other[k]`, unless it is -1, to the node it left.
        """
        flows, node = self._flows, self.node
        origin = node[rank]
        which, mover = np.concatenate([np.arange(len(rank))] * 2), np.concatenate([rank, other])
        which, mover = which[mover >= 0], mover[mover >= 0]
        counts = flows.first[mover + 1] - flows.first[mover]
        edge = np.repeat(flows.first[mover] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        which, mover = np.repeat(which, counts), np.repeat(mover, counts)
        # Messages between the two exchanged ranks are in both rows.
        keep = (mover != other[which]) | (flows.peer[edge] != rank[which])
        which, mover, edge = which[keep], mover[keep], edge[keep]
        peer, out, bytes = flows.peer[edge], flows.out[edge] == 1, flows.bytes[edge]
        now = np.where(mover == rank[which], to[which], origin[which])
        theirs = np.where(peer == rank[which], to[which], node[peer])
        theirs = np.where(peer == other[which], origin[which], theirs)
        links = len(self.loads)
        keys, weights = [], []
        for mine, at, sign in ((now, theirs, 1.0), (node[mover], node[peer], -1.0)):
            pair, arc = self.routes.crossings(np.where(out, mine, at), np.where(out, at, mine))
            keys.append(which[pair] * links + arc)
            weights.append(sign * bytes[pair])
        key, more = _summed(np.concatenate(keys), np.concatenate(weights), len(rank) * links)
        arc = key % links
        return key // links, arc, more / self.routes.width[arc]

    def gains(self, rank: Integers, other: Integers, to: Integers) -> Floats:
        """Return the decrease of the sum of powers by each exchange, relative to the worst link's power."""
        which, link, more = self.changes(rank, other, to)
        before = self.loads[link] / self.worst
        after = before + more / self.worst
        less = before**self.power - after**self.power
        return np.bincount(which, less, minlength=len(rank)).astype(np.float64)

    def move(self, rank: int, other: int, to: int) -> None:
        """Move a rank to a node, and `other` to the node that it leaves; -1 if no rank takes its place."""
        origin = self.node[rank]
        _, link, more = self.changes(np.array([rank]), np.array([other]), np.array([to]))
        self.loads[link] += more
        self.node[rank] = to
        if other >= 0:
            self.node[other] = origin


def _summed(keys: Integers, weights: Floats, most: int) -> tuple[Integers, Floats]:
    """Return the distinct keys and the sum of weights of each."""
    if most > 8 * len(keys):
        key, place = np.unique(keys, return_inverse=True)
        sums: Floats = np.bincount(place, weights, minlength=len(key)).astype(np.float64)
        return key, sums
    table: Floats = np.bincount(keys, weights, minlength=most).astype(np.float64)
    key = np.flatnonzero(table)
    return key, table[key]


def relieved(traffic: Traffic, node: Integers, room: Integers, routes: Routes) -> Integers:
    """Return a mapping whose worst link carries at most as much as that of `node`."""
    random = np.random.default_rng(_SEED)
    state = Loads(traffic, node, room, routes)
    best, least = state.node.copy(), _key(state)
    if not state.worst:
        return best
    kicks = min(_MOST_KICKS, max(2, _KICKS // traffic.ranks))
    for kick in range(kicks):
        if kick:
            state.node = best.copy()
            _disturb(state, random)
            state.recount()
        for _ in _descent(state, random, max(_EVALUATIONS // kicks, _MIN_EVALUATIONS)):
            if state.worst < least[0]:
                state.recount()  # sums of many changes are not exact
                if _key(state) < least:
                    best, least = state.node.copy(), _key(state)
    return best


def _key(state: Loads) -> tuple[float, float]:
    return state.worst, float(state.loads.sum())


def _descent(state: Loads, random: np.random.Generator, evaluations: int) -> Iterator[None]:
    """Yield after each improving exchange, until there is none or `evaluations` are used up."""
    step = _any_pair if state.ranks <= _MOST_ALL_PAIRS else _worst
    yield
    for state.power in _POWERS:
        while evaluations > 0 and state.worst > 0:
            used = step(state, random)
            if not used:
                break
            evaluations -= used
            yield


def _any_pair(state: Loads, random: np.random.Generator) -> int:
    """Make the best of all exchanges; return the number of evaluations, 0 if none improves."""
    ranks, others, nodes = [], [], []
    for rank in range(state.ranks):
        partners, where = state.partners(rank, random)
        ranks.append(np.full(len(partners), rank))
        others.append(partners)
        nodes.append(where)
    return _best_of(state, np.concatenate(ranks), np.concatenate(others), np.concatenate(nodes)) * 2


def _worst(state: Loads, random: np.random.Generator) -> int:
    """Make the best exchange of a rank whose messages cross one of the worst links; return as `_any_pair`."""
    used = 0
    for link in np.argsort(-state.loads, kind="stable")[:_LINKS].tolist():
        for rank in state.involved(link)[:_RANKS].tolist():
            used += 1
            partners, nodes = state.partners(rank, random)
            if _best_of(state, np.full(len(partners), rank), partners, nodes):
                return used
    return 0


def _best_of(state: Loads, rank: Integers, other: Integers, to: Integers) -> bool:
    """Make the best of these exchanges if it improves the mapping; return whether it does."""
    if not len(rank):
        return False
    parts = [slice(at, at + _TOGETHER) for at in range(0, len(rank), _TOGETHER)]
    gains = np.concatenate([state.gains(rank[part], other[part], to[part]) for part in parts])
    best = int(gains.argmax())
    if gains[best] <= 1e-9:
        return False
    state.move(int(rank[best]), int(other[best]), int(to[best]))
    return True


def _disturb(state: Loads, random: np.random.Generator) -> None:
    """Exchange some random pairs of ranks."""
    pairs = max(1, int(random.integers(1, max(2, state.ranks // 4) + 1)))
    some = random.permutation(state.ranks)
    first, second = some[:pairs], some[pairs : 2 * pairs]
    first = first[: len(second)]
    state.node[first], state.node[second] = state.node[second], state.node[first].copy()
