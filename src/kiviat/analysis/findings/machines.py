"""Findings that compare several machines: leaders, crossings of curves, and relative costs.

Two values count as different if their intervals do not overlap and they differ by at least a tenth; measured
values without an interval do not, nor do measurements whose calls start differently. Results of
oversubscribed cores, and those disturbed by other programs, are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.summary import MIXED, Summary
from kiviat.analysis.findings.finding import Evidence, Finding, apart, quotient_ends
from kiviat.analysis.hpcc.quantities import ORIGINS
from kiviat.record.run import Run
from kiviat.record.traits import TraitsByName
from kiviat.record.units import counted, format_size, format_value, listed, three_digits

_APART = 1.1  # ratio below which two values count as equal
_STEP = 1.5  # smaller steps to two nodes, or between powers of two, are not reported
_OF_A_KIND = 5  # maximum number of findings of one kind
_RINGS = ("random_bandwidth", "natural_bandwidth")


@dataclass(frozen=True)
class Machine:
    """Results of one machine.

    `parts` maps the identifier of each of its runs to the part of the study that it belongs to.
    """

    label: str
    runs: Sequence[Run]
    summaries: Sequence[Summary]
    parts: Mapping[str, str]


@dataclass(frozen=True)
class _Series:
    """Values that differ only in x. `what` describes them in words; `by` is "ranks" or "bytes"."""

    benchmark: str
    metric: str
    what: str
    by: str
    values: Mapping[str, Mapping[int, Summary]]  # by machine, then by x

    def shared(self, machines: Iterable[str]) -> list[int]:
        """Return the values of x that all these machines have, in ascending order."""
        return sorted(set.intersection(*(set(self.values[name]) for name in machines)))

    def at(self, x: int) -> str:
        return counted(x, "rank") if self.by == "ranks" else format_size(x)


def findings_across(machines: Sequence[Machine], traits: TraitsByName) -> list[Finding]:
    """Return all findings about several machines, the most important first.

    None if there is only one machine.
    """
    if len(machines) < 2:
        return []
    machines = _shortly_named(machines)
    over_ranks = list(_series(machines, traits, "ranks"))
    over_bytes = list(_series(machines, traits, "bytes"))
    found = [
        *_leaders(over_ranks),
        *_crossings([*over_ranks, *over_bytes]),
        *_oncoming(machines),
        *_rings(machines),
        *_powers_of_two(over_ranks),
        *_second_node(machines, over_ranks),
        *_not_monotonic(over_ranks, over_bytes),
    ]
    found.sort(key=lambda one: -one.importance)
    return [
        one for at, one in enumerate(found) if [each.kind for each in found[:at]].count(one.kind) < _OF_A_KIND
    ]


def _shortly_named(machines: Sequence[Machine]) -> Sequence[Machine]:
    """Return the machines without "(simulated)" in their names if all are simulated.

    Each finding then says that its values are simulated.
    """
    end = " (simulated)"
    short = [machine.label.removesuffix(end) for machine in machines]
    if len(set(short)) < len(short) or not all(machine.label.endswith(end) for machine in machines):
        return machines
    return [replace(machine, label=label) for machine, label in zip(machines, short, strict=True)]


def _series(machines: Sequence[Machine], traits: TraitsByName, by: str) -> Iterator[_Series]:
    """Yield series of each benchmark's time or, if it has none, of its headline metrics."""
    timed = {one.benchmark for each in machines for one in each.summaries if one.metric == "time"}
    groups: dict[tuple[object, ...], dict[str, dict[int, Summary]]] = {}
    for machine in machines:
        for one in machine.summaries:
            main = {head.metric for head in traits[one.benchmark].headlines}
            wanted = one.metric == "time" if one.benchmark in timed else one.metric in main
            x, other = (one.ranks, one.bytes) if by == "ranks" else (one.bytes, one.ranks)
            if not wanted or x is None or not _fair(one):
                continue
            axes = tuple(sorted((name, value) for name, value in one.axes.items() if name != "world"))
            key = machine.parts.get(one.run, ""), one.benchmark, one.metric, other, axes
            groups.setdefault(key, {}).setdefault(machine.label, {}).setdefault(x, one)
    for (_, benchmark, metric, _, _), values in groups.items():
        if len(values) > 1:
            first = next(iter(next(iter(values.values())).values()))
            yield _Series(str(benchmark), str(metric), _what(first, by), by, values)


