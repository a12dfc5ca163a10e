"""Placements proved to be optimal, for few ranks: branch and bound.

Ranks are placed one after another, on every node that has room. A partial placement is dropped if it cannot
become cheaper than the best one known: each rank that is still to be placed costs at least its traffic with
the placed ones from its best node, and half of its traffic with the others over the shortest distances from
there to other slots (Gilmore, "Optimal and suboptimal algorithms for the quadratic assignment problem",
SIAM J. 10(2), 1962; Lawler, "The quadratic assignment problem", Management Science 9(4), 1963). Placements
that differ by an exchange of equal nodes or of equal ranks are tried once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kiviat.placement.dual_bisection import uniform
from kiviat.placement.graph import Floats, Integers
from kiviat.placement.prediction import predicted
from kiviat.placement.target import Target
from kiviat.profile import Traffic

MOST_RANKS = 10
# Nodes at unequal distances, or with unequal routes for the objective "max-link".
_MOST_NODES = 64
# The search ends without a proof after it has computed so many numbers: some seconds.
_MOST_WORK = 200_000_000
_TOGETHER = 1_000_000  # numbers computed at once


def least(
    traffic: Traffic, target: Target, objective: str, node: Integers, work: int = _MOST_WORK
) -> tuple[Integers, bool]:
    """Return the node of each rank, shape (ranks,), and whether no placement costs less by `objective`.

    `node` is a placement that fits; it is returned if no cheaper one is found. There is no proof for more
    than MOST_RANKS ranks or _MOST_NODES unequal nodes, or if the search computes more than `work` numbers.
    """
    # A table of the links between all pairs of unequal nodes would take too much memory.
    if traffic.ranks > MOST_RANKS or (
        target.nodes > _MOST_NODES
        and (not uniform(target.hops) or (objective == "max-link" and not target.routes.one_switch))
    ):
        return node, False
    sent = np.zeros((traffic.ranks, traffic.ranks))
    np.add.at(sent, (traffic.source, traffic.target), traffic.bytes.astype(np.float64))
    np.fill_diagonal(sent, 0)
    order = _heaviest_first(sent)
    if not len(order):
        return node, True
    search = _Search(sent[np.ix_(order, order)], target, objective)
    found, proved = search.run(predicted(traffic, node, target).by(objective), work)
    return (node if found is None else _completed(order, found, target.room, traffic.ranks)), proved


def _heaviest_first(sent: Floats) -> Integers:
    """Return the ranks that communicate, in the order of their traffic with those before them."""
    volume = sent + sent.T
    total = volume.sum(axis=1)
    order: list[int] = []
    near = total.copy()
    while len(order) < int((total > 0).sum()):
        near[order] = -1
        order.append(int(near.argmax()))
        near = volume[:, order].sum(axis=1) + 1e-6 * total
    return np.array(order, dtype=np.int64)


def _completed(order: Integers, found: Integers, room: Integers, ranks: int) -> Integers:
    """Return the node of all ranks: those that do not communicate take the first free slots."""
    node = np.full(ranks, -1, dtype=np.int64)
    node[order] = found
    free = np.repeat(np.arange(len(room)), room - np.bincount(found, minlength=len(room)))
    silent = np.flatnonzero(node < 0)
    node[silent] = free[: len(silent)]
    return node


@dataclass(frozen=True)
class _States:
    """Partial placements of the first ranks: `node` [state, rank] and `free` slots [state, node].

    `cost` is that of the placed ranks. `added` [state, rank, node] is the cost that each rank would add on
    each node; `loads` [state, link] are bytes per cable. The objective needs one of them, the other is empty.
    """

    node: Integers
    free: Integers
    cost: Floats
    added: Floats
    loads: Floats

    def of(self, which: Integers) -> _States:
        """Return some of the states."""
        return _States(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


class _Search:
    """Branch and bound; `sent` [from, to] are the bytes between ranks, in the order of their placement."""

    def __init__(self, sent: Floats, target: Target, objective: str) -> None:
        self.sent, self.ranks, self.by_link = sent, len(sent), objective == "max-link"
        hops = target.hops if objective == "hop-bytes" else target.apart
        kind = _kinds(hops, target.room)
        if self.by_link and not target.routes.one_switch:  # equal distances do not mean equal routes
            kind = np.arange(target.nodes)
        # More nodes of a kind than ranks are not needed.
        within = _numbers(kind)
        self.nodes = np.flatnonzero((target.room > 0) & (within < self.ranks))
        self.kind, self.within = kind[self.nodes], within[self.nodes]
        self.room = np.minimum(target.room[self.nodes], self.ranks)
        self.hops = hops[np.ix_(self.nodes, self.nodes)]
        self.links = _links(target, self.nodes) if self.by_link else np.zeros((0, 0, 0))
        self.twin = [_twin(sent, rank) for rank in range(self.ranks)]
        self.ahead = [self._ahead(placed) for placed in range(self.ranks + 1)]

    def _ahead(self, placed: int) -> Floats:
        """Return half the least cost of each later rank on each node with all later ranks, [rank, node]."""
        volume = (self.sent + self.sent.T)[placed:, placed:]
        heaviest = -np.sort(-volume, axis=1)[:, : max(0, len(volume) - 1)]
        slots = np.zeros((len(self.nodes), heaviest.shape[1]))
        for node, distance in enumerate(np.minimum(self.hops, self.hops.T)):
            room = self.room - (np.arange(len(self.room)) == node)
            slots[node] = np.sort(np.repeat(distance, room))[: slots.shape[1]]
        ahead: Floats = heaviest @ slots.T / 2
        return ahead

    def run(self, cost: float, work: int) -> tuple[Integers | None, bool]:
        """Return the cheapest placement below `cost`, None if none is found, and whether that is proved."""
        nodes, links = len(self.nodes), self.links.shape[-1]
        start = _States(
            np.zeros((1, 0), dtype=np.int64),
            self.room[None, :],
            np.zeros(1),
            np.zeros((1, 0 if self.by_link else self.ranks, nodes)),
            np.zeros((1, links)),
        )
        each = nodes * (links if self.by_link else self.ranks)
        together = max(1, _TOGETHER // (each * nodes))
        best, stack = None, [start]
        while stack:
            states = stack.pop()
            if states.node.shape[1] == self.ranks:
                first = int(states.cost.argmin())
                if states.cost[first] < _below(cost):
                    best, cost = self.nodes[states.node[first]], float(states.cost[first])
                continue
            states = states.of(np.flatnonzero(self._bound(states) < _below(cost)))
            extended = self._extended(states)
            work -= len(extended.cost) * each
            if work < 0:
                return best, False
            bound = self._bound(extended)
            promising = np.flatnonzero(bound < _below(cost))
            order = promising[np.argsort(-bound[promising], kind="stable")]  # the best ones are taken first
            stack += [extended.of(order[at : at + together]) for at in range(0, len(order), together)]
        return best, True

    def _bound(self, states: _States) -> Floats:
        """Return a cost that no completion of each state goes below."""
        placed = states.node.shape[1]
        if self.by_link or placed == self.ranks:
            return states.cost
        added = states.added[:, placed:] + self.ahead[placed]
        added = np.where(states.free[:, None, :] > 0, added, np.inf)
        bound: Floats = states.cost + added.min(axis=2).sum(axis=1)
        return bound

    def _extended(self, states: _States) -> _States:
        """Return the states with the next rank on each node that it may take."""
        rank = states.node.shape[1]
        used = states.free < self.room
        # Only the first of several unused nodes of a kind.
        allowed = (states.free > 0) & (used | (self.within == self._used_of_kind(used)))
        if (twin := self.twin[rank]) >= 0:
            allowed &= np.arange(len(self.nodes)) >= states.node[:, twin, None]
        state, to = np.nonzero(allowed)
        states = states.of(state)
        free = states.free.copy()
        free[np.arange(len(to)), to] -= 1
        node = np.concatenate([states.node, to[:, None]], axis=1)
        if self.by_link:
            loads = states.loads.copy()
            for other in range(rank):
                at = states.node[:, other]
                if self.sent[rank, other]:
                    loads += self.sent[rank, other] * self.links[to, at]
                if self.sent[other, rank]:
                    loads += self.sent[other, rank] * self.links[at, to]
            return _States(node, free, loads.max(axis=1, initial=0.0), states.added, loads)
        cost = states.cost + states.added[np.arange(len(to)), rank, to]
        outward, inward = self.sent[rank, None, :, None], self.sent[None, :, rank, None]
        added = states.added + outward * self.hops[to][:, None, :] + inward * self.hops.T[to][:, None, :]
        return _States(node, free, cost, added, states.loads)

    def _used_of_kind(self, used: NDArray[np.bool_]) -> Integers:
        """Return the number of used nodes of the kind of each node, [state, node]."""
        same = (self.kind[:, None] == self.kind[None, :]).astype(np.int64)
        count: Integers = used.astype(np.int64) @ same
        return count


def _below(cost: float) -> float:
    """Return `cost`, less what rounding may add to a bound."""
    return cost - 1e-9 * max(1.0, cost)


def _kinds(hops: Floats, room: Integers) -> Integers:
    """Return for each node the first node that it can be exchanged with without changing any distance."""
    if uniform(hops):
        _, first, size = np.unique(room, return_index=True, return_inverse=True)
        return first[size]
    kind = np.arange(len(room))
    for node in range(len(room)):
        others = np.ones(len(room), dtype=bool)
        others[node] = False
        for first in np.unique(kind[:node]).tolist():
            others[first] = False
            if (
                room[node] == room[first]
                and hops[node, first] == hops[first, node]
                and (hops[node, others] == hops[first, others]).all()
                and (hops[others, node] == hops[others, first]).all()
            ):
                kind[node] = first
                break
            others[first] = True
    return kind


def _numbers(kind: Integers) -> Integers:
    """Return the number of each node within its kind, from 0."""
    numbers = np.zeros(len(kind), dtype=np.int64)
    for value in np.unique(kind):
        here = np.flatnonzero(kind == value)
        numbers[here] = np.arange(len(here))
    return numbers


def _twin(sent: Floats, rank: int) -> int:
    """Return the last earlier rank that exchanges the same with all others as `rank`, -1 if there is none."""
    for twin in range(rank - 1, -1, -1):
        others = np.ones(len(sent), dtype=bool)
        others[[twin, rank]] = False
        if (
            sent[twin, rank] == sent[rank, twin]
            and (sent[twin, others] == sent[rank, others]).all()
            and (sent[others, twin] == sent[others, rank]).all()
        ):
            return twin
    return -1


def _links(target: Target, nodes: Integers) -> Floats:
    """Return the load of each link by a byte from one of `nodes` to another, [from, to, link]."""
    source, destination = (ends.ravel() for ends in np.meshgrid(nodes, nodes, indexing="ij"))
    pair, arc = target.routes.crossings(source, destination)
    crossed, number = np.unique(arc, return_inverse=True)
    loads = np.zeros((len(source), len(crossed)))
    loads[pair, number] = 1 / target.routes.width[arc]
    return loads.reshape(len(nodes), len(nodes), len(crossed))
