"""Findings about simultaneous communication of all ranks: factors in words, and the shared resource.

A ping-pong of one pair cannot show contention. Causes follow from the observed placement only: on one node no
network is involved, and oversubscribed ranks get a factor without a cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.nodes import Nodes, Pair
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.finding import (
    ALIKE,
    ONE_NODE,
    SHARED_CORES,
    UNKNOWN_NODES,
    Ends,
    Evidence,
    Finding,
    cannot_say,
    differs,
    ends,
    evidence,
    extremes,
    quotient_ends,
)
from kiviat.analysis.findings.shared_resource import ENOUGH, Verdict, far_pairs, near_pairs, shared
from kiviat.record.units import format_size, format_value, three_digits

NodesOf = Callable[[int], Nodes | None]  # number of ranks to their nodes

_B_EFF = ("at_lmax_per_process", "pingpong_bandwidth", "b_eff_per_process")

_RESOURCES = {
    "memory": "the memory of the nodes",
    "NIC": "the NIC of the nodes",
    "network": "links or switches",
}


def findings(summaries: Sequence[Summary], grids: Sequence[Grid], nodes_of: NodesOf) -> Iterator[Finding]:
    """Return all findings about contention in one run; `nodes_of` returns the nodes of its ranks."""
    sharing = list(_sharing(summaries, nodes_of))
    yield from map(_shared, sharing)
    yield from _b_eff(summaries, nodes_of, sharing)
    yield from _rings(summaries, nodes_of)
    yield from _phases(summaries, nodes_of)
    yield from _halves(summaries, grids)


def chosen(summaries: Sequence[Summary], benchmark: str, metric: str, **axes: str) -> Summary | None:
    """Return the metric at the most ranks and the largest size, with exactly these axes; None if missing."""
    found = [
        summary
        for summary in summaries
        if summary.benchmark == benchmark
        and summary.metric == metric
        and {name: str(value) for name, value in summary.axes.items()} == axes
    ]
    return max(found, key=lambda summary: (summary.ranks, summary.bytes or 0), default=None)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Simultaneous pairs: the share of one pair's bandwidth that each keeps, its interval and a verdict."""

    what: str
    ranks: int
    share: float
    ends: Ends
    verdict: Verdict
    evidence: Evidence


def _sharing(summaries: Sequence[Summary], nodes_of: NodesOf) -> Iterator[Sharing]:
    """Yield shares of cumulative pairs, and of streams of all pairs."""
    for matching, pairs in (("far", far_pairs), ("near", near_pairs)):
        axes = {} if matching == "far" else {"matching": matching}
        ratio = chosen(summaries, "dense_cumulative", "last_to_first", **axes)
        if ratio:
            where = "between both halves of the ranks" if matching == "far" else "of neighbours"
            yield Sharing(
                f"{ratio.ranks // 2} pairs {where} ({format_size(ratio.bytes)})",
                ratio.ranks,
                ratio.median,
                ends(ratio),
                _verdict(ratio.median, ends(ratio), pairs(ratio.ranks), nodes_of(ratio.ranks), ratio),
                evidence(ratio),
            )
    alone = chosen(summaries, "streaming", "pair_bandwidth", pairs="alone")
    together = chosen(summaries, "streaming", "pair_bandwidth")
    if alone and together and alone.ranks == together.ranks >= 4:
        share, of = together.median / alone.median, quotient_ends(together, alone)
        yield Sharing(
            f"{together.ranks // 2} streams between both halves of the ranks",
            together.ranks,
            share,
            of,
            _verdict(share, of, far_pairs(together.ranks), nodes_of(together.ranks), together),
            evidence(alone, together),
        )


def _verdict(share: float, of: Ends, pairs: Sequence[Pair], nodes: Nodes | None, where: Summary) -> Verdict:
    """Return what limits the pairs; "unclear" if the interval of their share contains the limit `ENOUGH`."""
    if of[0] < ENOUGH <= of[1]:
        return Verdict("unclear", f"Without contention, each pair would keep {_percent(ENOUGH)} or more.")
    return shared(share, of, pairs, nodes, where.oversubscribed)


