"""Describes traffic by shapes common in programs: the smallest set that explains the matrix.

A shape is a set of pairs of ranks. It is present if nearly all of its pairs communicate, and it explains
their traffic. The shape that explains most traffic is chosen first, among equal ones that with the fewest
pairs; then the next one for the remaining traffic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kiviat.profile import Traffic

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Minimum share of a shape's pairs that must communicate; minimum share of the traffic that is mentioned.
_PRESENT, _WORTH = 0.9, 0.05
_MOST_PARTS = 3
# Limit for the search, because many ranks have many three-dimensional grids.
_MOST_RANKS = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A shape. `pairs` says for each entry whether it belongs to it; `expected` is the size of the shape."""

    words: str
    pairs: Booleans
    expected: int


def describe(traffic: Traffic) -> list[str]:
    """Return sentences about the bytes sent; messages to self are ignored."""
    apart = (traffic.source != traffic.target) & (traffic.bytes > 0)
    source, target, weight = traffic.source[apart], traffic.target[apart], traffic.bytes[apart]
    whole = int(weight.sum())
    if not whole:
        return ["No rank sends anything to another."]
    sentences = []
    left = np.ones(len(weight), dtype=np.bool_)
    for _ in range(_MOST_PARTS):
        shape = _best(source, target, np.where(left, weight, 0), traffic.ranks)
        if shape is None:
            break
        found = shape.pairs & left
        share = int(weight[found].sum()) / whole
        if share < _WORTH:
            break
        sentences.append(f"{percent(share)} of them: {shape.words}.")
        left &= ~found
        if not left.any():
            break
    rest = int(weight[left].sum()) / whole
    if rest >= _WORTH:
        sentences.append(_irregular(source[left], target[left], weight[left], traffic.ranks, rest))
    sentences += _components(source, target, traffic.ranks)
    return sentences


def _best(source: Integers, target: Integers, weight: Integers, ranks: int) -> Shape | None:
    """Return the shape that explains most of the remaining traffic; None without any.

    A pair may belong to two shapes: it counts as present for both, and its bytes for the first.
    """
    found: tuple[float, int] | None = None
    best: Shape | None = None
    whole = float(weight.sum())
    for shape in _shapes(source, target, ranks):
        present = int(shape.pairs.sum())
        if not shape.expected or present < _PRESENT * shape.expected:
            continue
        # Rounded, so that one per cent more traffic does not make a shape with many more pairs the better
        # one.
        value = round(float(weight[shape.pairs].sum()) / whole, 2), -shape.expected
        if found is None or value > found:
            found, best = value, shape
    return best


def _shapes(source: Integers, target: Integers, ranks: int) -> Iterator[Shape]:
    everyone = Shape("all-to-all: every rank sends to every other", source != target, ranks * (ranks - 1))
    if ranks > 3 and len(source) >= _PRESENT * everyone.expected:
        yield everyone  # if no other shape explains more
        return
    step = target - source
    ring = np.minimum(np.abs(step), ranks - np.abs(step))
    yield Shape("a chain: each rank sends to the next one", step == 1, ranks - 1)
    yield Shape("a chain: each rank sends to the one before", step == -1, ranks - 1)
    if ranks > 2:
        yield Shape("nearest neighbours in a chain of all ranks", np.abs(step) == 1, 2 * (ranks - 1))
        yield Shape("a ring: each rank sends to the next one", step % ranks == 1, ranks)
        yield Shape("a ring: each rank sends to the one before", step % ranks == ranks - 1, ranks)
    if ranks > 3:
        yield Shape("nearest neighbours in a ring of all ranks", ring == 1, 2 * ranks)
        yield from _power_of_two(source, target, ranks)
        yield from _star(source, target, ranks)
        yield from _blocks(source, target, ranks)
        yield from _grids(source, target, ranks)
    elif ranks > 1:
        yield everyone


def _power_of_two(source: Integers, target: Integers, ranks: int) -> Iterator[Shape]:
    """Yield partners of recursive doubling, s XOR 2^k, and partners at distances ± 2^k around the ring."""
    bits = max(1, (ranks - 1).bit_length())
    powers = 1 << np.arange(bits)
    everyone = np.arange(ranks)
    partners = int(sum(((everyone ^ power) < ranks).sum() for power in powers))
    yield Shape(
        f"power-of-two distances: exchanges of recursive doubling in {bits} steps",
        np.isin(source ^ target, powers),
        partners,
    )
    steps = {int(step) for power in powers for step in (power % ranks, -power % ranks)}
    yield Shape(
        "power-of-two distances around the ring",
        np.isin((target - source) % ranks, list(steps)),
        ranks * len(steps),
    )
    if bits > 2:
        forward = {int(power) for power in powers}
        yield Shape(
            "power-of-two distances around the ring, in one direction",
            np.isin((target - source) % ranks, list(forward)),
            ranks * len(forward),
        )


