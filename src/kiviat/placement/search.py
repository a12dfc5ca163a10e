"""Searches for the mapping of lowest cost: several starts, local search, then reconstruction of parts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kiviat.placement.dual_bisection import mapped, uniform
from kiviat.placement.graph import Floats, Graph, Integers
from kiviat.placement.swaps import Swaps, repaired

_SEED = 1
_SWEEPS = 30
# Attempts decrease with the number of ranks and edges, so that 16 ranks take a second and 4,096 a few. Limits
# count attempts, never seconds: a mapping does not depend on the speed of the machine.
_STARTS = 2_000
_REBUILT = 40_000
_LEAST_REBUILT, _MOST_REBUILT = 40, 240
_MOST_AGGLOMERATED = 2_048
_MOST_EDGES = 200_000


def searched(graph: Graph, room: Integers, distance: Floats, others: Iterable[Integers]) -> Integers:
    """Return the node of each rank, minimising the sum over pairs of bytes times the distance of their nodes.

    `others` are further starts of the search, which may exceed the room of nodes.
    """
    random = np.random.default_rng(_SEED)
    begun = [repaired(graph, node, room, distance) for node in others]
    ranks = graph.vertices
    if uniform(distance) and room.max() == 1:
        return begun[0] if begun else np.arange(ranks)  # all mappings cost the same
    load = max(ranks, len(graph.weight) * ranks // _MOST_EDGES)
    starts = 6 if load <= 256 else 2
    for attempt in range(min(8, max(1, _STARTS // load))):
        rooms = room if attempt % 2 == 0 else even(room, ranks)
        begun.append(mapped(graph, rooms, distance, random, starts=starts))
        if ranks <= _MOST_AGGLOMERATED:
            groups = agglomerated(graph, rooms, distance, random, starts=starts)
            begun.append(repaired(graph, groups, room, distance))
    begun.sort(key=lambda node: cost(graph, node, distance))
    promising = begun[: min(8, max(1, _STARTS // load))]
    best = min((refined(graph, node, room, distance) for node in promising), key=Swaps.cost)
    if not best.cost():
        return best.node[:ranks].copy()  # nothing is sent between nodes
    most = min(_MOST_REBUILT, 4 * ranks + 16)
    _rebuild(best, random, min(most, max(_LEAST_REBUILT, _REBUILT // load)))
    node: Integers = best.node[:ranks].copy()
    return node


def even(room: Integers, ranks: int) -> Integers:
    """Return room for exactly `ranks` ranks, spread evenly over the nodes.

    It serves as an alternative, because completely filled nodes are not always the cheapest.
    """
    share: Integers = np.floor(room * (ranks / room.sum())).astype(np.int64)
    left = np.flatnonzero(share < room)[: ranks - int(share.sum())]
    share[left] += 1
    return share


def cost(graph: Graph, node: Integers, distance: Floats) -> float:
    """Return the sum over edges of weight times distance, with rank i on node[i]."""
    return float((graph.weight * distance[node[graph.row], node[graph.neighbour]]).sum()) / 2


def refined(
    graph: Graph, node: Integers, room: Integers, distance: Floats, fixed: Floats | None = None
) -> Swaps:
    """Return `node` improved by exchanges of ranks and of whole nodes."""
    state = Swaps(graph, node, room, distance, fixed)
    _sweep(state)
    if fixed is None and not uniform(distance) and (moved := _nodes_exchanged(state)) is not None:
        state = Swaps(graph, moved, room, distance)
        _sweep(state)
    return state


def _sweep(state: Swaps) -> None:
    for _ in range(_SWEEPS):
        if not state.sweep():
            return


def _nodes_exchanged(state: Swaps) -> Integers | None:
    """Return a mapping with whole nodes exchanged; None if sizes differ or nothing is gained."""
    nodes = len(state.room)
    if (state.room != state.room[0]).any():
        return None
    node = state.node[: state.ranks]
    one_each = np.ones(nodes, dtype=np.int64)
    groups = Swaps(state.graph.merged(node, nodes), np.arange(nodes), one_each, state.distance)
    before = groups.cost()
    _sweep(groups)
    return groups.node[node] if groups.cost() < before * (1 - 1e-9) else None


def agglomerated(
    graph: Graph,
    room: Integers,
    distance: Floats,
    random: np.random.Generator,
    fixed: Floats | None = None,
    starts: int = 6,
) -> Integers:
    """Return the node of each rank: groups are formed by traffic, one per node, and mapped as wholes.

    As in `mapped`, a node may exceed its room by a few ranks.
    """
    into = np.arange(graph.vertices)
    groups = graph
    while groups.vertices > len(room):
        closer = groups.matched(int(room.max()), random)
        if closer is None:
            break
        into = closer[into]
        groups = groups.merged(closer, int(closer.max()) + 1)
    if fixed is not None:
        summed = np.zeros((groups.vertices, len(room)))
        np.add.at(summed, into, fixed)
        fixed = summed
    return mapped(groups, room, distance, random, fixed, starts)[into]


def _rebuild(state: Swaps, random: np.random.Generator, attempts: int) -> None:
    """Repeatedly remap the ranks of a few communicating nodes, and keep improvements."""
    nodes = len(state.room)
    if nodes < 2:
        return
    for attempt in range(attempts):
        some = _some_nodes(state, random)
        inside = np.zeros(nodes, dtype=bool)
        inside[some] = True
        ranks = np.flatnonzero(inside[state.node[: state.ranks]])
        if len(ranks) < 2:
            continue
        part = state.graph.part(ranks)
        room, distance = state.room[some], state.distance[np.ix_(some, some)]
        number = np.full(nodes, -1, dtype=np.int64)
        number[some] = np.arange(len(some))
        old = Swaps(part, number[state.node[ranks]], room, distance)
        fixed = state.there[np.ix_(ranks, some)] - old.there[: len(ranks)]
        before = Swaps(part, number[state.node[ranks]], room, distance, fixed).cost()
        begin = mapped if attempt % 2 else agglomerated
        rooms = room if attempt % 4 < 2 else even(room, len(ranks))
        begun = repaired(part, begin(part, rooms, distance, random, fixed), room, distance)
        remapped = refined(part, begun, room, distance, fixed)
        if remapped.cost() < before - 1e-9 * max(1.0, abs(before)):
            for rank, to in zip(ranks.tolist(), some[remapped.node[: len(ranks)]].tolist(), strict=True):
                if state.node[rank] != to:
                    state.move(rank, to)
            state.settle()
    _sweep(state)


def _some_nodes(state: Swaps, random: np.random.Generator) -> Integers:
    """Return a random node and those that it, and the nodes chosen so far, exchange most with."""
    nodes = len(state.room)
    count = min(nodes, int(random.integers(2, 7)))
    chosen = [int(random.integers(nodes))]
    volume = np.zeros(nodes)
    while len(chosen) < count:
        for rank in np.flatnonzero(state.node[: state.ranks] == chosen[-1]).tolist():
            neighbours, weights = state.graph.edges_of(rank)
            np.add.at(volume, state.node[neighbours], weights)
        chance = volume + 1e-9 * volume.sum() + 1e-30
        chance[chosen] = 0
        chosen.append(int(random.choice(nodes, p=chance / chance.sum())))
    return np.sort(np.array(chosen))
