"""Findings about simultaneous communication, on fabricated machines with a known bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from kiviat.analysis.aggregate.nodes import Nodes, nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.findings.contention import findings
from kiviat.analysis.findings.finding import Ends, Finding
from kiviat.analysis.findings.shared_resource import far_pairs, near_pairs, shared
from kiviat.record.run import Run
from tests.analysis.rows import case
from tests.analysis.test_grids import table_row
from tests.report.synthetic import with_launches

ONE_NODE = (0,) * 8
BLOCKED = (0, 0, 1, 1, 2, 2, 3, 3)
CYCLIC = (0, 1, 2, 3, 0, 1, 2, 3)
OWN_NODES = (0, 1, 2, 3, 4, 5, 6, 7)

# Bandwidths in bytes per second: of a single pair within a node and between two nodes, and of the shared
# resources.
MEMORY, PAIR_NEAR, NIC, PAIR_FAR, SWITCH = 10e9, 8e9, 1e9, 1e9, 3e9

ALONE = "streaming/ranks=8/pairs=alone"


def test_pairs_on_different_nodes_are_counted() -> None:
    for of in (ONE_NODE, BLOCKED, CYCLIC, OWN_NODES, (0, 0, 0, 1, 2, 2)):
        pairs = [(a, b) for a in range(len(of)) for b in range(a)]
        assert Nodes(of).crossing_all(len(of)) == pytest.approx(Nodes(of).crossing(pairs))


def run(of: Sequence[int] | None, launches: int = 5) -> Run:
    ranks = [{"rank": rank, "host": "same", "node": node} for rank, node in enumerate(of or ())]
    return with_launches([{"world": 8, "ranks": ranks}] * launches, run="r")


def study(benchmark: str, metric: str, value: float, unit: str = "B/s", **changes: Any) -> Summary:
    spread = [value * factor for factor in (0.99, 0.995, 1.0, 1.005, 1.01)]
    fields = {"case": f"{benchmark}/ranks=8", "bytes": None, "ranks": 8, "better": "higher"} | changes
    return case(spread, benchmark=benchmark, metric=metric, unit=unit, **fields)


def findings_of_kind(
    summaries: Sequence[Summary], of: Sequence[int] | None, kind: str, tables: Sequence[Grid] = ()
) -> list[Finding]:
    found = findings(summaries, tables, partial(nodes_of, run(of)))
    return [finding for finding in found if finding.kind == kind]


def rate(pair: tuple[int, int], pairs: Sequence[tuple[int, int]], nodes: Nodes, switch: float) -> float:
    """Return a pair's bandwidth on a made-up machine: its share of the most loaded resource on its path."""
    if nodes.near(*pair):
        here = sum(nodes.near(*other) and nodes.of[other[0]] == nodes.of[pair[0]] for other in pairs)
        return min(PAIR_NEAR, MEMORY / here)
    crossing = [other for other in pairs if not nodes.near(*other)]
    busiest = max(sum(nodes.of[end] in (nodes.of[a], nodes.of[b]) for a, b in crossing) for end in pair)
    return min(PAIR_FAR, NIC / busiest, switch / len(crossing))


@pytest.mark.parametrize(
    ("of", "matching", "switch", "resource"),
    [
        (ONE_NODE, "far", 1e12, "memory"),
        (ONE_NODE, "near", 1e12, "memory"),
        (BLOCKED, "near", 1e12, "none"),
        (BLOCKED, "far", 1e12, "NIC"),
        (BLOCKED, "far", 1e9, "network"),  # tapered network: a quarter of the NICs' bandwidth
        (OWN_NODES, "far", 1e12, "none"),
        (OWN_NODES, "far", 2e9, "network"),
        ((0, 0, 0, 0, 1, 1, 1, 1), "far", 1e12, "NIC"),
        (CYCLIC, "far", 1e12, "none"),  # the far partner is on the same node
    ],
)
def test_made_up_machines_are_diagnosed(
    of: Sequence[int], matching: str, switch: float, resource: str
) -> None:
    nodes = Nodes(tuple(of))
    pairs = (far_pairs if matching == "far" else near_pairs)(8)
    alone = rate(pairs[0], pairs[:1], nodes, switch)
    together = sum(rate(pair, pairs, nodes, switch) for pair in pairs) / len(pairs)
    assert shared(together / alone, exactly(together / alone), pairs, nodes, False).resource == resource


def exactly(share: float) -> Ends:
    """Return the interval of a share that all launches agree on."""
    return share, share