def _fair(one: Summary) -> bool:
    return not one.oversubscribed and not one.disturbed and one.median > 0


def _what(one: Summary, by: str) -> str:
    metric = one.metric.removeprefix(one.benchmark).replace("_", " ").strip()
    metric = f" {metric}" if metric not in ("", "time") else ""
    size = f" of {format_size(one.bytes)}" if by == "ranks" and one.bytes is not None else ""
    ranks = f" on {counted(one.ranks, 'rank')}" if by == "bytes" else ""
    axes = "".join(f", {name} {value}" for name, value in sorted(one.axes.items()) if name != "world")
    return f"{one.benchmark}{metric}{size}{ranks}{axes}"


def _better(one: Summary, other: Summary) -> float:
    """Return the factor by which `one` is better than `other`; below 1 if it is worse."""
    return other.median / one.median if one.better == "lower" else one.median / other.median


def _apart(one: Summary, other: Summary) -> bool:
    """Return whether two values differ by at least a tenth, and their intervals do not overlap.

    Measurements whose calls start differently are not compared.
    """
    measured = {one.clock, other.clock} == {"wall"}
    if measured and (one.sync != other.sync or one.sync == MIXED):
        return False
    low, high = sorted((one, other), key=lambda each: each.median)
    return apart(low, high) and high.median > _APART * low.median


# ---- Comparison of machines


def _leaders(of: Sequence[_Series]) -> Iterator[Finding]:
    """Report the leading machine of each benchmark, and its lead.

    They are compared on the largest number of ranks that most machines share.
    """
    best: dict[tuple[str, str], tuple[tuple[int, int, int, float], Finding]] = {}
    for series in of:
        counts = {
            x: sum(x in own for own in series.values.values()) for own in series.values.values() for x in own
        }
        x = max(counts, key=lambda one: (counts[one], one))
        here = {name: own[x] for name, own in series.values.items() if x in own}
        if len(here) < 2:
            continue
        order = sorted(here, key=lambda name: _better(here[name], next(iter(here.values()))), reverse=True)
        first, second, last = here[order[0]], here[order[1]], here[order[-1]]
        factor = _better(first, last)
        if not _apart(first, second):
            continue
        behind = ", ".join(
            f"{_times(_better(first, here[name]))} {_as(first)} {name} ({_value(here[name])})"
            for name in order[1:]
        )
        finding = Finding(
            "leader",
            min(0.75, 0.4 + 0.1 * math.log2(factor)),
            f"{order[0]} leads in {series.what} on {series.at(x)} by a factor of "
            f"{three_digits(_better(first, second))}",
            f"{_value(first)}: {behind}. {_origin(here.values())}",
            _evidence(here[name] for name in order),
        )
        key = series.benchmark, series.metric
        # The case with most default axes on the most ranks, at the size with the largest factor.
        rank = len(here), -len(first.axes), x, factor
        if key not in best or rank > best[key][0]:
            best[key] = rank, finding
    yield from (finding for _, finding in best.values())


