"""Links have the specified rate in each direction, for one stream, and divided evenly among several."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec

# A frame of 1514 bytes carries 1448 bytes of a TCP stream.
PAYLOAD = 1448 / 1514
# A link is slower while other programs or guests of the host occupy the processors. So the best of at most
# this many half seconds counts, with a tolerance of 20 %.
MEASUREMENTS = 5
SLOWEST = 0.8


def rates(cluster: Cluster, *flows: tuple[str, str], share: float = 1) -> list[float]:
    """Return the rate of each flow, as a share of the link's rate.

    They are those of the first measurement in which all are close to the expected `share`, if there is one,
    else of the measurement with the largest total.
    """
    assert cluster.spec.rate_bit_per_s
    measured: list[list[float]] = []
    while len(measured) < MEASUREMENTS:
        found = stream_rates(cluster, flows, 0.5)
        measured.append([rate / (cluster.spec.rate_bit_per_s * PAYLOAD) for rate in found])
        if close(measured[-1], share):
            return measured[-1]
    return max(measured, key=sum)


def close(found: Sequence[float], share: float) -> bool:
    return all(SLOWEST * share < rate < 1.03 * share for rate in found)


@pytest.mark.parametrize("rate_bit_per_s", [10**8, pytest.param(10**9, marks=pytest.mark.full)])
def test_a_stream_gets_the_rate(rate_bit_per_s: int) -> None:
    with Cluster.up(Spec(2, 1, rate_bit_per_s)) as cluster:
        found = rates(cluster, ("n1", "n2"))
        assert close(found, 1), found
        both = rates(cluster, ("n1", "n2"), ("n2", "n1"), share=0.98)
        assert close(both, 0.98), f"a link carries its rate each way, but for the acknowledgements: {both}"


@pytest.mark.full
def test_streams_share_a_link_evenly() -> None:
    """Two streams share a link evenly, whether they have the receiver, the sender or both in common; streams
    on other links do not slow each other.
    """
    with Cluster.up(Spec(4, 1, 10**8)) as cluster:
        for flows in (
            [("n1", "n2"), ("n3", "n2")],
            [("n1", "n2"), ("n1", "n3")],
            [("n1", "n2"), ("n1", "n2")],
        ):
            found = rates(cluster, *flows, share=0.5)
            assert close(found, 0.5), (flows, found)
        apart = rates(cluster, ("n1", "n2"), ("n3", "n4"))
        assert close(apart, 1), apart


def test_a_link_without_a_rate_is_faster() -> None:
    with Cluster.up(Spec(2, 1)) as cluster:
        assert any(stream_rates(cluster, [("n1", "n2")], 0.5)[0] > 2e9 for _ in range(MEASUREMENTS))