def test_nothing_is_claimed_without_ground() -> None:
    for nodes, oversubscribed, why in [
        (None, False, "Which ranks share a node is unknown"),
        (Nodes(BLOCKED), True, "more ranks than cores"),
    ]:
        verdict = shared(0.5, exactly(0.5), far_pairs(8), nodes, oversubscribed)
        assert verdict.resource == "unknown" and why in verdict.reason
    mixed = shared(0.5, exactly(0.5), far_pairs(8), Nodes((0, 0, 1, 1, 0, 2, 3, 3)), False)
    assert mixed.resource == "unknown" and "Some pairs are within a node" in mixed.reason
    alone = shared(0.5, exactly(0.5), far_pairs(8), Nodes(CYCLIC), False)
    assert alone.resource == "unknown" and "No two pairs share a node" in alone.reason
    # two pairs together have 1.5 times the bandwidth of one
    more = shared(0.75, exactly(0.75), far_pairs(8), Nodes(BLOCKED), False)
    assert more.resource == "unknown" and "1.50 times" in more.reason
    # two pairs have 0.6 to 1.4 times the bandwidth of one: beyond the NIC, at it, or above
    loose = shared(0.5, (0.3, 0.7), far_pairs(8), Nodes(BLOCKED), False)
    assert loose.resource == "unknown" and "launches differ too much" in loose.reason


def test_no_network_is_blamed_on_one_node() -> None:
    summaries = [
        study("dense_cumulative", "last_to_first", 0.3, "1", bytes=1 << 20),
        study("b_eff", "at_lmax_per_process", 1e9),
        study("b_eff", "b_eff_per_process", 0.3e9),
        study("b_eff", "pingpong_bandwidth", 8e9),
        study("ring", "natural_bandwidth", 2e9),
        study("ring", "random_bandwidth", 1e9),
        study("dense_total_exchange", "middle_to_first", 0.5, "1", bytes=1 << 20),
    ]
    found = list(findings(summaries, (), partial(nodes_of, run(ONE_NODE))))
    assert [finding.kind for finding in found] == ["shared-resource", "contention", "rings", "phases"]
    for finding in found:
        text = f"{finding.headline} {finding.detail}"
        assert "NIC" not in text and "switch" not in text and "link" not in text
    assert "points to the memory of the nodes" in found[0].headline
    assert "contention factor 8.00" in found[1].headline and "its memory" in found[1].detail
    assert "no network is involved" in found[2].detail and "no network is involved" in found[3].detail


def test_the_factor_is_of_one_case() -> None:
    """The contention factor compares results of a single b_eff case: the default case with most ranks.

    It never divides by the ping-pong of another case.
    """

    def b_eff(loaded: float, alone: float, **changes: Any) -> list[Summary]:
        rates = {"at_lmax_per_process": loaded, "pingpong_bandwidth": alone, "b_eff_per_process": loaded / 3}
        return [study("b_eff", metric, rate, **changes) for metric, rate in rates.items()]

    quick = b_eff(1e9, 2e9, case="b_eff/ranks=8/version=quick", axes={"version": "quick"})
    (finding,) = findings_of_kind(quick, BLOCKED, "contention")
    assert "contention factor 2.00" in finding.headline
    small, large = b_eff(1e9, 3e9, case="b_eff/ranks=4", ranks=4), b_eff(1e9, 4e9)
    (finding,) = findings_of_kind([*quick, *small, *large], BLOCKED, "contention")
    assert "contention factor 4.00" in finding.headline and "all 8 ranks" in finding.headline
    assert not findings_of_kind(b_eff(1e9, 2e9, case="b_eff/ranks=2", ranks=2), BLOCKED, "contention")


def test_contention_between_nodes_is_traced_to_what_pairs_show() -> None:
    loaded = [
        study("b_eff", "at_lmax_per_process", 0.25e9),
        study("b_eff", "b_eff_per_process", 0.1e9),
        study("b_eff", "pingpong_bandwidth", 8e9),
    ]
    (alone,) = findings_of_kind(loaded, OWN_NODES, "contention")
    assert "cannot be determined whether NIC, links or switches" in alone.detail
    pairs = study("dense_cumulative", "last_to_first", 0.5, "1", bytes=1 << 20)
    (finding,) = findings_of_kind([*loaded, pairs], BLOCKED, "contention")
    assert "contention factor 32.0" in finding.headline
    assert "Ranks 0 and 1 share a node" in finding.detail and "point to the NIC" in finding.detail
    (unknown,) = findings_of_kind([*loaded, pairs], None, "contention")
    assert "Which ranks share a node is unknown" in unknown.detail and "NIC" not in unknown.detail
    crowded = [study("b_eff", s.metric, s.median, oversubscribed=True) for s in loaded]
    (crowd,) = findings_of_kind(crowded, BLOCKED, "contention")
    assert "contention factor 32.0" in crowd.headline and "more ranks than cores" in crowd.detail


