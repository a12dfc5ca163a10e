"""Up to which rate the links of an emulated cluster can be believed on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

_STEP_BIT_PER_S = 100_000_000


def unshaped_rates(count: int = 3) -> list[float]:
    """Return `count` rates of plain TCP between two nodes over a link without a limit, in bit/s."""
    with Cluster.up(Spec(2, 1)) as cluster:
        return [sum(stream_rates(cluster, (("n1", "n2"),), duration_s=0.5)) for _ in range(count)]


def highest_rate(unshaped: Sequence[float]) -> int:
    """Half of the median, in whole steps of 100 Mbit/s, in bit/s; where cores are that slow, less than one
    step.

    Sending, forwarding and receiving take time of the same cores: beyond, the processor is measured.
    """
    half = median(unshaped) / 2
    return int(half // _STEP_BIT_PER_S) * _STEP_BIT_PER_S or int(half)
