"""Messages of the NAS programs: numbers, lengths and partners equal those that their algorithms imply.

Messages are counted on a modelled machine, and computed here from RNR-94-007 and NAS-95-020. Sums use
recursive doubling or a tree, total exchanges send directly, so the messages of collectives are known, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from kiviat.machine.modelled.machine import load_machine
from tests.simulated.conftest import SMALL, Simulation, number

DOUBLE, COMPLEX, INT = 8, 16, 4


class Sent:
    """Expected messages and bytes, by (from, to)."""

    def __init__(self) -> None:
        self.pairs: defaultdict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])

    def add(self, sender: int, receiver: int, size: float, times: int = 1) -> None:
        """Add messages; a rank's messages to itself are not counted."""
        if sender != receiver:
            self.pairs[sender, receiver][0] += times
            self.pairs[sender, receiver][1] += times * size

    def sum_of_all(self, ranks: int, size: float, times: int = 1) -> None:
        """Add an allreduce by recursive doubling over a power of two of ranks."""
        for rank in range(ranks):
            for step in range(ranks.bit_length() - 1):
                self.add(rank, rank ^ (1 << step), size, times)

    def sum_to_first(self, ranks: int, size: float, times: int = 1) -> None:
        """Add a reduction along a binomial tree."""
        for rank in range(1, ranks):
            self.add(rank, rank & (rank - 1), size, times)


def cg(sent: Sent, ranks: int) -> None:
    """Messages of CG; the process grid has as many columns as rows, or twice as many."""
    order, iterations, steps = 1400, 15, 25
    columns = 1 << ranks.bit_length() // 2
    rows = ranks // columns
    part = order // columns * DOUBLE
    for rank in range(ranks):
        row, column = divmod(rank, columns)
        for step in range(columns.bit_length() - 1):
            partner = rank ^ (1 << step)
            sent.add(rank, partner, part, iterations * (steps + 1))
            sent.add(rank, partner, DOUBLE, iterations * (2 + 2 * steps))
            sent.add(rank, partner, 2 * DOUBLE, iterations)
        across = columns // rows
        transposed = column // across * columns + across * row + column % across
        sent.add(rank, transposed, part, iterations * (steps + 1))


def ep(sent: Sent, ranks: int) -> None:
    """Messages of EP: an allreduce of two sums, the number of accepted pairs, and ten counts."""
    sent.sum_of_all(ranks, 13 * DOUBLE)


def ft(sent: Sent, ranks: int) -> None:
    """Messages of FT by slabs: an all-to-all for each of seven transforms, one forward and six backward."""
    transforms, elements = 7, 64**3
    for sender, receiver in product(range(ranks), repeat=2):
        sent.add(sender, receiver, elements / ranks**2 * COMPLEX, transforms)
    sent.sum_to_first(ranks, COMPLEX, transforms - 1)