def _shared(sharing: Sharing) -> Finding:
    resource = sharing.verdict.resource
    keeps = f"with {sharing.what} at once, each keeps {_percent(sharing.share)} of the bandwidth of one alone"
    if resource == "none":
        return Finding(
            "shared-resource",
            0.35,
            f"No contention: {keeps}",
            sharing.verdict.reason,
            sharing.evidence,
            factor=1 / ENOUGH,
        )
    if resource == "unclear":
        headline = cannot_say("shared-resource", keeps, sharing.ends, _percent)
        return Finding("shared-resource", 0.4, headline, sharing.verdict.reason, sharing.evidence)
    points = f", which points to {_RESOURCES[resource]}" if resource in _RESOURCES else ""
    importance = 0.72 if points else 0.5
    return Finding(
        "shared-resource",
        importance,
        f"{keeps[:1].upper()}{keeps[1:]}{points}",
        sharing.verdict.reason,
        sharing.evidence,
        factor=1 / sharing.share if sharing.share > 0 else None,
    )


def _b_eff(summaries: Sequence[Summary], nodes_of: NodesOf, sharing: Sequence[Sharing]) -> Iterator[Finding]:
    """Compare b_eff per process with the ping-pong of ranks 0 and 1, at the largest message of b_eff."""
    cases: dict[str, dict[str, Summary]] = {}
    for summary in summaries:
        if summary.benchmark == "b_eff" and summary.ranks > 2 and summary.metric in _B_EFF:
            cases.setdefault(summary.case, {})[summary.metric] = summary
    plainest = sorted(
        (found for found in cases.values() if len(found) == len(_B_EFF)),
        key=lambda found: (len(found[_B_EFF[0]].axes), -found[_B_EFF[0]].ranks),
    )
    if not plainest:
        return
    loaded, alone, whole = (plainest[0][metric] for metric in _B_EFF)
    factor, (low, high) = alone.median / loaded.median, quotient_ends(alone, loaded)
    words = (
        f"all {loaded.ranks} ranks communicating, each gets {_rate(loaded)} of a ping-pong's {_rate(alone)}: "
        f"contention factor {three_digits(factor)}"
    )
    detail = (
        f"b_eff per process at its largest message, compared with ranks 0 and 1 alone. Over all sizes "
        f"b_eff is {_rate(whole)} per process."
    )
    if low < 1 / ENOUGH <= high:
        headline = cannot_say("contention", f"with {words}", (low, high))
        yield Finding("contention", 0.4, headline, detail, evidence(loaded, alone, whole))
        return
    headline = f"With {words}"
    detail = f"{detail} {_why(factor, loaded, nodes_of(loaded.ranks), sharing)}"
    importance = 0.45 + 0.25 * min(1.0, max(0.0, factor - 1) / 4)
    found = max(factor, 1 / ENOUGH)  # smaller factors count as no contention
    yield Finding("contention", importance, headline, detail, evidence(loaded, alone, whole), factor=found)


def _why(factor: float, loaded: Summary, nodes: Nodes | None, sharing: Sequence[Sharing]) -> str:
    if factor < 1 / ENOUGH:
        return "No shared resource limits them."
    if loaded.oversubscribed:
        return SHARED_CORES
    if nodes is None:
        return UNKNOWN_NODES
    if nodes.count(loaded.ranks) == 1:
        return ONE_NODE
    same = [one for one in sharing if one.ranks == loaded.ranks and one.verdict.resource in _RESOURCES]
    words = " and ".join(dict.fromkeys(_RESOURCES[one.verdict.resource] for one in same))
    told = f"Simultaneous pairs point to {words}." if words else ""
    if nodes.near(0, 1):
        near = "Ranks 0 and 1 share a node, and not all neighbours do: part of the factor is distance."
        return f"{near} {told}".strip()
    return told or "From b_eff alone it cannot be determined whether NIC, links or switches are the limit."


def _rings(summaries: Sequence[Summary], nodes_of: NodesOf) -> Iterator[Finding]:
    natural = chosen(summaries, "ring", "natural_bandwidth") or chosen(summaries, "b_eff", "rings")
    random = chosen(summaries, "ring", "random_bandwidth") or chosen(summaries, "b_eff", "randoms")
    if not (natural and random and natural.ranks == random.ranks > 2):
        return
    ratio, of = random.median / natural.median, quotient_ends(random, natural)
    differ = differs(ratio, of)
    words = f"get {three_digits(ratio)} times the bandwidth of rings in rank order"
    if differ is None:
        headline = cannot_say("rings", f"they {words}", of)
    elif differ:
        headline = f"Rings in random order {words}"
    else:
        headline = "Rings in random order are as fast as rings in rank order"
    detail = (
        f"{_rate(random)} against {_rate(natural)}, {natural.ranks} ranks. "
        f"{_crossing_of_rings(natural, nodes_of(natural.ranks), ratio if differ else 1.0)}"
    )
    importance = 0.45 + 0.2 * min(1.0, abs(1 - ratio)) if differ else 0.25
    found = None if differ is None else ratio if differ else ALIKE
    yield Finding("rings", importance, headline, detail, evidence(natural, random), factor=found)


