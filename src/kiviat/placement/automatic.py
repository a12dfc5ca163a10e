"""Searches for the placement of lowest cost: kiviat place.

Ranks are mapped to nodes first, by the objective, then to the sockets of each node, by the bytes between
sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.placement.dual_bisection import mapped, uniform
from kiviat.placement.exact import least
from kiviat.placement.graph import Floats, Graph, Integers
from kiviat.placement.layout import Layout, Place
from kiviat.placement.prediction import Prediction, predicted
from kiviat.placement.search import even, refined, searched
from kiviat.placement.target import Target
from kiviat.placement.worst_link import relieved
from kiviat.profile import Traffic
from kiviat.record import InputError

# (graph, slots of each node, distances between nodes) -> node of each rank, or None if the mapper fails.
Mapper = Callable[[Graph, Integers, Floats], Integers | None]

_SMALL = 512  # with more ranks, the search for the worst link tries fewer starts
_RANDOM_STARTS = 8


@dataclass(frozen=True)
class Found:
    """`node` of each rank, shape (ranks,), and whether it is `proved` that no placement costs less.

    `mapper_failed`: the mapper was asked for a start and provided none.
    """

    node: Integers
    proved: bool
    mapper_failed: bool


def automatic(
    traffic: Traffic,
    target: Target,
    objective: str,
    others: Sequence[Layout] = (),
    mapper: Mapper | None = None,
) -> Found:
    """Return a placement at least as good by `objective` as each of `others`.

    `objective` is one of OBJECTIVES; `mapper` provides a further start of the search. Raise InputError if
    the ranks do not fit into `target`.
    """
    target.refuse(traffic.ranks)
    graph = Graph.of_traffic(traffic)
    theirs = [np.array([place.node for place in layout.places], dtype=np.int64) for layout in others]
    fitting = [node for node in theirs if (np.bincount(node, minlength=target.nodes) <= target.room).all()]
    small = traffic.ranks <= _SMALL
    if objective == "bytes" or uniform(target.hops):
        distances = [target.apart]
    elif objective == "hop-bytes" or not small:
        distances = [target.hops]
    else:
        distances = [target.apart, target.hops]
    candidates = list(fitting)
    mapper_failed = False
    if target.nodes == 1 or not len(graph.weight):
        mapper = None  # there is nothing to map
    for distance in distances:
        # Distances there and back may differ; the search uses their mean.
        symmetric = (distance + distance.T) / 2
        mapping = mapper(graph, target.room, symmetric) if mapper else None
        mapper_failed |= mapper is not None and mapping is None
        starts = [*fitting, *([] if mapping is None else [mapping])]
        candidates.append(searched(graph, target.room, symmetric, starts))

    def key(node: Integers) -> tuple[float, ...]:
        return _key(predicted(traffic, node, target), objective)

    if objective == "max-link" and small:
        candidates += _random_mappings(graph, target)
    candidates.sort(key=key)
    if objective == "max-link":
        best_few = candidates[: 3 if small else 1]
        candidates += [relieved(traffic, node, target.room, target.routes) for node in best_few]
    best = min(candidates, key=key)
    proved = predicted(traffic, best, target).by(objective) == 0
    if not proved:
        best, proved = least(traffic, target, objective, best)
    return Found(best if target.known else _renumbered(best, target.room), proved, mapper_failed)


def _random_mappings(graph: Graph, target: Target) -> list[Integers]:
    """Return mappings from several random seeds; equal bytes between nodes can mean different worst links."""
    mappings = []
    for seed in range(_RANDOM_STARTS):
        room = target.room if seed % 2 else even(target.room, graph.vertices)
        node = mapped(graph, room, target.apart, np.random.default_rng(seed))
        mappings.append(refined(graph, node, target.room, target.apart).node[: graph.vertices].copy())
    return mappings


def _renumbered(node: Integers, room: Integers) -> Integers:
    """Renumber equal nodes at one switch in the order of their first ranks."""
    if (room != room[0]).any():
        return node
    used, first = np.unique(node, return_index=True)
    number = np.zeros(len(room), dtype=np.int64)
    number[used[np.argsort(first)]] = np.arange(len(used))
    return number[node]


def _key(prediction: Prediction, objective: str) -> tuple[float, ...]:
    """Return the sort key: the objective, then the other costs."""
    return prediction.by(objective), prediction.nodes, prediction.worst_link, prediction.hop_bytes


def layout_of_nodes(traffic: Traffic, target: Target, node: Integers, bound: bool) -> Layout:
    """Return the layout for `node`, the node of each rank; if `bound`, with a core for each rank.

    Ranks that communicate share sockets. Raise InputError if a node has fewer cores than ranks.
    """
    places = [Place(int(at)) for at in node]
    if not bound:
        return Layout("automatic", target.topology, tuple(places))
    graph = Graph.of_traffic(traffic)
    for index, here in enumerate(target.topology.nodes):
        ranks = np.flatnonzero(node == index)
        if len(ranks):
            for rank, socket, core in _on_sockets(graph.part(ranks), ranks, here.sockets, here.name):
                places[rank] = Place(index, socket, core)
    return Layout("automatic", target.topology, tuple(places), "file")


def _on_sockets(
    graph: Graph, ranks: Integers, sockets: tuple[tuple[int, ...], ...], name: str
) -> list[tuple[int, int, int]]:
    """Return (rank, socket, core) of each rank."""
    room = np.array([len(cores) for cores in sockets], dtype=np.int64)
    if len(ranks) > room.sum():
        raise InputError(
            f"--bind core: {name} has {room.sum()} known cores for {len(ranks)} ranks; leave it out, "
            "or declare the sockets: --nodes NODESxSOCKETSxSLOTS"
        )
    in_order = np.repeat(np.arange(len(room)), room)[: len(ranks)]
    socket = searched(graph, room, 1.0 - np.eye(len(room)), [in_order]) if len(room) > 1 else in_order
    taken = [iter(cores) for cores in sockets]
    return [(int(rank), int(at), next(taken[at])) for rank, at in zip(ranks, socket, strict=True)]
