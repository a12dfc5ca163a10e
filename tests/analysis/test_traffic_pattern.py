"""Descriptions of traffic patterns: known patterns, and mixtures, are recognised in generated matrices."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from kiviat.analysis.profiles.traffic_pattern import describe
from kiviat.profile import Traffic

Pairs = Iterable[tuple[int, int]]


def traffic(ranks: int, *parts: tuple[Pairs, int]) -> Traffic:
    return Traffic.of_entries(ranks, [(a, b, 1, size) for pairs, size in parts for a, b in pairs])


def description_of(ranks: int, *parts: tuple[Pairs, int]) -> str:
    return " ".join(describe(traffic(ranks, *parts)))


def grid(extents: tuple[int, ...], periodic: bool, diagonal: bool = False) -> Pairs:
    for here in np.ndindex(*extents):
        for step in itertools.product((-1, 0, 1), repeat=len(extents)):
            if not any(step) or (not diagonal and sum(map(abs, step)) != 1):
                continue
            there = [a + b for a, b in zip(here, step, strict=True)]
            if periodic:
                there = [at % extent for at, extent in zip(there, extents, strict=True)]
            if all(0 <= at < extent for at, extent in zip(there, extents, strict=True)):
                yield (
                    int(np.ravel_multi_index(here, extents)),
                    int(np.ravel_multi_index(there, extents)),
                )


def everyone(ranks: int) -> Pairs:
    return ((a, b) for a in range(ranks) for b in range(ranks) if a != b)


def rows(size: int, ranks: int) -> Pairs:
    return ((a, b) for a, b in everyone(ranks) if a // size == b // size)


def columns(size: int, ranks: int) -> Pairs:
    return ((a, b) for a, b in everyone(ranks) if a % size == b % size)


@pytest.mark.parametrize(
    ("ranks", "pairs", "words"),
    [
        (16, ((rank, (rank + 1) % 16) for rank in range(16)), "a ring: each rank sends to the next one"),
        (16, ((rank, rank + 1) for rank in range(15)), "a chain: each rank sends to the next one"),
        (2, [(0, 1), (1, 0)], "all-to-all"),
        (20, grid((20,), periodic=False), "nearest neighbours in a chain of all ranks"),
        (20, grid((20,), periodic=True), "nearest neighbours in a ring of all ranks"),
        (20, grid((4, 5), periodic=False), "nearest neighbours in a 4 × 5 grid"),
        (20, grid((5, 4), periodic=False), "nearest neighbours in a 5 × 4 grid"),
        (42, grid((6, 7), periodic=True), "nearest neighbours in a 6 × 7 torus"),
        (60, grid((3, 4, 5), periodic=False), "nearest neighbours in a 3 × 4 × 5 grid"),
        (105, grid((3, 5, 7), periodic=True), "nearest neighbours in a 3 × 5 × 7 torus"),
        (30, grid((5, 6), periodic=False, diagonal=True), "also diagonal ones, in a 5 × 6 grid"),
        (30, grid((5, 6), periodic=True, diagonal=True), "also diagonal ones, in a 5 × 6 torus"),
        (16, everyone(16), "all-to-all: every rank sends to every other"),
        (24, rows(6, 24), "all pairs within 4 rows of 6 ranks each"),
        (24, columns(6, 24), "all pairs within 6 columns of ranks that lie 6 apart"),
        (24, {*rows(6, 24), *columns(6, 24)}, "rows and columns of a 4 × 6 grid"),
        (32, ((a, a ^ 1 << k) for a in range(32) for k in range(5)), "recursive doubling in 5 steps"),
        (24, ((a, (a + (1 << k)) % 24) for a in range(24) for k in range(5)), "in one direction"),
        (16, ((a, 5) for a in range(16) if a != 5), "a star: all others send to rank 5"),
        (16, ((a, b) for a in range(16) for b in range(16) if (a == 5) != (b == 5)), "rank 5 and all"),
        (16, ((a, a % 4 * 4 + a // 4) for a in range(16)), "the transposition of a 4 × 4 grid"),
    ],
)  # fmt: skip
def test_known_patterns(ranks: int, pairs: Pairs, words: str) -> None:
    text = description_of(ranks, (list(pairs), 1000))
    assert words in text
    assert text.startswith("All of them") and "no pattern" not in text


def test_pairs_that_are_missing_or_light_do_not_hide_a_pattern() -> None:
    pairs = list(grid((8, 8), periodic=False))
    text = description_of(64, (pairs[5:], 1000), ([(0, 37), (50, 3)], 100))
    assert "nearest neighbours in a 8 × 8 grid" in text


def test_a_mixture() -> None:
    """A halo exchange plus a gather to rank 0 is described as both, the halo as the larger part."""
    text = describe(traffic(36, (grid((6, 6), periodic=True), 1000), (((a, 0) for a in range(36)), 1000)))
    assert "nearest neighbours in a 6 × 6 torus" in text[0]
    assert "star: all others send to rank 0" in text[1]


def test_random_pairs_are_no_pattern() -> None:
    rng = np.random.default_rng(3)
    pairs = {(int(a), int(b)) for a, b in rng.integers(0, 64, (400, 2)) if a != b}
    text = description_of(64, (pairs, 10))
    assert "no known pattern" in text
    assert "partners per sending rank" in text


def test_groups_apart() -> None:
    assert "4 groups of 6 ranks each exchange no messages" in description_of(24, (rows(6, 24), 10))


def test_nothing_is_sent() -> None:
    assert describe(traffic(4)) == ["No rank sends anything to another."]
    assert describe(traffic(4, ([(1, 1)], 5))) == ["No rank sends anything to another."]


def test_many_ranks_take_no_time() -> None:
    """The pattern of 4,096 ranks in a cube is recognised quickly."""
    text = description_of(4096, (grid((16, 16, 16), periodic=False), 10))
    assert "nearest neighbours in a 16 × 16 × 16 grid" in text