def ft_pencils(sent: Sent, ranks: int) -> None:
    """Messages of FT by pencils: 128 x 128 x 32 points on 64 ranks, in 8 rows of 8."""
    side = 8
    for rank in range(ranks):
        for step in range(side):
            for partner in (rank // side * side + step, rank % side + step * side):
                sent.add(rank, partner, 128 * 128 * 32 / ranks / side * COMPLEX, 7)
    sent.sum_to_first(ranks, COMPLEX, 6)


def keys() -> np.ndarray:
    """Return the keys of IS, each the mean of four numbers of x <- 5^13 x mod 2^46, scaled to their range."""
    state, states = 314159265, []
    for _ in range(4 << 16):
        state = state * 5**13 % 2**46
        states.append(state)
    means = np.array(states).reshape(-1, 4).sum(axis=1) * (2.0**11 / 4 / 2**46)
    return np.asarray(means, dtype=int)


def is_(sent: Sent, ranks: int) -> None:
    """Messages of IS: successive buckets belong to one rank until it has its share.

    Keys that stay on a rank are not sent.
    """
    array, buckets = keys(), 1024
    share = len(array) // ranks
    sent.sum_of_all(ranks, (buckets + 5) * INT, 10)
    for iteration in range(1, 11):
        array[iteration], array[iteration + 10] = iteration, 2**11 - iteration
        total = np.bincount(array >> 1, minlength=buckets)
        before = np.cumsum(total) - total
        owners = np.minimum(before // share, ranks - 1)
        for rank in range(ranks):
            mine = np.bincount(array[rank * share : (rank + 1) * share] >> 1, minlength=buckets)
            for owner in range(ranks):
                sent.add(rank, owner, INT)
                sent.add(rank, owner, INT * mine[owners == owner].sum())


def mg(sent: Sent, ranks: int) -> None:
    """Messages of MG: three exchanges of each grid per cycle, two on the coarsest.

    They go along x, then along y with the points received along x, then along z.
    """
    box, side = [1, 1, 1], 2
    while box[0] * box[1] * box[2] < ranks:
        box[side] *= 2
        side = (side + 2) % 3
    finest, cycles = 32, 4
    places = [(rank % box[0], rank // box[0] % box[1], rank // box[0] // box[1]) for rank in range(ranks)]

    def points(n: int, side: int, at: int) -> int:
        """Return a rank's number of points along a side with n points.

        If there are more ranks than points, every second, fourth, … rank has one.
        """
        apart = max(box[side] // n, 1)
        return max(n // box[side], 1) if (at + 1) % apart == 0 else 0

    def neighbour(place: tuple[int, ...], side: int, step: int) -> int:
        x, y, z = ((at + step * (of == side)) % box[of] for of, at in enumerate(place))
        return x + box[0] * (y + box[1] * z)

    n = 2
    while n <= finest:
        for rank, place in enumerate(places):
            size = [points(n, side, at) for side, at in enumerate(place)]
            if not all(size):
                continue
            for side in range(3):
                apart = max(box[side] // n, 1)
                if apart == box[side]:
                    continue
                across = [size[other] + 2 * (other < side) for other in range(3) if other != side]
                for step in (-apart, apart):
                    times = cycles * (2 if n == 2 else 3)
                    sent.add(rank, neighbour(place, side, step), across[0] * across[1] * DOUBLE, times)
        # Ranks without points of the coarser grid receive the points around their part.
        for side in range(3):
            apart, wide = max(box[side] // n, 1), max(2 * box[side] // n, 1)
            if n == 2 or apart == wide:
                continue
            for rank, place in enumerate(places):
                fine = [points(n, of, at) for of, at in enumerate(place)]
                coarse = [points(n // 2, of, at) for of, at in enumerate(place)]
                if all(fine) and coarse[side] and all(coarse[side + 1 :]):
                    across = [coarse[of] + 2 for of in range(3) if of != side]
                    for step in (-apart, apart):
                        sent.add(rank, neighbour(place, side, step), across[0] * across[1] * DOUBLE, cycles)
        n *= 2
    sent.sum_of_all(ranks, DOUBLE)


def begin_of(place: int, n: int, parts: int) -> int:
    return n * place // parts


def lu(sent: Sent, ranks: int) -> None:
    """Messages of LU: for each plane an edge in both sweeps along both axes.

    Once per iteration, the halo follows, two points deep.
    """
    n, iterations, components = 12, 50, 5
    down = max(divisor for divisor in range(1, ranks + 1) if ranks % divisor == 0 and divisor**2 <= ranks)
    across = ranks // down
    for rank in range(ranks):
        place, parts = (rank % across, rank // across), (across, down)
        ends = [(begin_of(at, n, of), begin_of(at + 1, n, of)) for at, of in zip(place, parts, strict=True)]
        for axis, apart in ((0, 1), (1, across)):
            begin, end = ends[1 - axis]
            inner = min(end, n - 1) - max(begin, 1)
            for step in (-1, 1):
                if 0 <= place[axis] + step < parts[axis]:
                    to = rank + step * apart
                    sent.add(rank, to, components * inner * DOUBLE, iterations * (n - 2))
                    sent.add(rank, to, components * 2 * (end - begin) * (n - 2) * DOUBLE, iterations)
    sent.sum_of_all(ranks, components * DOUBLE)


def multipartition(steps: int, up: int, down: int) -> Callable[[Sent, int], None]:
    """Messages of BT and SP: the halo of all cells, two points deep, to six neighbours.

    In sweeps, some numbers of each line go from cell to cell.
    """

    def program(sent: Sent, ranks: int) -> None:
        n, components = 12, 5
        side = round(ranks**0.5)
        for rank in range(ranks):
            row, column = divmod(rank, side)
            for axis, step in product(range(3), (-1, 1)):
                right = step if axis == 0 else -step if axis == 2 else 0
                to = (row + step * (axis > 0)) % side * side + (column + right) % side
                faces = 0
                for z in range(side):
                    cell = ((column + z) % side, (row - z) % side, z)
                    if not 0 <= cell[axis] + step < side:
                        continue
                    ends = [(begin_of(at, n, side), begin_of(at + 1, n, side)) for at in cell]
                    others = [ends[other] for other in range(3) if other != axis]
                    faces += (others[0][1] - others[0][0]) * (others[1][1] - others[1][0])
                    lines = 1
                    for begin, end in others:
                        lines *= min(end, n - 1) - max(begin, 1)
                    sent.add(rank, to, lines * (up if step > 0 else down) * DOUBLE, steps)
                sent.add(rank, to, faces * 2 * components * DOUBLE, steps)

    return program


bt, sp = multipartition(60, 30, 5), multipartition(100, 22, 10)

CASES: list[tuple[str, str, int, Callable[[Sent, int], None]]] = [
    *(("bt", "S", ranks, bt) for ranks in (4, 9, 16)),
    *(("cg", "S", ranks, cg) for ranks in (2, 4, 8, 16)),
    *(("ep", "S", ranks, ep) for ranks in (2, 8)),
    *(("ft", "S", ranks, ft) for ranks in (4, 16)),
    ("ft", "W", 64, ft_pencils),
    *(("is", "S", ranks, is_) for ranks in (2, 4, 8)),
    *(("lu", "S", ranks, lu) for ranks in (2, 4, 8)),
    *(("mg", "S", ranks, mg) for ranks in (2, 4, 8, 16, 32)),
    *(("sp", "S", ranks, sp) for ranks in (4, 9, 16)),
]


@pytest.mark.parametrize("ranks", sorted({ranks for _, _, ranks, _ in CASES}))
def test_who_sends_how_much_to_whom(small: Simulation, ranks: int) -> None:
    machine = load_machine(SMALL, {"node": {"count": number("16")}})
    chosen = {
        **{"smpi/allreduce": "rdb", "smpi/reduce": "binomial"},
        **{"smpi/alltoall": "basic_linear", "smpi/alltoallv": "ompi_basic_linear"},
    }
    wide = Simulation(small.toolchain, small.bench, small.folder, machine, chosen)
    cases = [case for case in CASES if case[2] == ranks]
    results = wide.cases(wide.places(ranks), [f"{name} class={klass} mode=once" for name, klass, *_ in cases])
    for (name, klass, _, program), result in zip(cases, results, strict=True):
        assert result["outcome"] == "ok", (name, result["reason"])
        expected = Sent()
        program(expected, ranks)
        tables = {table["name"]: table["values"] for table in result["tables"]}
        counted = zip(tables["messages"], tables["message_bytes"], strict=True)
        found = {divmod(at, ranks): list(values) for at, values in enumerate(counted) if values[0]}
        assert found == dict(expected.pairs), (name, klass)


def test_ranks_without_empty_parts_exchange_like_the_others(small: Simulation) -> None:
    """Two of 128 ranks of IS send keys to every rank, the others do not: all choose the same exchange."""
    machine = load_machine(SMALL, {"node": {"count": number("32")}})
    wide = Simulation(small.toolchain, small.bench, small.folder, machine)
    (result,) = wide.cases(wide.places(128), ["is class=S mode=once"])
    assert result["outcome"] == "ok", result["reason"]