def _crossing_of_rings(natural: Summary, nodes: Nodes | None, ratio: float) -> str:
    ranks = natural.ranks
    if nodes is None:
        return "Which ranks share a node is unknown, so the cause cannot be determined."
    if nodes.count(ranks) == 1:
        return (
            "All ranks are on one node: no network is involved; neighbours in random order are only farther "
            "apart within the node."
        )
    in_order = nodes.crossing([(rank, (rank + 1) % ranks) for rank in range(ranks)])
    at_random = nodes.crossing_all(ranks)
    words = (
        f"{_percent(in_order)} of the messages leave their node in rank order, {_percent(at_random)} on "
        "average in random order"
    )
    if natural.oversubscribed:
        return f"{words}; with more ranks than cores its cost cannot be determined."
    if ratio == 1.0:
        return f"{words}."
    if (ratio < 1) == (at_random > in_order * ALIKE) and abs(at_random - in_order) > 0.1:
        return f"{words}: this is the cost of crossing nodes."
    return f"{words}: crossing nodes does not explain the difference."


def _phases(summaries: Sequence[Summary], nodes_of: NodesOf) -> Iterator[Finding]:
    """Compare the middle phases, which have the farthest partners, with the first, which has the nearest."""
    for benchmark in ("dense_total_exchange", "dense_pairwise"):
        ratio = chosen(summaries, benchmark, "middle_to_first")
        if ratio is None:
            continue
        differ = differs(ratio.median, ends(ratio))
        name = {"dense_pairwise": "Pairs at growing distance"}.get(benchmark, "Total exchange")
        words = (
            f"phases with the farthest partners get {three_digits(ratio.median)} times the bandwidth of the "
            f"first ({format_size(ratio.bytes)})"
        )
        if differ is None:
            headline = cannot_say("phases", f"in {name.lower()}, {words}", ends(ratio))
        elif differ:
            headline = f"{name}: {words}"
        else:
            headline = f"{name}: far partners cost nothing extra ({format_size(ratio.bytes)})"
        importance = 0.4 + 0.25 * min(1.0, abs(1 - ratio.median)) if differ else 0.25
        yield Finding(
            "phases",
            importance,
            headline,
            _crossing_of_phases(ratio, nodes_of(ratio.ranks)),
            evidence(ratio),
            factor=None if differ is None else ratio.median if differ else ALIKE,
        )


def _crossing_of_phases(ratio: Summary, nodes: Nodes | None) -> str:
    ranks = ratio.ranks
    if nodes is None:
        return f"On {ranks} ranks; which of them share a node is unknown."
    if nodes.count(ranks) == 1:
        return f"All {ranks} ranks are on one node: no network is involved."
    first, middle = (
        nodes.crossing([(rank, (rank + distance) % ranks) for rank in range(ranks)])
        for distance in (1, ranks // 2)
    )
    return (
        f"On {ranks} ranks {_percent(first)} of the messages leave their node in the first phase, "
        f"{_percent(middle)} in the middle ones."
    )


def _halves(summaries: Sequence[Summary], grids: Sequence[Grid]) -> Iterator[Finding]:
    """Compare random halves of the ranks, which are the same in all launches."""
    worst = chosen(summaries, "bisection", "random_bandwidth_min")
    best = chosen(summaries, "bisection", "random_bandwidth_max")
    if not (worst and best and worst.ranks > 2):
        return
    differ = extremes(grids, worst, "bandwidth", without="fixed")
    if differ is None:
        return
    low, high = (format_value(rate, worst.unit) for rate in differ)
    yield Finding(
        "bisection",
        0.45,
        f"Bisection bandwidth depends on the halves: {low} to {high} between random halves",
        f"Both directions, {worst.ranks} ranks. Random halves differ in the number of pairs that leave their "
        "node and in the links that they cross; the totals alone cannot tell which of the two matters.",
        evidence(worst, best),
        factor=differ[1] / differ[0],
    )


def _rate(summary: Summary) -> str:
    return format_value(summary.median, summary.unit)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
