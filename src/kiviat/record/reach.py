"""Distance between the ranks of a case: one node or several."""

from __future__ import annotations

from collections.abc import Mapping

from kiviat.record.types import Scalar


def least_world(ranks: int, axes: Mapping[str, Scalar]) -> int:
    """The fewest ranks of a launch that has room for a case of so many `ranks`.

    With `distance=d` the ranks that take part are 0, d, 2 d … of the world (native/driver/runner.cpp): two of
    them need d + 1.
    """
    distance = axes.get("distance", 1)
    return max(ranks, (ranks - 1) * distance + 1) if isinstance(distance, int) else ranks
