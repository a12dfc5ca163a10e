"""Generates traffic and networks: typical and untypical communication of parallel programs, and targets."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from kiviat.machine.modelled import networks
from kiviat.machine.topology import Node, Topology
from kiviat.placement.routes import Routes
from kiviat.placement.target import Target
from kiviat.profile import Traffic

Pairs = dict[tuple[int, int], int]
_UNIT = 1000


def traffic(source: random.Random, kind: str, ranks: int) -> Traffic:
    """Return traffic of about `ranks` ranks; in half of the cases they are numbered randomly."""
    ranks, pairs = KINDS[kind](source, ranks)
    names = list(range(ranks))
    if source.random() < 0.5:
        source.shuffle(names)
    entries = ((names[one], names[other], 1, sent) for (one, other), sent in pairs.items() if one != other)
    return Traffic.of_entries(ranks, entries)


def _grid(source: random.Random, lengths: tuple[int, ...]) -> tuple[int, Pairs]:
    """Return neighbours in each direction of a grid, in half of the cases periodic."""
    strides = [int(np.prod(lengths[axis + 1 :])) for axis in range(len(lengths))]
    round_ends, last = source.random() < 0.5, source.choice([1, 3])
    pairs: Pairs = {}
    for at in product(*map(range, lengths)):
        here = sum(index * stride for index, stride in zip(at, strides, strict=True))
        for axis, (index, length, stride) in enumerate(zip(at, lengths, strides, strict=True)):
            if index + 1 == length and (not round_ends or length < 3):
                continue
            there = here + stride if index + 1 < length else here - index * stride
            sent = _UNIT * (last if axis == len(lengths) - 1 else 1)
            pairs[here, there] = pairs[there, here] = sent
    return int(np.prod(lengths)), pairs


def _square(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    side = max(2, int(ranks**0.5))
    return _grid(source, (side, max(1, ranks // side)))


def _cube(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    side = max(2, round(ranks ** (1 / 3)))
    return _grid(source, (side, side, max(1, ranks // side**2)))


def _ring(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    return ranks, {(rank, (rank + 1) % ranks): _UNIT for rank in range(ranks)}


def _random(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    pairs = {}
    for rank in range(ranks):
        for other in source.sample(range(ranks), min(ranks, 5)):
            pairs[rank, other] = source.randint(1, 10 * _UNIT)
    return ranks, pairs


def _powers_of_two(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    steps = [1 << bit for bit in range((ranks - 1).bit_length())]
    return ranks, {
        (rank, rank ^ step): _UNIT for rank in range(ranks) for step in steps if rank ^ step < ranks
    }


def _groups(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    """Return all-to-all traffic within groups, and little between them."""
    size = source.choice([3, 4, 5, 8])
    pairs = {
        (rank, other): _UNIT
        for rank in range(ranks)
        for other in range(rank // size * size, min(ranks, rank // size * size + size))
    }
    pairs |= {(rank, source.randrange(ranks)): _UNIT // 10 for rank in range(ranks)}
    return ranks, pairs


def _rows_and_columns(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    side = max(2, int(ranks**0.5))
    pairs: Pairs = {}
    for row, column, other in product(range(side), repeat=3):
        pairs[row * side + column, row * side + other] = _UNIT
        pairs[row * side + column, other * side + column] = _UNIT // 2
    return side * side, pairs


def _geometric(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    """Return traffic between nearby points in a square, as in a partitioned unstructured grid."""
    points = np.array([(source.random(), source.random()) for _ in range(ranks)])
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    near = np.argwhere(squares < 8 / np.pi / ranks).tolist()
    return ranks, {(one, other): source.randint(_UNIT // 2, 3 * _UNIT // 2) for one, other in near}


def _scale_free(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    """Return a graph in which few ranks have many partners: ranks with partners get more."""
    ends, pairs = [0, 1], {(0, 1): _UNIT}
    for rank in range(2, ranks):
        for other in [source.choice(ends) for _ in range(3)]:
            pairs[rank, other] = source.randint(1, 2 * _UNIT)
            ends += [rank, other]
    return ranks, pairs


def _tree(source: random.Random, ranks: int) -> tuple[int, Pairs]:
    return ranks, {(rank, (rank - 1) // 2): _UNIT * source.randint(1, 4) for rank in range(1, ranks)}


KINDS: dict[str, Callable[[random.Random, int], tuple[int, Pairs]]] = {
    "square": _square,
    "cube": _cube,
    "ring": _ring,
    "random": _random,
    "powers of two": _powers_of_two,
    "groups": _groups,
    "rows and columns": _rows_and_columns,
    "geometric": _geometric,
    "scale-free": _scale_free,
    "tree": _tree,
}
NETWORKS = ("crossbar", "fat-tree", "torus", "dragonfly")


def target(source: random.Random, kind: str, ranks: int, slots: int) -> Target:
    """Return nodes of `slots` slots for these ranks, sometimes a few more than necessary."""
    nodes = max(2, -(-ranks // slots) + source.choice([0, 0, 0, 1, 3]))
    parameters: dict[str, list[int]] = {}
    if kind == "fat-tree":
        parameters = {"down": [4, 4, -(-nodes // 16)], "up": [1, 2, 2], "cables": [1, 1, 1], "planes": [1]}
    elif kind == "torus":
        side = max(2, round(nodes ** (1 / 3)))
        parameters = {"dimensions": [side, side, -(-nodes // side**2)]}
        nodes = side * side * -(-nodes // side**2)
    elif kind == "dragonfly":
        groups = max(2, -(-nodes // 16))
        parameters = {"groups": [groups], "routers": [4], "nodes": [4], "cables": [max(1, groups // 8)]}
    network = networks.build(kind, nodes, parameters, kind)
    topology = Topology(tuple(Node(f"n{index}", granted=slots) for index in range(1, nodes + 1)))
    return Target(f"{kind} of {nodes}x{slots}", topology, Routes(network, nodes), known=True)


def problems(count: int, ranks: tuple[int, ...], seed: int = 1) -> Iterator[tuple[str, Traffic, Target, str]]:
    """Yield description, traffic, target and objective of generated problems."""
    source = random.Random(seed)
    for number in range(count):
        kind, network = source.choice(list(KINDS)), source.choice(NETWORKS)
        made = traffic(source, kind, source.choice(ranks))
        onto = target(source, network, made.ranks, source.choice([2, 4, 6, 8, 16]))
        objective = ("bytes", "hop-bytes", "max-link")[number % 3]
        yield f"{kind} of {made.ranks} ranks, {onto.label}, {objective}", made, onto, objective
