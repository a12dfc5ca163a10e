"""The smallest launch in which a case's ranks have the distance that they need."""

from __future__ import annotations

from collections.abc import Mapping

from kiviat.record.types import Scalar


def least_world(ranks: int, axes: Mapping[str, Scalar]) -> int:
    """Return the smallest launch in which a case of `ranks` ranks can run.

    With `distance=d` the participating ranks are 0, d, 2 d … of the world (native/driver/runner.cpp), so two
    ranks need d + 1.
    """
    distance = axes.get("distance", 1)
    return max(ranks, (ranks - 1) * distance + 1) if isinstance(distance, int) else ranks
