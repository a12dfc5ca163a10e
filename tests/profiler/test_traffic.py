"""Sparse traffic matrices."""

from __future__ import annotations

import numpy as np
import pytest

from kiviat.profile import Traffic

# Entries are in no particular order, and the pair 0 → 1 occurs twice.
ENTRIES = [(2, 0, 1, 7), (0, 1, 2, 16), (0, 1, 1, 4), (1, 1, 3, 30), (0, 0, 0, 0)]


def test_entries_are_sorted_and_equal_pairs_added_up() -> None:
    traffic = Traffic.of_entries(3, ENTRIES)
    columns = traffic.source, traffic.target, traffic.messages, traffic.bytes
    assert [tuple(map(int, entry)) for entry in zip(*columns, strict=True)] == [
        (0, 0, 0, 0),
        (0, 1, 3, 20),
        (1, 1, 3, 30),
        (2, 0, 1, 7),
    ]
    assert all(column.dtype == np.int64 for column in columns)


def test_dense() -> None:
    assert Traffic.of_entries(3, ENTRIES).dense_bytes().tolist() == [[0, 20, 0], [0, 30, 0], [7, 0, 0]]
    with pytest.raises(ValueError, match="100000 ranks"):
        Traffic.of_entries(100_000, ENTRIES).dense_bytes()


def test_between_groups() -> None:
    traffic = Traffic.of_entries(3, ENTRIES)
    assert traffic.between([0, 0, 1]) == (50, 7)
    assert traffic.between([0, 1, 1]) == (30, 27)
    with pytest.raises(ValueError, match="2 groups for 3 ranks"):
        traffic.between([0, 1])


def test_more_than_32_bits() -> None:
    """Positions in the matrix and numbers of bytes may exceed 2^32."""
    traffic = Traffic.of_entries(100_000, [(99_999, 99_998, 1, 1 << 40)] * 3)
    assert (int(traffic.source[0]), int(traffic.target[0])) == (99_999, 99_998)
    assert traffic.bytes.tolist() == [3 << 40]


def test_nothing_was_sent() -> None:
    assert Traffic.of_entries(2, []).between([0, 1]) == (0, 0)
    assert Traffic.of_entries(0, []).bytes.size == 0


@pytest.mark.parametrize("entry", [(3, 0, 1, 1), (0, -1, 1, 1), (0, 1, -1, 1), (0, 1, 1, -1)])
def test_impossible_entries(entry: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError):
        Traffic.of_entries(3, [entry])
