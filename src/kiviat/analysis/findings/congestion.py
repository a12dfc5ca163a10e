"""Impact of other ranks' traffic: factors, and a finding that names the shared resource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.contention import NodesOf, chosen
from kiviat.analysis.findings.finding import (
    ALIKE,
    ONE_NODE,
    SHARED_CORES,
    UNKNOWN_NODES,
    Ends,
    Finding,
    cannot_say,
    ends_of,
    evidence,
)
from kiviat.record.units import three_digits


@dataclass(frozen=True, slots=True)
class Impact:
    """Slowdown of a victim's calls by a congestor's traffic: mean and 99th percentile, as factors.

    `low` and `high` are the 95 % interval of the mean; None with too few launches.
    """

    victim: str
    congestor: str
    mean: float
    p99: float
    low: float | None
    high: float | None


def impacts(grid: Grid) -> list[Impact]:
    """Return the values of an "impact" table, victim by victim, without missing ones."""
    victims, congestors, of = map(grid.values_of, ("victim", "congestor", "of"))
    mean, p99 = of.index("mean"), of.index("P99")
    found = []
    for row, victim in enumerate(victims):
        for column, congestor in enumerate(congestors):
            values = grid.median[row, column]
            if np.isfinite(values[mean]):
                low, high = (
                    None if bound is None or np.isnan(one := bound[row, column, mean]) else float(one)
                    for bound in (grid.low, grid.high)
                )
                found.append(Impact(victim, congestor, float(values[mean]), float(values[p99]), low, high))
    return found


def findings(summaries: Sequence[Summary], grids: Sequence[Grid], nodes_of: NodesOf) -> Iterator[Finding]:
    """Return the worst impact of one run, and what victims and congestors share."""
    whole = chosen(summaries, "congestion", "impact")
    if whole is None:
        return
    tables = {grid.name: grid for grid in grids if grid.case == whole.case}
    found = impacts(tables["impact"]) if "impact" in tables else []
    if not found:
        return

    def ends(impact: Impact) -> Ends:
        return ends_of(impact.mean, impact.low, impact.high, whole.clock)

    sure = [impact for impact in found if impact.mean > ALIKE and ends(impact)[0] > 1]
    worst = max(sure or found, key=lambda impact: impact.mean)
    widest = max(found, key=lambda impact: ends(impact)[1])
    shared, certain = _shared(whole, tables.get("victims"), nodes_of)
    felt = bool(sure)
    calm = not felt and ends(widest)[1] < ALIKE
    if felt:
        headline = (
            f"During {_words(worst.congestor)} of other ranks, {_CALLS[worst.victim]} takes "
            f"{three_digits(worst.mean)} times as long"
        )
        detail = f"Mean of calls; the 99th percentile takes {three_digits(worst.p99)} times as long. {shared}"
    elif calm:
        headline = "Traffic of other ranks hardly matters"
        detail = f"At worst, {_takes(worst)}. {shared}"
    else:
        headline = cannot_say("congestion", _takes(widest), ends(widest))
        detail = f"Mean of calls. {shared}"
    importance = 0.45 + 0.25 * min(1.0, (worst.mean - 1) / 9) if felt and certain else 0.4
    factor = worst.mean if felt else ALIKE if calm else None
    yield Finding("congestion", importance, headline, detail, evidence(whole), factor=factor)


_CALLS = {"latency": "a short message", "bandwidth": "a window of long messages", "allreduce": "an allreduce"}


def _takes(impact: Impact) -> str:
    times = three_digits(impact.mean)
    return f"{_CALLS[impact.victim]} takes {times} times as long during {_words(impact.congestor)}"


def _words(congestor: str) -> str:
    article = "an" if congestor[0] in "aeiou" else "a"
    return f"{article} {congestor.replace('_', ' ')}"


def _shared(whole: Summary, roles: Grid | None, nodes_of: NodesOf) -> tuple[str, bool]:
    """Return the resource that victims and congestors share, in words, and whether that is certain."""
    if whole.oversubscribed:
        return SHARED_CORES, False
    nodes = nodes_of(whole.ranks)
    if nodes is None or roles is None or np.isnan(roles.median).any():
        return UNKNOWN_NODES, False
    of_victims = {nodes.of[rank] for rank in range(whole.ranks) if roles.median[rank] == 1}
    of_others = {nodes.of[rank] for rank in range(whole.ranks) if roles.median[rank] == 0}
    if nodes.count(whole.ranks) == 1:
        return ONE_NODE, True
    if of_victims & of_others:
        return (
            "Some victims share a node with congesting ranks, so the limit may be NIC, memory, links or "
            "switches: which one cannot be determined."
        ), False
    return "They share no node with the congesting ranks, only links and switches.", True