def _crossings(of: Sequence[_Series]) -> Iterator[Finding]:
    """Report pairs of machines whose order changes along a curve, once per benchmark and pair."""
    found: dict[tuple[str, str, str, frozenset[str]], tuple[float, Finding]] = {}
    for series in of:
        for a, b in combinations(series.values, 2):
            xs = [x for x in series.shared((a, b)) if _apart(series.values[a][x], series.values[b][x])]
            for left, right in pairwise(xs):
                before = _better(series.values[a][left], series.values[b][left])
                after = _better(series.values[a][right], series.values[b][right])
                if (before > 1) == (after > 1):
                    continue
                below, above = (a, b) if before > 1 else (b, a)
                size = min(max(before, 1 / before), max(after, 1 / after))
                points = [series.values[name][x] for x in (left, right) for name in (below, above)]
                finding = Finding(
                    "crossing",
                    min(0.7, 0.45 + 0.1 * math.log2(size)),
                    f"{series.what}: {below} is ahead up to {series.at(left)}, {above} from "
                    f"{series.at(right)} on",
                    f"{below} has {_times(_better(points[0], points[1]))} the speed on the one side, {above} "
                    f"{_times(_better(points[3], points[2]))} on the other. {_origin(points)}",
                    _evidence(points),
                )
                key = series.benchmark, series.metric, series.by, frozenset((a, b))
                if key not in found or size > found[key][0]:
                    found[key] = size, finding
    yield from (finding for _, finding in found.values())


def _oncoming(machines: Sequence[Machine]) -> Iterator[Finding]:
    """Report the cost of messages in both directions at once: time of pingping over that of pingpong."""
    costs: dict[str, dict[int, tuple[Summary, Summary]]] = {}
    for machine in machines:
        alone = _plain(machine, "pingpong", "time")
        costs[machine.label] = {
            size: (one, alone[run, size])
            for (run, size), one in _plain(machine, "pingping", "time").items()
            if size and (run, size) in alone
        }
    with_any = {name: own for name, own in costs.items() if own}
    if len(with_any) < 2:
        return
    shared = set.intersection(*(set(own) for own in with_any.values()))
    if not shared:
        return

    def lost(pair: tuple[Summary, Summary]) -> float:
        return max(0.0, 1 - pair[1].median / pair[0].median)

    size = max(shared, key=lambda x: max(lost(own[x]) for own in with_any.values()))
    order = sorted(with_any, key=lambda name: -lost(with_any[name][size]))
    worst, least = (lost(with_any[name][size]) for name in (order[0], order[-1]))
    both, alone_at = with_any[order[0]][size]
    if worst < 1 - 1 / _APART or not quotient_ends(alone_at, both)[1] < 1:
        return
    points = [one for name in order for one in with_any[name][size]]
    each = ", ".join(f"{name} {100 * lost(with_any[name][size]):.0f} %" for name in order)
    yield Finding(
        "oncoming",
        0.45 + 0.2 * (worst - least),
        f"Messages of {format_size(size)} both ways at once cost {order[0]} {100 * worst:.0f} % of its "
        f"bandwidth one way, {order[-1]} {100 * least:.0f} %",
        f"PingPing against PingPong of the same ranks: {each}. Half duplex would lose 50 %. "
        f"{_origin(points)}",
        _evidence(points),
    )


def _plain(machine: Machine, benchmark: str, metric: str) -> dict[tuple[str, int], Summary]:
    """Return the values on two ranks with default axes, by run and size."""
    return {
        (one.run, one.bytes or 0): one
        for one in machine.summaries
        if (one.benchmark, one.metric, one.ranks) == (benchmark, metric, 2) and not one.axes and _fair(one)
    }


