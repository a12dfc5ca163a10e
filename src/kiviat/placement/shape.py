"""Shapes of jobs: `8x2` is 8 nodes with 2 ranks each, the notation of the papers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kiviat.record import InputError

_SHAPE = re.compile(r"\s*([0-9]{1,9})\s*[xX]\s*([0-9]{1,9})\s*")


@dataclass(frozen=True)
class Shape:
    """Nodes of a job, with the same number of ranks on each."""

    nodes: int
    per_node: int

    @property
    def ranks(self) -> int:
        """Ranks on all nodes."""
        return self.nodes * self.per_node


def parse_shape(text: str, where: str = "-n") -> Shape:
    """Return the shape that `text` such as "8x2", given in `where`, denotes; InputError for anything else."""
    match = _SHAPE.fullmatch(text)
    if not match or not int(match[1]) or not int(match[2]):
        raise InputError(f"{where} {text!r} is not a shape; write NODESxRANKS such as 8x2")
    return Shape(int(match[1]), int(match[2]))
