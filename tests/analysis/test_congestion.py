"""Impact of other ranks' traffic on victims, and the causes that may be inferred from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.findings.congestion import findings, impacts
from kiviat.analysis.findings.finding import Finding
from tests.analysis.test_contention import BLOCKED, CYCLIC, ONE_NODE, run, study
from tests.analysis.test_grids import table_row

CASE = {"benchmark": "congestion", "case": "congestion/ranks=8", "bytes": None, "ranks": 8}


def tables(factor: float, victims: Sequence[int], launches: int = 5) -> list[Grid]:
    """Return tables in which incast slows allreduce the most; `victims` are the ranks of the victims."""
    axes = (
        ("victim", ("latency", "allreduce")),
        ("congestor", ("alltoall", "incast")),
        ("of", ("mean", "P99")),
    )
    values = [1.1, 1.2, 1.3, 2.0, None, None, factor, 3 * factor]
    ranks = (("rank", tuple(map(str, range(8)))),)
    roles = [float(rank in victims) for rank in range(8)]
    return grids(
        table_row(launch, cells, name=name, table_axes=shape, **CASE)
        for launch in range(launches)
        for name, shape, cells in (("impact", axes, values), ("victims", ranks, roles))
    )


def finding_of(factor: float, victims: Sequence[int], of: Sequence[int] | None, **changes: object) -> Finding:
    whole = study("congestion", "impact", factor, "1", **changes)
    (finding,) = findings([whole], tables(factor, victims), partial(nodes_of, run(of)))
    return finding


def test_impacts_are_read_off_the_table() -> None:
    impact, _ = tables(5.0, [0])
    found = {(each.victim, each.congestor): each for each in impacts(impact)}
    assert set(found) == {("latency", "alltoall"), ("latency", "incast"), ("allreduce", "incast")}
    assert (found["allreduce", "incast"].mean, found["allreduce", "incast"].p99) == (5.0, 15.0)
    assert found["latency", "incast"].low == 1.3
    few, _ = tables(5.0, [0], launches=4)
    assert impacts(few)[0].low is None


@pytest.mark.parametrize(
    ("victims", "of", "why"),
    [
        (
            [2, 3],
            BLOCKED,
            "They share no node with the congesting ranks, only links and switches",
        ),
        ([2, 4], BLOCKED, "cannot be determined"),
        ([2, 6], CYCLIC, "They share no node"),
        ([2, 3], ONE_NODE, "All ranks are on one node"),
        ([2, 3], None, "Which ranks share a node is unknown"),
    ],
)
def test_resources_shared_by_victims_and_congestors(
    victims: list[int], of: Sequence[int] | None, why: str
) -> None:
    finding = finding_of(6.0, victims, of)
    assert finding.headline == "During an incast of other ranks, an allreduce takes 6.00 times as long"
    assert "99th percentile takes 18.0 times" in finding.detail and why in finding.detail


def test_oversubscribed_congestion_is_not_explained() -> None:
    finding = finding_of(6.0, [2, 3], BLOCKED, oversubscribed=True)
    assert "more ranks than cores" in finding.detail and "links" not in finding.detail
    assert finding.importance < finding_of(6.0, [2, 3], BLOCKED).importance


def impact_of(*factors: float) -> Finding:
    """Return the finding about one victim and congestor with these mean impacts, one for each launch."""
    axes = (("victim", ("latency",)), ("congestor", ("alltoall",)), ("of", ("mean", "P99")))
    found = grids(
        table_row(launch, [factor, 1.1 * factor], name="impact", table_axes=axes, **CASE)
        for launch, factor in enumerate(factors)
    )
    whole = study("congestion", "impact", 1.02, "1")
    (finding,) = findings([whole], found, partial(nodes_of, run(BLOCKED)))
    return finding


def test_a_noisy_impact_does_not_hide_a_certain_one() -> None:
    axes = (("victim", ("latency", "allreduce")), ("congestor", ("alltoall",)), ("of", ("mean", "P99")))
    noisy = [0.9, 0.95, 3.5, 8.0, 9.0]
    found = grids(
        table_row(launch, [factor, factor, 3.0, 3.5], name="impact", table_axes=axes, **CASE)
        for launch, factor in enumerate(noisy)
    )
    whole = study("congestion", "impact", 3.5, "1")
    (finding,) = findings([whole], found, partial(nodes_of, run(BLOCKED)))
    assert finding.headline == "During an alltoall of other ranks, an allreduce takes 3.00 times as long"


def test_a_network_that_keeps_traffic_apart() -> None:
    finding = impact_of(*[1.02] * 5)
    assert finding.headline == "Traffic of other ranks hardly matters"
    assert "a short message takes 1.02 times as long during an alltoall" in finding.detail


@pytest.mark.parametrize(
    ("factors", "ends"),
    [([0.9, 1.1, 2.0, 2.5, 3.0], "interval 0.900 to 3.00"), ([2.0, 2.0], "too few launches")],
)
def test_an_impact_that_differs_between_launches_leaves_the_cost_open(
    factors: list[float], ends: str
) -> None:
    """A factor of two whose interval contains 1 was once said to matter hardly."""
    finding = impact_of(*factors)
    words = "a short message takes 2.00 times as long during an alltoall"
    assert finding.headline == f"Cannot say what traffic of other ranks costs: {words}, {ends}"
    assert finding.factor is None