def _star(source: Integers, target: Integers, ranks: int) -> Iterator[Shape]:
    for rank in np.unique(np.concatenate([_busiest(source, ranks), _busiest(target, ranks)])):
        gives, gets = source == rank, target == rank
        yield Shape(f"a star: all others send to rank {rank}", gets, ranks - 1)
        yield Shape(f"a star: rank {rank} sends to all others", gives, ranks - 1)
        yield Shape(f"a star: rank {rank} and all others", gives | gets, 2 * (ranks - 1))


def _busiest(of: Integers, ranks: int) -> Integers:
    return np.array([int(np.argmax(np.bincount(of, minlength=ranks)))]) if of.size else of


def _blocks(source: Integers, target: Integers, ranks: int) -> Iterator[Shape]:
    """Yield rows of `size` consecutive ranks, and columns of ranks that are `size` apart."""
    for size in _divisors(ranks):
        rows, columns = source // size == target // size, source % size == target % size
        high = ranks // size
        within, upwards = ranks * (size - 1), ranks * (high - 1)
        yield Shape(f"groups: all pairs within {high} rows of {size} ranks each", rows, within)
        far = f"groups: all pairs within {size} columns of ranks that lie {size} apart"
        yield Shape(far, columns, upwards)
        yield Shape(
            f"rows and columns of a {high} × {size} grid: all pairs within each",
            rows | columns,
            within + upwards,
        )
        transposed = (source % size) * high + source // size
        if size == high:
            yield Shape(
                f"the transposition of a {size} × {size} grid",
                (target == transposed) & (source != target),
                ranks - size,
            )


def _grids(source: Integers, target: Integers, ranks: int) -> Iterator[Shape]:
    if ranks > _MOST_RANKS:
        return
    for dimensions in _factorings(ranks):
        shape = " × ".join(map(str, dimensions))
        ours, theirs = np.unravel_index(source, dimensions), np.unravel_index(target, dimensions)
        steps = [there.astype(np.int64) - here for here, there in zip(ours, theirs, strict=True)]
        flat = [np.abs(step) for step in steps]
        wrapped = [np.minimum(step, extent - step) for step, extent in zip(flat, dimensions, strict=True)]
        inner = [ranks // extent * (extent - 1) for extent in dimensions]
        around = [ranks if extent > 2 else ranks // 2 for extent in dimensions]
        yield Shape(f"nearest neighbours in a {shape} grid", sum(flat) == 1, 2 * sum(inner))
        if max(dimensions) > 2:
            yield Shape(f"nearest neighbours in a {shape} torus", sum(wrapped) == 1, 2 * sum(around))
        boxes = [extent + 2 * (extent - 1) for extent in dimensions]
        yield Shape(
            f"neighbours, also diagonal ones, in a {shape} grid",
            np.max(flat, axis=0) == 1,
            int(np.prod(boxes)) - ranks,
        )
        if min(dimensions) > 2:
            yield Shape(
                f"neighbours, also diagonal ones, in a {shape} torus",
                np.max(wrapped, axis=0) == 1,
                ranks * (3 ** len(dimensions) - 1),
            )


def _divisors(ranks: int) -> list[int]:
    return [size for size in range(2, ranks // 2 + 1) if ranks % size == 0]


def _factorings(ranks: int) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of grids of two and three dimensions, each larger than 1."""
    for first in _divisors(ranks):
        rest = ranks // first
        yield first, rest
        for second in _divisors(rest):
            yield first, second, rest // second


def _irregular(source: Integers, target: Integers, weight: Integers, ranks: int, share: float) -> str:
    pairs = len(source)
    partners = pairs / max(1, len(np.unique(source)))
    distances = np.abs(target - source)
    found, place = np.unique(distances, return_inverse=True)
    carried = np.bincount(place, weight)
    heaviest = np.argsort(-carried, kind="stable")[:3]
    few = ", ".join(
        f"{found[at]} ({percent(float(carried[at]) / float(weight.sum()))})" for at in heaviest.tolist()
    )
    return (
        f"{percent(share)} of them: no known pattern; {partners:.1f} partners per sending rank, "
        f"most between ranks whose numbers differ by {few}."
    )


def _components(source: Integers, target: Integers, ranks: int) -> list[str]:
    """Return descriptions of groups of ranks that exchange no messages with each other."""
    parent = np.arange(ranks)
    while True:
        lower = parent.copy()
        np.minimum.at(lower, source, parent[target])
        np.minimum.at(lower, target, parent[source])
        lower = lower[lower]
        if (lower == parent).all():
            break
        parent = lower
    _, sizes = np.unique(parent, return_counts=True)
    talking = sizes[sizes > 1]
    if len(talking) < 2:
        return []
    equal = talking.min() == talking.max()
    size = f"{talking[0]} ranks each" if equal else f"{talking.min()} to {talking.max()} ranks"
    return [f"{len(talking)} groups of {size} exchange no messages."]


def percent(share: float) -> str:
    """Return a fraction as "37 %"; "All" only for exactly 1."""
    if 0 < share < 0.005:
        return "less than 1 %"
    return f"{100 * share:.0f} %" if share < 0.995 else "All" if share > 0.9999 else f"{100 * share:.1f} %"
