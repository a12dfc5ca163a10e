"""Improves a mapping by what its worst link carries.

A sum over all links of a high power of what each carries stands for the worst of them: exchanges that
relieve one of several equally bad links count, though the worst does not become better yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kiviat.placement.graph import Floats, Integers
from kiviat.placement.routes import Routes
from kiviat.profile import Traffic

_SEED = 1
# Of the low one many links count, of the high one hardly more than the worst.
_POWERS = (12, 48)
# So many exchanges are looked at together.
_TOGETHER = 2048
_PARTNERS = 128
# A search ends after so many looks, not after some time: what is found depends on the problem alone.
_LOOKS = 500
_MOST_ALL_PAIRS = 48
# Links that are tried one after the other when nothing relieves the worst, and ranks of each.
_LINKS, _RANKS = 12, 6
# How often some ranks change places by chance before another descent: this over the number of ranks.
_KICKS = 600
_MOST_KICKS = 40
_LEAST_LOOKS = 60


@dataclass(frozen=True)
class _Flows:
    """What each rank sends and receives: rank i has `peer[first[i]:first[i + 1]]`; `out`: it is the sender.

    Each message between two ranks is in both rows.
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
    """What each link carries, `node[i]` being the node of rank i."""

    def __init__(self, traffic: Traffic, node: Integers, room: Integers, routes: Routes) -> None:
        self.node, self.room, self.routes = node.copy(), room, routes
        self.power = _POWERS[0]
        self.ranks = traffic.ranks
        self._traffic, self._flows = traffic, _Flows.of(traffic)
        self.see()

    def see(self) -> None:
        """Counts from the beginning."""
        traffic = self._traffic
        ends = self.node[traffic.source], self.node[traffic.target]
        self.loads = self.routes.loads(*ends, traffic.bytes.astype(np.float64))

    @property
    def worst(self) -> float:
        """Bytes."""
        return float(self.loads.max(initial=0.0))

    def involved(self, link: int) -> Integers:
        """The ranks whose messages cross a link, those with most bytes first."""
        traffic = self._traffic
        pair, arc = self.routes.crossings(self.node[traffic.source], self.node[traffic.target])
        here = pair[arc == link]
        share = np.zeros(self.ranks)
        np.add.at(share, traffic.source[here], traffic.bytes[here])
        np.add.at(share, traffic.target[here], traffic.bytes[here])
        order = np.argsort(-share, kind="stable")
        return order[share[order] > 0]

    def partners(self, rank: int, random: np.random.Generator) -> tuple[Integers, Integers]:
        """Ranks on other nodes, or -1 for a free place, and their nodes; where there are many, some."""
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

    def changes(self, one: Integers, other: Integers, to: Integers) -> tuple[Integers, Integers, Floats]:
        """(exchange, link, bytes more) when rank `one[k]` has gone to node `to[k]`, and `other[k]` to where
        it was; -1: nobody comes. A pair of exchange and link is there once.
        """
        flows, node = self._flows, self.node
        came = node[one]
        which, mover = np.concatenate([np.arange(len(one))] * 2), np.concatenate([one, other])
        which, mover = which[mover >= 0], mover[mover >= 0]
        counts = flows.first[mover + 1] - flows.first[mover]
        edge = np.repeat(flows.first[mover] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        which, mover = np.repeat(which, counts), np.repeat(mover, counts)
        # What the two send to each other is in both rows.
        keep = (mover != other[which]) | (flows.peer[edge] != one[which])
        which, mover, edge = which[keep], mover[keep], edge[keep]
        peer, out, bytes = flows.peer[edge], flows.out[edge] == 1, flows.bytes[edge]
        now = np.where(mover == one[which], to[which], came[which])
        theirs = np.where(peer == one[which], to[which], node[peer])
        theirs = np.where(peer == other[which], came[which], theirs)
        links = len(self.loads)
        keys, weights = [], []
        for mine, at, sign in ((now, theirs, 1.0), (node[mover], node[peer], -1.0)):
            pair, arc = self.routes.crossings(np.where(out, mine, at), np.where(out, at, mine))
            keys.append(which[pair] * links + arc)
            weights.append(sign * bytes[pair])
        key, more = _summed(np.concatenate(keys), np.concatenate(weights), len(one) * links)
        arc = key % links
        return key // links, arc, more / self.routes.width[arc]

    def gains(self, one: Integers, other: Integers, to: Integers) -> Floats:
        """How much less the sum of powers is after each exchange, relative to the worst link's."""
        which, link, more = self.changes(one, other, to)
        before = self.loads[link] / self.worst
        after = before + more / self.worst
        less = before**self.power - after**self.power
        return np.bincount(which, less, minlength=len(one)).astype(np.float64)

    def move(self, one: int, other: int, to: int) -> None:
        came = self.node[one]
        _, link, more = self.changes(np.array([one]), np.array([other]), np.array([to]))
        self.loads[link] += more
        self.node[one] = to
        if other >= 0:
            self.node[other] = came


def _summed(keys: Integers, weights: Floats, most: int) -> tuple[Integers, Floats]:
    """Each key once, and the sum of its weights."""
    if most > 8 * len(keys):
        key, place = np.unique(keys, return_inverse=True)
        sums: Floats = np.bincount(place, weights, minlength=len(key)).astype(np.float64)
        return key, sums
    table: Floats = np.bincount(keys, weights, minlength=most).astype(np.float64)
    key = np.flatnonzero(table)
    return key, table[key]


def relieved(traffic: Traffic, node: Integers, room: Integers, routes: Routes) -> Integers:
    """A mapping whose worst link carries no more than that of `node`."""
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
            state.see()
        for _ in _descent(state, random, max(_LOOKS // kicks, _LEAST_LOOKS)):
            if state.worst < least[0]:
                state.see()  # sums of many changes are not exact
                if _key(state) < least:
                    best, least = state.node.copy(), _key(state)
    return best


def _key(state: Loads) -> tuple[float, float]:
    return state.worst, float(state.loads.sum())


def _descent(state: Loads, random: np.random.Generator, looks: int) -> Iterator[None]:
    """After each exchange for the better, until none is found, or too much has been looked at."""
    step = _any_pair if state.ranks <= _MOST_ALL_PAIRS else _worst
    yield
    for state.power in _POWERS:
        while looks > 0 and state.worst > 0:
            used = step(state, random)
            if not used:
                break
            looks -= used
            yield


def _any_pair(state: Loads, random: np.random.Generator) -> int:
    """The best exchange of all; how much was looked at, 0 where none is for the better."""
    ones, others, nodes = [], [], []
    for rank in range(state.ranks):
        partners, where = state.partners(rank, random)
        ones.append(np.full(len(partners), rank))
        others.append(partners)
        nodes.append(where)
    return _best_of(state, np.concatenate(ones), np.concatenate(others), np.concatenate(nodes)) * 2


def _worst(state: Loads, random: np.random.Generator) -> int:
    """The best exchange of one of the ranks whose messages cross the worst links; likewise."""
    used = 0
    for link in np.argsort(-state.loads, kind="stable")[:_LINKS].tolist():
        for rank in state.involved(link)[:_RANKS].tolist():
            used += 1
            partners, nodes = state.partners(rank, random)
            if _best_of(state, np.full(len(partners), rank), partners, nodes):
                return used
    return 0


def _best_of(state: Loads, one: Integers, other: Integers, to: Integers) -> bool:
    """Makes the best of these exchanges, if it is one for the better."""
    if not len(one):
        return False
    parts = [slice(at, at + _TOGETHER) for at in range(0, len(one), _TOGETHER)]
    gains = np.concatenate([state.gains(one[part], other[part], to[part]) for part in parts])
    best = int(gains.argmax())
    if gains[best] <= 1e-9:
        return False
    state.move(int(one[best]), int(other[best]), int(to[best]))
    return True


def _disturb(state: Loads, random: np.random.Generator) -> None:
    """Some ranks change places by chance."""
    pairs = max(1, int(random.integers(1, max(2, state.ranks // 4) + 1)))
    some = random.permutation(state.ranks)
    one, other = some[:pairs], some[pairs : 2 * pairs]
    one = one[: len(other)]
    state.node[one], state.node[other] = state.node[other], state.node[one].copy()
