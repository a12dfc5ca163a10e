"""Links have the specified rate: in each direction, for one stream, and shared evenly by several."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

# A frame of 1514 bytes carries 1448 of a stream.
PAYLOAD = 1448 / 1514
# A link never carries more than its rate. It carries less while another program, or another guest of the
# host, has the processors: the best of so many half seconds counts, and a fifth may be missing even there.
MEASUREMENTS = 5


def rates(cluster: Cluster, *flows: tuple[str, str]) -> list[float]:
    """The rate of each flow when they carried most: a share of its link's; in bit/s without a limit."""
    measured = [stream_rates(cluster, flows, 0.5) for _ in range(MEASUREMENTS)]
    capacity = cluster.spec.rate_bit_per_s * PAYLOAD if cluster.spec.rate_bit_per_s else 1
    return [rate / capacity for rate in max(measured, key=sum)]


def close(found: Sequence[float], share: float) -> bool:
    return all(0.8 * share < rate < 1.03 * share for rate in found)


@pytest.mark.parametrize("rate_bit_per_s", [10**8, pytest.param(10**9, marks=pytest.mark.full)])
def test_a_stream_gets_the_rate(rate_bit_per_s: int) -> None:
    with Cluster.up(Spec(2, 1, rate_bit_per_s)) as cluster:
        found = rates(cluster, ("n1", "n2"))
        assert close(found, 1), found
        both = rates(cluster, ("n1", "n2"), ("n2", "n1"))
        assert close(both, 0.98), f"a link carries its rate each way, but for the acknowledgements: {both}"


@pytest.mark.full
def test_streams_share_a_link_evenly() -> None:
    """Into one node, out of one node, and between the same two; what flows elsewhere takes nothing away."""
    with Cluster.up(Spec(4, 1, 10**8)) as cluster:
        for flows in (
            [("n1", "n2"), ("n3", "n2")],
            [("n1", "n2"), ("n1", "n3")],
            [("n1", "n2"), ("n1", "n2")],
        ):
            found = rates(cluster, *flows)
            assert close(found, 0.5), (flows, found)
        apart = rates(cluster, ("n1", "n2"), ("n3", "n4"))
        assert close(apart, 1), apart


def test_a_link_without_a_rate_is_faster() -> None:
    with Cluster.up(Spec(2, 1)) as cluster:
        assert rates(cluster, ("n1", "n2"))[0] > 2e9