def test_a_network_without_contention() -> None:
    summaries = [
        study("dense_cumulative", "last_to_first", 0.97, "1", bytes=1 << 20),
        study("streaming", "pair_bandwidth", 1.9e9),
        study("streaming", "pair_bandwidth", 2e9, case=ALONE, axes={"pairs": "alone"}),
        study("ring", "natural_bandwidth", 1.02e9),
        study("ring", "random_bandwidth", 1e9),
    ]
    shares = findings_of_kind(summaries, BLOCKED, "shared-resource")
    assert len(shares) == 2 and all(share.headline.startswith("No contention") for share in shares)
    (rings,) = findings_of_kind(summaries, BLOCKED, "rings")
    assert rings.headline == "Rings in random order are as fast as rings in rank order"


def test_streams_of_all_against_those_of_one() -> None:
    summaries = [
        study("streaming", "pair_bandwidth", 1e9),
        study("streaming", "pair_bandwidth", 2e9, case=ALONE, axes={"pairs": "alone"}),
    ]
    (share,) = findings_of_kind(summaries, BLOCKED, "shared-resource")
    assert "each keeps 50 % of" in share.headline and "points to the NIC" in share.headline
    assert len(share.evidence) == 2


def launches(benchmark: str, metric: str, values: Sequence[float], **changes: Any) -> Summary:
    fields = {"case": f"{benchmark}/ranks=8", "bytes": 4096, "ranks": 8, "better": "higher", "unit": "B/s"}
    return case(values, benchmark=benchmark, metric=metric, **fields | changes)


SHAKY = [0.4, 0.45, 0.5, 0.9, 1.0]


def test_an_interval_that_contains_enough_and_less_says_nothing() -> None:
    """Pairs that keep 50 % were once called free of contention, because one launch kept all."""
    shaky = launches("dense_cumulative", "last_to_first", SHAKY, unit="1")
    (finding,) = findings_of_kind([shaky], BLOCKED, "shared-resource")
    assert finding.headline == (
        "Cannot say whether simultaneous pairs limit each other: with 4 pairs between both halves of the "
        "ranks (4 KiB) at once, each keeps 50 % of the bandwidth of one alone, interval 40 % to 100 %"
    )
    assert finding.factor is None and "points to" not in finding.headline
    streams = [
        launches("streaming", "pair_bandwidth", SHAKY),
        launches("streaming", "pair_bandwidth", [1.0] * 5, case=ALONE, axes={"pairs": "alone"}),
    ]
    (finding,) = findings_of_kind(streams, BLOCKED, "shared-resource")
    assert finding.headline.startswith("Cannot say") and finding.headline.endswith("interval 40 % to 100 %")


def test_one_launch_that_differs_leaves_the_rings_open() -> None:
    """Rings of 1.00 GB/s against 500 MB/s, with one low launch, were once called equally fast."""
    natural = launches("ring", "natural_bandwidth", [0.4e9, 1e9, 1e9, 1e9, 1e9])
    random = launches("ring", "random_bandwidth", [0.5e9] * 5)
    (rings,) = findings_of_kind([natural, random], BLOCKED, "rings")
    assert rings.headline == (
        "Cannot say whether rings in random order are slower than in rank order: they get 0.500 times the "
        "bandwidth of rings in rank order, interval 0.500 to 1.25"
    )
    assert rings.factor is None and "cost of crossing" not in rings.detail


def test_a_contention_factor_is_stated_with_an_interval_that_excludes_none() -> None:
    """The factor of b_eff once ignored all intervals."""
    alone, whole = study("b_eff", "pingpong_bandwidth", 0.9e9), study("b_eff", "b_eff_per_process", 0.3e9)
    shaky = launches("b_eff", "at_lmax_per_process", [value * 1e9 for value in SHAKY], bytes=None)
    (open_,) = findings_of_kind([alone, whole, shaky], ONE_NODE, "contention")
    assert open_.headline.startswith("Cannot say what it costs that all ranks communicate: with all 8 ranks")
    assert open_.headline.endswith("contention factor 1.80, interval 0.891 to 2.27")
    assert open_.factor is None and "share its memory" not in open_.detail


def test_few_launches_leave_comparisons_open_unless_they_are_predictions() -> None:
    def pair(**changes: Any) -> list[Summary]:
        of = [("ring", "natural_bandwidth", 1e9), ("ring", "random_bandwidth", 0.5e9)]
        ratio = launches("dense_pairwise", "middle_to_first", [0.5], unit="1", **changes)
        return [launches(name, metric, [value], **changes) for name, metric, value in of] + [ratio]

    for kind in ("rings", "phases"):
        (measured,) = findings_of_kind(pair(), BLOCKED, kind)
        assert measured.headline.startswith("Cannot say") and measured.headline.endswith("too few launches")
        (predicted,) = findings_of_kind(pair(clock="simulated"), BLOCKED, kind)
        assert "0.500 times the bandwidth" in predicted.headline and predicted.factor == 0.5


