"""Communication within nodes and between them, after a program's profile.

A. Narayanaswamy, P. Balaji, W. Feng: Impact of Network Sharing in Multi-core Architectures, sections 4.3 and
4.4, compare both for programs that are placed differently.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kiviat.profile import DISTANCES, Profile

_NETWORK = [DISTANCES.index("other node")]
_NODE = [DISTANCES.index("same socket"), DISTANCES.index("same node")]


def by_node(profile: Profile) -> Mapping[str, tuple[float, str]]:
    """Return values with their units: bytes of all ranks, and seconds of an average rank.

    `network_time` and `node_time` are spent in calls whose partners are on other nodes, or on the rank's own
    node; a collective counts as its farthest member. `network_bytes` and `node_bytes` count messages and the
    contributions of collectives by definition.
    """
    traffic = profile.traffic()
    within, between = traffic.between([int(node) for node in profile.node])
    within -= int(traffic.bytes[traffic.source == traffic.target].sum())  # stays in the rank
    seconds = profile.calls.seconds
    ranks = max(1, int(np.count_nonzero(profile.seen)))
    return {
        "network_bytes": (float(between), "B"),
        "node_bytes": (float(within), "B"),
        "network_time": (float(seconds[:, _NETWORK].sum()) / ranks, "s"),
        "node_time": (float(seconds[:, _NODE].sum()) / ranks, "s"),
    }
