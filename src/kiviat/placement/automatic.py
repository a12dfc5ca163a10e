"""The placement of least cost that we find: kiviat place.

The nodes of the ranks come first, by the objective; then the sockets of those on a node, by the bytes between
sockets, which nothing outside of the node depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kiviat.placement.dual_bisection import mapped, uniform
from kiviat.placement.graph import Floats, Graph, Integers
from kiviat.placement.layout import Layout, Place
from kiviat.placement.prediction import Prediction, predicted
from kiviat.placement.search import even, refined, searched
from kiviat.placement.target import Target
from kiviat.placement.worst_link import relieved
from kiviat.profile import Traffic
from kiviat.record import InputError

# (graph, room of each node, distance between nodes) -> the node of each rank; None where it cannot.
Mapper = Callable[[Graph, Integers, Floats], Integers | None]

# Programs of more ranks have fewer beginnings for the worst link.
_SMALL = 512
_MORE = 8


def automatic(
    traffic: Traffic,
    target: Target,
    objective: str,
    others: Sequence[Layout] = (),
    mapper: Mapper | None = None,
) -> Integers:
    """The node of each rank. It is no worse than any of `others`, by the objective.

    `mapper` makes another beginning, beside our own and `others`.
    """
    target.refuse(traffic.ranks)
    graph = Graph.of_traffic(traffic)
    given = [np.array([place.node for place in layout.places], dtype=np.int64) for layout in others]
    fitting = [node for node in given if (np.bincount(node, minlength=target.nodes) <= target.room).all()]
    small = traffic.ranks <= _SMALL
    if objective == "bytes" or uniform(target.hops):
        distances = [target.apart]
    elif objective == "hop-bytes" or not small:
        distances = [target.hops]
    else:
        distances = [target.apart, target.hops]
    found = list(fitting)
    for distance in distances:
        # Ways there and back may differ in length; where they do, the mean stands for both in the search.
        symmetric = (distance + distance.T) / 2
        theirs = mapper(graph, target.room, symmetric) if mapper else None
        begun = [*fitting, *([] if theirs is None else [theirs])]
        found.append(searched(graph, target.room, symmetric, begun))

    def key(node: Integers) -> tuple[float, ...]:
        return _key(predicted(traffic, node, target), objective)

    if objective == "max-link" and small:
        found += _more(graph, target)
    found.sort(key=key)
    if objective == "max-link":
        found += [relieved(traffic, node, target.room, target.routes) for node in found[: 3 if small else 1]]
    best = min(found, key=key)
    return best if target.known else _renumbered(best, target.room)


def _more(graph: Graph, target: Target) -> list[Integers]:
    """Beginnings that differ by chance: which of them has the best worst link, their bytes do not tell."""
    found = []
    for seed in range(_MORE):
        room = target.room if seed % 2 else even(target.room, graph.vertices)
        node = mapped(graph, room, target.apart, np.random.default_rng(seed))
        found.append(refined(graph, node, target.room, target.apart).node[: graph.vertices].copy())
    return found


def _renumbered(node: Integers, room: Integers) -> Integers:
    """Equal nodes at one switch, in the order of their first ranks."""
    if (room != room[0]).any():
        return node
    used, first = np.unique(node, return_index=True)
    number = np.zeros(len(room), dtype=np.int64)
    number[used[np.argsort(first)]] = np.arange(len(used))
    return number[node]


def _key(prediction: Prediction, objective: str) -> tuple[float, ...]:
    """The objective, then what else is good to have little of."""
    return prediction.by(objective), prediction.nodes, prediction.worst_link, prediction.hop_bytes


def layout_of_nodes(traffic: Traffic, target: Target, node: Integers, bound: bool) -> Layout:
    """With `bound` each rank gets a core, on the socket where those are that it talks to."""
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
    """(rank, socket, core) of each."""
    room = np.array([len(cores) for cores in sockets], dtype=np.int64)
    if len(ranks) > room.sum():
        raise InputError(
            f"--bind core: {name} has {room.sum()} known cores and gets {len(ranks)} ranks; leave it out, "
            "or say which sockets there are: --nodes NODESxSOCKETSxSLOTS"
        )
    in_order = np.repeat(np.arange(len(room)), room)[: len(ranks)]
    socket = searched(graph, room, 1.0 - np.eye(len(room)), [in_order]) if len(room) > 1 else in_order
    taken = [iter(cores) for cores in sockets]
    return [(int(rank), int(at), next(taken[at])) for rank, at in zip(ranks, socket, strict=True)]
