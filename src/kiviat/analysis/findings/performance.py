"""Findings about the machine: latency, bandwidth, protocols, bidirectional messages, collectives.

Oversubscribed results are excluded, except from the headline, which mentions them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from kiviat.analysis.aggregate.curves import bandwidth, curve, half_bandwidth_size, size_of, time_at
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.findings.contention import NodesOf
from kiviat.analysis.findings.finding import Finding, apart, ends, evidence, named
from kiviat.analysis.hpcc.quantities import ORIGINS
from kiviat.analysis.loggp import eager_limit, fit_loggp, pieces_of, switch_where, switch_words
from kiviat.analysis.statistics.changepoints import Switch
from kiviat.record.plain import whole_number
from kiviat.record.run import Cache
from kiviat.record.units import counted, format_bytes, format_size, format_value, three_digits

# A collective is reported if it takes this many times the messages of its textbook algorithm: the estimate
# ignores contention and arithmetic, so a factor of two proves nothing.
_SLOW_COLLECTIVE = 3.0
_ODD_RANKS = 1.3
# Half duplex takes twice as long; more has other causes.
_SLOW_BOTH_WAYS = 3.0

# Benchmarks whose ranks send and receive simultaneously: messages that each rank sends.
_BOTH_WAYS = {"pingping": 1, "sendrecv": 1, "exchange": 2}


# Number of ranks to the times of one message at a time between such ranks.
_OneWay = Callable[[int], Sequence[Summary]]


def findings(
    summaries: Sequence[Summary], nodes_of: NodesOf, caches: Sequence[Cache] = ()
) -> Iterator[Finding]:
    """Return all findings about the machine of one run; `nodes_of` returns the nodes of its ranks."""
    yield from _headline(curve(summaries, "pingpong"))
    fair = [summary for summary in summaries if not summary.oversubscribed]
    pingpong = curve(fair, "pingpong")
    yield from _half_bandwidth(pingpong, {one.case for one in fair if one.metric == "bandwidth"})
    yield from _switches(pingpong, caches)
    yield from _poor_fit(fair, pingpong)
    calm = [summary for summary in fair if not summary.disturbed]
    near, far = curve(calm, "pingpong"), _between_nodes(calm, nodes_of)

    @cache
    def one_way(ranks: int) -> Sequence[Summary]:
        """Return the ping-pong of ranks 0 and 1, or one between nodes if the ranks are on several."""
        nodes = nodes_of(ranks)
        if ranks <= 2 or (nodes is not None and nodes.count(ranks) == 1):
            return near
        return () if nodes is None else far

    yield from _both_ways(calm, one_way)
    yield from _slow_collective(calm, one_way)
    yield from _odd_ranks(calm)


def _between_nodes(summaries: Sequence[Summary], nodes_of: NodesOf) -> list[Summary]:
    """Return the ping-pong of rank 0 and the nearest rank, in number, on another node; empty without one."""
    by_distance: dict[int, list[Summary]] = {}
    for one in summaries:
        distance = whole_number(str(one.axes.get("distance", 1)))
        if one.benchmark == "pingpong" and distance and one.axes.keys() <= {"distance", "world"}:
            by_distance.setdefault(distance, []).append(replace(one, axes={}))
    for distance, points in sorted(by_distance.items()):
        nodes = nodes_of(distance + 1)
        if nodes is not None and not nodes.near(0, distance):
            return curve(points, "pingpong")
    return []


def _headline(points: Sequence[Summary]) -> Iterator[Finding]:
    if not points:
        return
    smallest, best = points[0], max(points, key=bandwidth)
    predicted = smallest.clock == "simulated"
    latency = "Predicted latency" if predicted else "Latency"
    headline = f"{latency} {_time(smallest.median)} ({format_size(smallest.bytes)})"
    if best.bytes and best is not smallest:
        headline += f", bandwidth up to {_rate(best)} ({format_size(best.bytes)})"
    if smallest.oversubscribed:
        headline += ", oversubscribed"
    detail = "Half a round trip of a ping-pong"
    if smallest.clock == "reported":
        detail += "; reported by another program"
    elif not predicted:
        detail += f"; median of {counted(smallest.launches, 'launch')}"
    if smallest.low is not None:
        detail += f", interval {_time(smallest.low)} to {_time(smallest.high)}"
    last = points[-1]
    if best is not last and bandwidth(last) < 0.9 * bandwidth(best):
        detail += f". At {format_size(last.bytes)} the bandwidth drops to {_rate(last)}"
    yield Finding("headline", 0.8, headline, detail + ".", evidence(smallest, best))


def _half_bandwidth(points: Sequence[Summary], rated: Collection[str]) -> Iterator[Finding]:
    """Report n½; its evidence is the bandwidth at the size nearest to it and at the peak, if recorded."""
    half = half_bandwidth_size(points)
    if half is not None:
        best = max(points, key=bandwidth)
        near = min(points, key=lambda point: abs(math.log(max(size_of(point), 1) / max(half, 1))))
        cases = dict.fromkeys((near.case, best.case))
        yield Finding(
            "half-bandwidth",
            0.4,
            f"Half of the peak bandwidth needs messages of {format_bytes(round(half))}",
            f"n½ of the ping-pong, whose peak is {_rate(best)}. Combine smaller messages where possible.",
            tuple((case, "bandwidth") for case in cases if case in rated) or evidence(best),
        )


def _switches(points: Sequence[Summary], caches: Sequence[Cache]) -> Iterator[Finding]:
    at = {size_of(point): point for point in points}
    pieces = pieces_of(points)
    eager = eager_limit(pieces)
    for switch in pieces.switches:
        where = switch_where(switch)
        below, above = at[switch.below], at[switch.above]
        sides = ((below, switch.below), (above, switch.above))
        times = ", ".join(f"{_time(point.median)} at {format_size(size)}" for point, size in sides)
        cache = near_cache(switch, caches)
        if switch.kind == "jump":
            name = "Cache limit" if cache and switch.factor > 1 else "Protocol switch"
            headline = f"{name} {where}: {switch_words(switch)}"
            detail = f"{times}; the line of the smaller sizes does not lead there."
            if switch.below == eager:
                detail += (
                    " It adds at least a whole message, as a rendezvous does: the eager limit is probably "
                    f"{format_size(eager)} or little more. If your messages are larger, try another limit."
                )
        else:
            words = switch_words(switch)
            headline = f"{words[:1].upper()}{words[1:]} from about {format_size(switch.above)} on"
            detail = (
                f"The slope of the ping-pong's time changes {where}: another protocol, or messages that "
                "exceed a cache."
            )
        if cache:
            detail += f" The L{cache.level} cache has {format_size(cache.bytes)}."
        importance = min(0.75, 0.45 + 0.3 * abs(math.log(switch.factor))) if switch.kind == "jump" else 0.35
        yield Finding("protocol-switch", importance, headline, detail, evidence(below, above))


def near_cache(switch: Switch, caches: Sequence[Cache]) -> Cache | None:
    """Return the cache that messages exceed from a switch on, with both buffers or with one.

    None if there is none.
    """
    return next((cache for cache in caches if switch.below < cache.bytes <= 2 * switch.above), None)


def _poor_fit(summaries: Sequence[Summary], points: Sequence[Summary]) -> Iterator[Finding]:
    fitted = fit_loggp(summaries)
    if fitted is None or not fitted.poor:
        return

    def error(point: Summary) -> float:
        return abs(fitted.line(size_of(point)).time(size_of(point)) / point.median - 1)

    worst = max(points, key=error)
    yield Finding(
        "poor-fit",
        0.5,
        f"No lines fit the ping-pong: {100 * error(worst):.0f} % off at {format_size(worst.bytes)}",
        f"The median error is {100 * fitted.median_error:.1f} %. Read times from the curve: the LogGP "
        "parameters do not describe it.",
        evidence(worst),
        "warning",
    )


def _both_ways(summaries: Sequence[Summary], one_way: _OneWay) -> Iterator[Finding]:
    for benchmark, messages in _BOTH_WAYS.items():
        found = curve(summaries, benchmark)
        alone = {size_of(point): point for point in one_way(found[0].ranks)} if found else {}
        points = [point for point in found if size_of(point) in alone]
        if not points:
            continue

        def cost(point: Summary, messages: int = messages, alone: Mapping[int, Summary] = alone) -> float:
            return point.median / (messages * alone[size_of(point)].median)

        worst = max(points, key=cost)
        slow = ends(worst)[0] > _SLOW_BOTH_WAYS * messages * alone[size_of(worst)].median
        yield Finding(
            "both-ways",
            0.35 + 0.15 * min(1.0, max(0.0, cost(worst) - 1)),
            f"{benchmark}: simultaneous messages both ways take up to {_times(cost(worst))} as long as one "
            f"way ({format_size(worst.bytes)})",
            f"{_time(worst.median)} for {messages} each way on {worst.ranks} ranks, against "
            f"{_time(alone[size_of(worst)].median)} for one in the ping-pong. 1 means full duplex, 2 half "
            "duplex.",
            evidence(worst, alone[size_of(worst)]),
            "warning" if slow else "info",
            cost(worst),
        )


def _messages(benchmark: str, ranks: int) -> int | None:
    """Return the successive messages of a textbook algorithm; non-blocking forms count as blocking."""
    rounds = math.ceil(math.log2(ranks)) if ranks > 1 else 0
    steps = dict.fromkeys(("barrier", "bcast", "reduce"), rounds)
    steps |= dict.fromkeys(("allreduce", "reduce_scatter"), 2 * rounds)
    steps |= dict.fromkeys(("gather", "scatter", "allgather", "alltoall"), ranks - 1)
    steps |= {f"{name}v": steps[name] for name in ("gather", "scatter", "allgather", "alltoall")}
    return steps.get(benchmark) or steps.get(benchmark.removeprefix("i"))


def _slow_collective(summaries: Sequence[Summary], one_way: _OneWay) -> Iterator[Finding]:
    """Report the collective that takes longest, compared with its messages in succession."""
    slow: list[tuple[float, Summary, int, float]] = []
    for summary in summaries:
        if summary.metric != "time" or summary.axes:
            continue
        messages = _messages(summary.benchmark, summary.ranks)
        one = time_at(one_way(summary.ranks), size_of(summary))
        if messages and one and ends(summary)[0] > _SLOW_COLLECTIVE * messages * one:
            slow.append((summary.median / (messages * one), summary, messages, one))
    if not slow:
        return
    slow.sort(key=lambda entry: -entry[0])
    factor, worst, messages, one = slow[0]
    yield Finding(
        "slow-collective",
        min(0.75, 0.5 + 0.1 * math.log2(factor / _SLOW_COLLECTIVE)),
        f"{named(worst)} takes {_times(factor)} as long as the ping-pong suggests",
        f"{_time(worst.median)} {ORIGINS[worst.clock]}; the {counted(messages, 'message')} in succession of "
        f"a textbook algorithm would take {_time(messages * one)}. {counted(len(slow), 'case')} above "
        f"{_times(_SLOW_COLLECTIVE)}. The estimate ignores contention and arithmetic; try another algorithm "
        "or another binding.",
        evidence(*(entry[1] for entry in slow)),
        "warning",
        factor,
    )


def _odd_ranks(summaries: Sequence[Summary]) -> Iterator[Finding]:
    """Report collectives that are slower on some number of ranks than on the powers of two around it."""
    sweeps: dict[tuple[str, int | None], dict[int, Summary]] = {}
    for summary in summaries:
        if summary.metric == "time" and not summary.axes and _messages(summary.benchmark, 2):
            sweeps.setdefault((summary.benchmark, summary.bytes), {})[summary.ranks] = summary
    odd: list[tuple[float, Summary, Summary]] = []
    for sweep in sweeps.values():
        for ranks, here in sweep.items():
            below = 1 << (ranks.bit_length() - 1)
            if below == ranks or below not in sweep or 2 * below not in sweep:
                continue
            slower = max(sweep[below], sweep[2 * below], key=lambda summary: summary.median)
            if here.median > _ODD_RANKS * slower.median and apart(slower, here):
                odd.append((here.median / slower.median, here, slower))
    if not odd:
        return
    odd.sort(key=lambda entry: -entry[0])
    factor, worst, power = odd[0]
    yield Finding(
        "power-of-two",
        min(0.7, 0.4 + 0.2 * math.log2(factor)),
        f"{named(worst)} takes {_times(factor)} as long as on {power.ranks}",
        f"{_time(worst.median)} against {_time(power.median)}: its algorithm favours powers of two. "
        f"{counted(len(odd), 'such case')}.",
        evidence(*(entry[1] for entry in odd)),
        factor=factor,
    )


def _time(seconds: float | None) -> str:
    return format_value(seconds, "s")


def _rate(point: Summary) -> str:
    return format_value(bandwidth(point), "B/s")


def _times(factor: float) -> str:
    return f"{three_digits(factor)} times"
