"""The highest link rate at which measurements on an emulated cluster of this machine are credible."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

_STEP_BIT_PER_S = 100_000_000


def unshaped_rates() -> list[float]:
    """Return three rates of plain TCP between two nodes over a link without a rate limit, in bit/s."""
    with Cluster.up(Spec(2, 1)) as cluster:
        return [sum(stream_rates(cluster, (("n1", "n2"),), duration_s=0.5)) for _ in range(3)]


def highest_rate(unshaped: Sequence[float]) -> int:
    """Return the highest credible link rate in bit/s: half of the median of rates without shaping.

    It is rounded down to whole steps of 100 Mbit/s, unless it is below one step. Sending, forwarding and
    receiving share the same cores, so at a higher rate the processor would be measured, not the link.
    """
    half = median(unshaped) / 2
    return int(half // _STEP_BIT_PER_S) * _STEP_BIT_PER_S or int(half)