@pytest.mark.parametrize(
    ("of", "ratio", "says"),
    [
        (
            BLOCKED,
            0.4,
            "50 % of the messages leave their node in rank order, 86 % on average in random order: this is",
        ),
        (CYCLIC, 0.4, "crossing nodes does not explain"),
        (CYCLIC, 1.6, "100 % of the messages leave their node in rank order"),
        (ONE_NODE, 0.4, "no network is involved"),
        (None, 0.4, "cannot be determined"),
    ],
)
def test_rings_and_the_nodes_that_they_cross(of: Sequence[int] | None, ratio: float, says: str) -> None:
    summaries = [study("ring", "natural_bandwidth", 1e9), study("ring", "random_bandwidth", ratio * 1e9)]
    (finding,) = findings_of_kind(summaries, of, "rings")
    assert f"{ratio:.3f}"[:4] in finding.headline and says in finding.detail


def test_rings_of_b_eff_serve_where_ring_did_not_run() -> None:
    summaries = [study("b_eff", "rings", 8e9), study("b_eff", "randoms", 4e9)]
    (finding,) = findings_of_kind(summaries, BLOCKED, "rings")
    assert "0.500 times" in finding.headline


def test_phases_tell_how_many_messages_cross() -> None:
    summaries = [study("dense_pairwise", "middle_to_first", 0.4, "1", bytes=4096)]
    (finding,) = findings_of_kind(summaries, BLOCKED, "phases")
    assert finding.headline.startswith(
        "Pairs at growing distance: phases with the farthest partners get 0.400"
    )
    assert "50 % of the messages leave their node in the first phase, 100 % in the middle" in finding.detail
    (even,) = findings_of_kind(
        [study("dense_pairwise", "middle_to_first", 0.98, "1", bytes=4096)], BLOCKED, "phases"
    )
    assert "far partners cost nothing" in even.headline


def halves(*launches: Sequence[float]) -> list[Finding]:
    """Return what is said about rates of fixed halves and of two random ones, by launch."""
    about = {"benchmark": "bisection", "case": "bisection/ranks=8", "ranks": 8, "bytes": None}
    axes = (("halves", ("fixed", "random 1", "random 2")),)
    rows = [table_row(at, rates, table_axes=axes, **about) for at, rates in enumerate(launches)]
    extremes = [
        case(
            [pick(rates[1:]) for rates in launches], benchmark="bisection", metric=metric, unit="B/s", ranks=8
        )
        for metric, pick in (("random_bandwidth_min", min), ("random_bandwidth_max", max))
    ]
    summaries = [replace(one, case="bisection/ranks=8", bytes=None) for one in extremes]
    return findings_of_kind(summaries, BLOCKED, "bisection", grids(rows))


def test_halves_that_differ() -> None:
    (finding,) = halves(*[(9e9, 1e9, 3e9)] * 5)
    assert "1.00 GB/s to 3.00 GB/s" in finding.headline and "cannot tell" in finding.detail
    assert not halves(*[(9e9, 1e9, 1.05e9)] * 5)


def test_halves_that_differ_by_chance_are_alike() -> None:
    """The slowest half of each launch is slower than the fastest, whichever they are."""
    assert not halves(*[(9e9, 1e9, 3e9), (9e9, 3e9, 1e9)] * 5)


def test_the_busiest_node() -> None:
    nodes = Nodes((0, 1, 2, 2))
    assert nodes.busiest([(0, 2), (1, 3)]) == 2  # their other ends share a node
    assert nodes.busiest([(2, 3)]) == 1  # a pair with both ends on one node counts once
    assert nodes.busiest([]) == 0 and nodes.boundaries(4) == [1, 2]


def test_launches_that_placed_ranks_differently_are_not_trusted() -> None:
    moved = replace(run(BLOCKED), launches=(*run(BLOCKED).launches[:4], run(CYCLIC).launches[0]))
    assert nodes_of(run(BLOCKED), 8) == Nodes(BLOCKED)
    assert nodes_of(moved, 8) is None
    assert nodes_of(moved, 1) == Nodes((0,))
    assert nodes_of(run(None), 8) is None
    hosts = [{"rank": rank, "host": f"n{rank // 4}"} for rank in (3, 2, 1, 0, 7, 6, 5, 4)]
    assert nodes_of(with_launches([{"world": 8, "ranks": hosts}]), 8) == Nodes((0, 0, 0, 0, 1, 1, 1, 1))