def _rings(machines: Sequence[Machine]) -> Iterator[Finding]:
    """Report how much bandwidth random order costs rings, and their share of the ping-pong's peak."""
    shares: dict[str, tuple[float, float | None, int, list[Summary]]] = {}
    for machine in machines:
        by_ranks: dict[tuple[str, int], dict[str, Summary]] = {}
        for one in machine.summaries:
            if one.benchmark == "ring" and one.metric in _RINGS and one.ranks > 2 and _fair(one):
                by_ranks.setdefault((one.run, one.ranks), {})[one.metric] = one
        whole = [own for own in by_ranks.values() if len(own) == len(_RINGS)]
        if not whole:
            continue
        random, natural = (max(whole, key=lambda own: own[_RINGS[0]].ranks)[name] for name in _RINGS)
        peaks = [
            one
            for one in machine.summaries
            if (one.benchmark, one.metric) == ("pingpong", "bandwidth") and _fair(one)
        ]
        peak = max(peaks, key=lambda one: one.median, default=None)
        beside = None if peak is None else random.median / peak.median
        points = [random, natural, *([peak] if peak else [])]
        shares[machine.label] = random.median / natural.median, beside, random.ranks, points
    if len(shares) < 2:
        return
    order = sorted(shares, key=lambda name: shares[name][0])
    worst, best = shares[order[0]], shares[order[-1]]
    (_, most), (least, _) = (quotient_ends(*points[:2]) for *_, points in (worst, best))
    if worst[0] * _APART > best[0] or not most < least:
        return
    each = "; ".join(
        f"{name} keeps {100 * share:.0f} % on {ranks} ranks"
        + ("" if beside is None else f", {100 * beside:.0f} % of its best ping-pong")
        for name, (share, beside, ranks, _) in shares.items()
    )
    points = [one for name in order for one in shares[name][3]]
    yield Finding(
        "rings-across",
        min(0.7, 0.45 + 0.1 * math.log2(best[0] / worst[0])),
        f"Random order leaves {order[0]} {100 * worst[0]:.0f} % of its natural ring, {order[-1]} "
        f"{100 * best[0]:.0f} %",
        f"Bandwidth of a process in random rings over that in rank order: {each}. {_origin(points)}",
        _evidence(points),
    )


# ---- Features of curves that only some of the machines have


def _powers_of_two(of: Sequence[_Series]) -> Iterator[Finding]:
    """Report numbers of ranks between two powers of two that are slower than both on some machines only."""
    best: dict[str, tuple[float, Finding]] = {}
    for series in of:
        for x in {x for own in series.values.values() for x in own}:
            below = 1 << (x.bit_length() - 1)
            trio = {
                name: (own[below], own[x], own[2 * below])
                for name, own in series.values.items()
                if below != x and {below, x, 2 * below} <= own.keys()
            }
            if len(trio) < 2:
                continue
            costs = {
                name: min(_better(left, one), _better(right, one))
                for name, (left, one, right) in trio.items()
            }
            paying = [
                name
                for name, (left, one, right) in trio.items()
                if costs[name] > _STEP and _apart(left, one) and _apart(one, right)
            ]
            if not paying:
                continue
            points = [one for name in paying for one in trio[name]]
            free = [name for name in costs if costs[name] <= _APART]
            most = max(costs[name] for name in paying)
            finding = Finding(
                "powers-of-two-across",
                min(0.7, 0.45 + 0.1 * math.log2(most)),
                f"{series.what}: {x} ranks cost {listed(paying)} up to {_times(most)} as much as {below} and "
                f"{2 * below}",
                (f"{listed(free)} {'does' if len(free) == 1 else 'do'} not lose there. " if free else "")
                + f"An algorithm that favours powers of two. {_origin(points)}",
                _evidence(points),
            )
            if series.benchmark not in best or most > best[series.benchmark][0]:
                best[series.benchmark] = most, finding
    yield from (finding for _, finding in best.values())


