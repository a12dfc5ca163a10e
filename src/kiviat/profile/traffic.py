"""Sparse traffic matrices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# A dense matrix of more ranks takes more than 128 MiB.
_MOST_DENSE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """A sparse matrix of the messages and bytes that `source` sent to `target`.

    Arrays have one element per entry. Entries are unique and sorted by (source, target).
    """

    ranks: int
    source: Integers
    target: Integers
    messages: Integers
    bytes: Integers

    @classmethod
    def of_entries(cls, ranks: int, entries: Iterable[tuple[int, int, int, int]]) -> Traffic:
        """Return the matrix of (source, target, messages, bytes) entries; entries of a pair are summed."""
        table = np.array(list(entries), dtype=np.int64).reshape(-1, 4)
        return cls.of_columns(ranks, *table.T)

    @classmethod
    def of_columns(
        cls, ranks: int, source: Integers, target: Integers, messages: Integers, bytes: Integers
    ) -> Traffic:
        """Return the matrix of entries given as columns; entries of a pair are summed.

        Raise ValueError for ranks outside 0 … ranks - 1 and for negative numbers.
        """
        for name, column in (("source", source), ("target", target)):
            outside = column[(column < 0) | (column >= ranks)]
            if outside.size:
                raise ValueError(f"{name} is rank {outside[0]}, of {ranks} ranks")
        if (messages < 0).any() or (bytes < 0).any():
            raise ValueError("messages and bytes cannot be negative")
        pairs, place = np.unique(source * ranks + target, return_inverse=True)
        added = []
        for column in (messages, bytes):
            sums = np.zeros(len(pairs), dtype=np.int64)
            np.add.at(sums, place, column)
            added.append(sums)
        return cls(ranks, pairs // max(ranks, 1), pairs % max(ranks, 1), *added)

    def dense_bytes(self) -> Integers:
        """Return the bytes, shape (ranks, ranks), row = source; ValueError beyond 4,096 ranks."""
        if self.ranks > _MOST_DENSE:
            raise ValueError(f"{self.ranks} ranks are too many for a dense matrix")
        matrix = np.zeros((self.ranks, self.ranks), dtype=np.int64)
        matrix[self.source, self.target] = self.bytes
        return matrix

    def between(self, groups: Sequence[int]) -> tuple[int, int]:
        """Return the bytes within and across groups; `groups[rank]` is its group, such as its node."""
        if len(groups) != self.ranks:
            raise ValueError(f"{len(groups)} groups for {self.ranks} ranks")
        of = np.asarray(groups, dtype=np.int64)
        inside = of[self.source] == of[self.target]
        return int(self.bytes[inside].sum()), int(self.bytes[~inside].sum())
