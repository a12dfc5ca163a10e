"""Findings about distance, threads, host overhead, noise, and slow ranks or links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kiviat.analysis.aggregate.pair_matrices import Sick, sick
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.contention import NodesOf, chosen
from kiviat.analysis.findings.finding import (
    ALIKE,
    Finding,
    apart,
    cannot_say,
    differs,
    ends,
    evidence,
    extremes,
    quotient_ends,
)
from kiviat.record.units import format_size, format_value, three_digits

HostOf = Callable[[int], str | None]  # rank to host name

# Availability in percent below which communication does not overlap with computation.
_LITTLE_LEFT = 50.0
# Availability in percent below which other processes must have used the processor.
_DISTURBED = -20.0
# Percent of a processor's time above which noise is a warning.
_NOISY = 2.0


def findings(
    summaries: Sequence[Summary], grids: Sequence[Grid], nodes_of: NodesOf, host_of: HostOf
) -> Iterator[Finding]:
    """Return all findings of this kind about one run."""
    yield from _sick(summaries, grids, host_of)
    yield from _distance(summaries, nodes_of)
    yield from _pairs(summaries, grids)
    yield from _overhead(summaries)
    yield from _noise(summaries, grids, host_of)
    yield from _threads([summary for summary in summaries if not summary.oversubscribed])


def _sick(summaries: Sequence[Summary], grids: Sequence[Grid], host_of: HostOf) -> Iterator[Finding]:
    worst = chosen(summaries, "sick_links", "slowdown_max")
    if worst is None:
        return
    named = sick([grid for grid in grids if grid.case == worst.case])
    measured = chosen(summaries, "sick_links", "pairs_measured")
    share = f" among the {measured.median:.0f} % of pairs measured" if measured else ""
    if not named:
        headline = f"No slow rank or link among {worst.ranks} ranks"
        yield Finding("sick-links", 0.2, headline, f"No outlier{share}.", evidence(worst))
        return
    first, more = named[0], len(named) - 1
    others = f", and {more} more" if more else ""
    told = "; ".join(_one_sick(one, host_of) for one in named[:5])
    certain = 2 * first.found > first.launches and not worst.oversubscribed
    crowded = " With more ranks than cores, this may be chance." if worst.oversubscribed else ""
    what = _with_hosts(first.what, host_of)
    yield Finding(
        "sick-links",
        0.86 if certain else 0.5,
        f"{what[:1].upper()}{what[1:]} is {three_digits(first.factor)} times as slow as others in "
        f"{first.of}{others}",
        f"{told}.{crowded}",
        evidence(worst),
        "warning" if certain else "info",
    )


def _one_sick(one: Sick, host_of: HostOf) -> str:
    sure = "" if one.confidence is None else f", confidence {100 * one.confidence:.1f} %"
    return (
        f"{_with_hosts(one.what, host_of)}: {three_digits(one.factor)} times in {one.of}, in {one.found} of "
        f"{one.launches} launches{sure}"
    )


def _with_hosts(what: str, host_of: HostOf) -> str:
    """Return "rank 5 (n2)" or "link 2-6 (n1, n3)", without hosts if unknown."""
    ranks = what.partition(" ")[2].split("-")
    hosts = [host_of(int(rank)) for rank in ranks if rank.isdecimal()]
    known = [host for host in hosts if host]
    return f"{what} ({', '.join(known)})" if known and len(known) == len(ranks) else what


def _distance(summaries: Sequence[Summary], nodes_of: NodesOf) -> Iterator[Finding]:
    latencies = [chosen(summaries, "distance", f"{end}_latency") for end in ("nearest", "farthest")]
    rates = [chosen(summaries, "distance", f"{end}_bandwidth") for end in ("nearest", "farthest")]
    near, far = latencies
    if near is None or far is None or near.ranks < 4:
        return
    factor, of = far.median / near.median, quotient_ends(far, near)
    differ = differs(factor, of)
    words = f"has {three_digits(factor)} times the latency of the nearest"
    if differ is None:
        headline, importance = cannot_say("distance", f"the farthest {words}", of), 0.25
    elif differ:
        headline = f"The farthest rank {words}"
        importance = 0.4 + 0.2 * min(1.0, abs(factor - 1) / 5)
    else:
        headline, importance = "Short messages take as long to the farthest rank as to the nearest", 0.25
    headline += ", oversubscribed" if near.oversubscribed else ""
    detail = f"{_value(near)} from rank 0 to rank 1, {_value(far)} to the farthest, 8 B"
    if rates[0] and rates[1]:
        detail += f"; {_value(rates[0])} against {_value(rates[1])} for long messages"
    where = _where(nodes_of, near.ranks, causes=bool(differ) and not near.oversubscribed)
    known = [summary for summary in (near, far, *rates) if summary]
    found = None if differ is None else factor if differ else ALIKE
    yield Finding("distance", importance, headline, f"{detail}. {where}", evidence(*known), factor=found)


def _pairs(summaries: Sequence[Summary], grids: Sequence[Grid]) -> Iterator[Finding]:
    """Compare the fastest pair of ranks with the slowest."""
    fast, slow, least, most = (
        chosen(summaries, "all_pairs", metric)
        for metric in ("latency_min", "latency_max", "bandwidth_min", "bandwidth_max")
    )
    if not (fast and slow and least and most) or fast.ranks < 3:
        return
    differ = extremes(grids, fast, "latency")
    if differ is None:
        return
    factor = differ[1] / differ[0]
    low, high = (format_value(time, fast.unit) for time in differ)
    yield Finding(
        "pairs",
        0.4 + 0.2 * min(1.0, abs(factor - 1) / 5),
        f"The slowest of all pairs of ranks has {three_digits(factor)} times the latency of the fastest",
        f"{low} to {high} for 8 B, {_value(most)} to {_value(least)} for long messages. The maps show which "
        "pairs are slow.",
        evidence(fast, slow, least, most),
        factor=factor,
    )


def _where(nodes_of: NodesOf, ranks: int, causes: bool) -> str:
    """Return which ranks share a node, and whether the network `causes` a difference."""
    nodes = nodes_of(ranks)
    if nodes is None:
        return "Which ranks share a node is unknown."
    if nodes.count(ranks) == 1:
        return "All ranks are on one node: no network is involved."
    what = "the network"
    if nodes.near(0, 1):
        if nodes.near(0, ranks // 2):
            return "Rank 0 and the farthest share a node: no network is involved."
        where = "Ranks 0 and 1 share a node, the farthest is on another"
    elif nodes.near(0, ranks // 2):
        where = "The farthest rank shares the node of rank 0, rank 1 does not"
    else:
        where, what = "Ranks 0 and 1 are on different nodes, too", "the path through the network"
    return f"{where}: {what} causes the difference." if causes else f"{where}."


def _overhead(summaries: Sequence[Summary]) -> Iterator[Finding]:
    """Report availability at the largest size."""
    left = {
        side: available
        for side, benchmark in (("sending", "hpo_send"), ("receiving", "hpo_recv"))
        if (available := chosen(summaries, benchmark, "availability"))
    }
    if not left:
        return
    words = " and ".join(
        f"{_value(available) if available.median > 0 else 'nothing'} when {side}"
        for side, available in left.items()
    )
    least = min(left.values(), key=lambda available: available.median)
    low, high = ends(least)
    size = format_size(least.bytes)
    detail = "Corrected for the bias of the method's barrier. "
    disturbed = least.median < _DISTURBED
    if least.oversubscribed:
        detail += "With more ranks than cores, this measures how processes share processors."
    elif disturbed:
        detail += (
            f"During computation a message takes {three_digits(1 - least.median / 100)} times as long as "
            "alone: other processes use these processors, so the overhead cannot be determined. Measure with "
            "a processor for each rank."
        )
    elif high < _LITTLE_LEFT:
        detail += (
            "Either the processor moves the data, or messages progress only within MPI calls; this benchmark "
            "cannot distinguish the two. Computation hides little of such communication."
        )
    elif low >= _LITTLE_LEFT:
        detail += "Such messages cost computation little."
    else:
        why = "launches differ too much, or are too few"
        detail += f"Whether computation hides such messages cannot be said: {why}."
    told = not (least.oversubscribed or disturbed)
    importance = 0.35 + 0.25 * min(1.0, max(0.0, 1 - least.median / 100)) * told
    yield Finding(
        "availability",
        importance,
        f"Available for computation during a {size} message: {words}",
        detail,
        evidence(*left.values()),
    )


def _noise(summaries: Sequence[Summary], grids: Sequence[Grid], host_of: HostOf) -> Iterator[Finding]:
    mean, worst = (chosen(summaries, "noise", metric) for metric in ("noise", "noise_max"))
    if not (mean and worst):
        return
    noisy = worst.median > _NOISY and not worst.oversubscribed
    longest = chosen(summaries, "noise", "detour_max")
    detail = f"Time of a fixed amount of work over its minimum, mean over {worst.ranks} ranks"
    detail += f"; the longest interruption lasts {_value(longest)}. " if longest else ". "
    if most := _noisiest(grids, worst):
        rank, share = most
        detail += f"Worst: {_with_hosts(f'rank {rank}', host_of)}: {format_value(share, '%')}. "
    if worst.oversubscribed:
        detail += "With more ranks than cores, the ranks cause it themselves."
    elif noisy:
        detail += "Collectives wait for the disturbed rank: check what else runs there."
    yield Finding(
        "noise",
        0.6 if noisy else 0.3,
        f"System noise takes {_value(mean)} of the processors' time, {_value(worst)} of the worst",
        detail.strip(),
        evidence(mean, worst),
        "warning" if noisy else "info",
    )


def _noisiest(grids: Sequence[Grid], worst: Summary) -> tuple[str, float] | None:
    """Return the noisiest rank and its percentage, or None without an outlier."""
    for grid in grids:
        if (grid.case, grid.name) == (worst.case, "noise"):
            place = int(np.nanargmax(grid.median))
            share = float(grid.median[place])
            if share > max(3 * float(np.nanmedian(grid.median)), _NOISY / 4):
                return grid.values_of("rank")[place], share
    return None


def _threads(summaries: Sequence[Summary]) -> Iterator[Finding]:
    """Compare simultaneous threads with one thread, and one thread with a program without threads."""
    one = _smallest(summaries, "latency_mt", "time", {"threads": "1"})
    several = _smallest(summaries, "latency_mt", "time", {})
    single = _smallest(summaries, "pingpong", "time", {})
    if one and single and (one.bytes, one.ranks) == (single.bytes, single.ranks) and apart(single, one):
        factor = one.median / single.median
        if factor > ALIKE:
            yield Finding(
                "threads",
                0.3 + 0.2 * min(1.0, factor - 1),
                f"MPI_THREAD_MULTIPLE makes a short message {three_digits(factor)} times as slow",
                f"{_value(one)} with one thread, {_value(single)} without MPI_THREAD_MULTIPLE "
                f"({format_size(one.bytes)}).",
                evidence(one, single),
                factor=factor,
            )
    if one and several and (one.bytes, one.ranks) == (several.bytes, several.ranks):
        factor = several.median / one.median
        if factor > ALIKE and apart(one, several):
            yield Finding(
                "threads",
                0.35 + 0.2 * min(1.0, (factor - 1) / 4),
                f"Threads of a rank wait for each other: {three_digits(factor)} times the latency of one",
                f"{_value(several)} per thread for all at once, {_value(one)} for one alone "
                f"({format_size(one.bytes)}).",
                evidence(several, one),
                factor=factor,
            )


def _smallest(
    summaries: Sequence[Summary], benchmark: str, metric: str, axes: dict[str, str]
) -> Summary | None:
    """Return the summary of the fewest ranks and the smallest size above 0."""
    found = [
        summary
        for summary in summaries
        if (summary.benchmark, summary.metric) == (benchmark, metric)
        and summary.bytes
        and {name: str(value) for name, value in summary.axes.items()} == axes
    ]
    return min(found, key=lambda summary: (summary.ranks, summary.bytes or 0), default=None)


def _value(summary: Summary) -> str:
    return format_value(summary.median, summary.unit)