def _second_node(machines: Sequence[Machine], of: Sequence[_Series]) -> Iterator[Finding]:
    """Report the increase from the most ranks on one node to the fewest on two, for each machine."""
    runs = {machine.label: {run.id: run for run in machine.runs} for machine in machines}
    best: dict[str, tuple[float, Finding]] = {}
    for series in of:
        by_ranks: dict[tuple[int, int], dict[str, tuple[float, Summary, Summary]]] = {}
        for name, own in series.values.items():
            for left, right in pairwise(sorted(own)):
                counts = [_nodes(runs[name], own[x]) for x in (left, right)]
                if left > 1 and counts == [1, 2]:
                    step = 1 / _better(own[right], own[left]), own[left], own[right]
                    by_ranks.setdefault((left, right), {})[name] = step
        steps = max(by_ranks.values(), key=len, default={})
        if len(steps) < 2:
            continue
        order = sorted(steps, key=lambda name: -steps[name][0])
        (worst, *_), (least, *_) = steps[order[0]], steps[order[-1]]
        if worst < _STEP or worst < _APART * least or not _apart(*steps[order[0]][1:]):
            continue
        others = f"{_times(least)} on" if least > _APART else "not on"
        each = "; ".join(
            f"{name} {_value(left)} on {left.ranks}, {_value(right)} on {right.ranks} ranks"
            for name, (_, left, right) in steps.items()
        )
        points = [one for name in order for one in steps[name][1:]]
        finding = Finding(
            "second-node",
            min(0.7, 0.45 + 0.1 * math.log2(worst / max(least, 1e-9))),
            f"{series.what} gets worse from one node to two: {_times(worst)} on {order[0]}, "
            f"{others} {order[-1]}",
            f"{each}. {_origin(points)}",
            _evidence(points),
        )
        if series.benchmark not in best or worst > best[series.benchmark][0]:
            best[series.benchmark] = worst, finding
    yield from (finding for _, finding in best.values())


def _nodes(runs: Mapping[str, Run], one: Summary) -> int | None:
    nodes = nodes_of(runs[one.run], one.ranks) if one.run in runs else None
    return None if nodes is None else nodes.count(one.ranks)


def _not_monotonic(over_ranks: Sequence[_Series], over_bytes: Sequence[_Series]) -> Iterator[Finding]:
    """Report times that decrease with more ranks or bytes on some machines, but on no others.

    Programs are excluded, because more ranks make them faster.
    """
    best: dict[tuple[str, str], tuple[float, Finding]] = {}
    for series in (*over_ranks, *over_bytes):
        if series.metric != "time" or all(
            one.bytes is None for own in series.values.values() for one in own.values()
        ):
            continue
        dips: dict[str, tuple[float, Summary, Summary]] = {}
        for name, own in series.values.items():
            for before, after in pairwise(own[x] for x in sorted(own)):
                if after.median < before.median and _apart(before, after):
                    dip = before.median / after.median, before, after
                    dips[name] = max(dips.get(name, dip), dip, key=lambda each: each[0])
        steady = [
            name
            for name, own in series.values.items()
            if len(own) > 1
            and all(a.median <= _APART * b.median for a, b in pairwise(own[x] for x in sorted(own)))
        ]
        if not dips or not steady:
            continue
        worst = max(dips, key=lambda name: dips[name][0])
        factor, left, right = dips[worst]
        x, y = (left.ranks, right.ranks) if series.by == "ranks" else (left.bytes or 0, right.bytes or 0)
        finding = Finding(
            "not-monotonic",
            min(0.65, 0.4 + 0.1 * math.log2(factor)),
            f"{series.what}: {worst} is {_times(factor)} as fast at {series.at(y)} as at {series.at(x)}",
            f"{_value(left)} and {_value(right)}: another algorithm or protocol. {listed(steady)} "
            f"{'does' if len(steady) == 1 else 'do'} not become faster. {_origin([left, right])}",
            _evidence((left, right)),
        )
        if (series.benchmark, series.by) not in best or factor > best[series.benchmark, series.by][0]:
            best[series.benchmark, series.by] = factor, finding
    yield from (finding for _, finding in best.values())


def _value(one: Summary) -> str:
    return format_value(one.median, one.unit)


def _times(factor: float) -> str:
    return f"{three_digits(factor)} times"


def _as(one: Summary) -> str:
    return "as fast as" if one.better == "lower" else "as much as"


def _origin(points: Iterable[Summary]) -> str:
    """Return where values come from, unless all were measured."""
    origins = sorted({ORIGINS[one.clock] for one in points}, reverse=True)
    if len(origins) > 1:
        return f"{listed(origins).capitalize()} values are compared."
    return "" if origins == ["measured"] else f"All values are {origins[0]}."


def _evidence(points: Iterable[Summary]) -> Evidence:
    return tuple(dict.fromkeys((one.case, one.metric) for one in points))
