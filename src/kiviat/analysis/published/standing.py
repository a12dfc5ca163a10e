"""Position of a machine among published machines of similar kind, for a few absolute quantities.

Axes have fixed ends, three decades apart, so that diagrams of different machines and dates are comparable. No
quantity is divided by HPL, so a poor HPL result cannot make a machine look better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.hpcc.quantities import measured_system
from kiviat.analysis.published.nearest import Odd, distance, odd
from kiviat.record.published import Paper, System, papers
from kiviat.record.run import Run

_DECADES = 3.0
MOST_REFERENCES = 3
# A reference may have so many axes fewer than the one with most; publications so old are of another time.
_FEWER, _RECENT_YEARS = 1, 10
_SMALL_BYTES = 8


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of the diagram. `centre` is the value at the centre, three decades worse than at the rim."""

    id: str
    title: str
    unit: str
    centre: float
    lower: bool = False

    @property
    def rim(self) -> float:
        """The value at the rim."""
        return self.centre * 10 ** (-_DECADES if self.lower else _DECADES)

    def share(self, value: float) -> float:
        """Return the position of a value between centre (0) and rim (1).

        Values beyond are moved to the ends.
        """
        decades = math.log10(self.centre / value if self.lower else value / self.centre)
        return min(1.0, max(0.0, decades / _DECADES))


AXES = (
    Axis("latency_near", "Latency, near", "s", 100e-6, lower=True),
    Axis("latency_far", "Latency, far", "s", 100e-6, lower=True),
    Axis("bandwidth_far", "Bandwidth, far", "B/s", 100e6),
    Axis("bandwidth_near", "Bandwidth, near", "B/s", 100e6),
    Axis("message_rate", "Message rate, per pair", "1/s", 100e3),
    Axis("ring", "Random ring, per core", "B/s", 10e6),
    Axis("memory", "Memory, per core", "B/s", 100e6),
    Axis("compute", "DGEMM, per core", "flop/s", 1e9),
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value on an axis, and its case or its location in a publication.

    `disturbed`: other programs disturbed the case, so the value is shown but not judged.
    """

    value: float
    source: str
    disturbed: bool = False


Values = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Reference:
    """A published machine with its values by axis."""

    name: str
    description: str
    paper: Paper
    values: Values


def standing(run: Run, summaries: Sequence[Summary]) -> Values:
    """Return the values of a run by axis.

    Without unmeasured quantities and results of oversubscribed cores.
    """
    fair = [summary for summary in summaries if not summary.oversubscribed and summary.median > 0]
    found: dict[str, Value] = {}

    @cache
    def shares_node(ranks: int, other: int) -> bool | None:
        nodes = nodes_of(run, max(ranks, other + 1))
        return None if nodes is None else nodes.near(0, other)

    for near in (True, False):
        level = "near" if near else "far"
        points = [
            summary
            for summary in fair
            if summary.benchmark == "pingpong" and shares_node(summary.ranks, _partner(summary)) is near
        ]
        times = [summary for summary in points if summary.metric == "time"]
        small = [
            summary for summary in times if summary.bytes is not None and 0 < summary.bytes <= _SMALL_BYTES
        ]
        if small:
            smallest = min(small, key=lambda summary: (summary.bytes or 0, summary.median))
            found[f"latency_{level}"] = Value(smallest.median, smallest.case)
        if rates := [summary for summary in points if summary.metric == "bandwidth"]:
            best = max(rates, key=lambda summary: summary.median)
            found[f"bandwidth_{level}"] = Value(best.median, best.case)
    rates = [
        summary
        for summary in fair
        if summary.benchmark == "uniband" and summary.metric == "message_rate" and not summary.axes
    ]
    if rates:
        fewest = min(summary.ranks for summary in rates)
        best = max(
            (summary for summary in rates if summary.ranks == fewest), key=lambda summary: summary.median
        )
        found["message_rate"] = Value(best.median / max(1, best.ranks // 2), best.case)
    whole = measured_system(run, run.id, fair).whole
    # Rates of a rank whose threads compute are those of several cores, and so are those of its messages.
    threads = max((known.number("threads") or 1 for known in whole.quantities.values()), default=1)
    for axis, quantity in (("ring", "ring_bandwidth"), ("memory", "triad"), ("compute", "dgemm")):
        # Published rates are those of memory.
        if (known := whole.quantities.get(quantity)) and not known.in_cache:
            own = known.number("threads") or (threads if axis == "ring" else 1)
            found[axis] = Value(known.value / own, known.case)
    disturbed = {summary.case for summary in fair if summary.disturbed}
    return {axis: replace(value, disturbed=value.source in disturbed) for axis, value in found.items()}


def stays_in_cache(run: Run, summaries: Sequence[Summary]) -> bool:
    """Return whether the run's rate of STREAM is that of a cache."""
    fair = [summary for summary in summaries if not summary.oversubscribed]
    return bool(fair and measured_system(run, run.id, fair).whole.cached)


def _partner(summary: Summary) -> int:
    """Return the rank with which rank 0 of a ping-pong exchanges messages."""
    distance = summary.axes.get("distance", 1)
    return int(distance) if isinstance(distance, int | float) else 1


# Axis of each published quantity.
_MEASURES = {
    "pingpong.time": "latency",
    "pingpong.bandwidth": "bandwidth",
    "b_eff.pingpong_latency": "latency",
    "b_eff.pingpong_bandwidth": "bandwidth",
    "ring.random_bandwidth": "ring",
    "stream.triad": "memory",
    "dgemm.rate": "compute",
}
_FAR = "different nodes"


def references(run: Run, values: Values) -> list[Reference]:
    """Return at most three published machines of similar kind, those with most of the axes of `values`.

    For a modelled machine with published results, they come from the papers about it; otherwise from the
    publications of the last years. Machines with nearly the maximum number of axes are sorted by distance,
    nearest first.
    """
    model = run.machine.model
    names = {one.machine for one in model.published} if model else set()
    own = [paper for paper in papers() if names & {system.machine for system in paper.systems}]
    found = [each for paper in own or _recent() for each in _machines(paper) if _shared(values, each)]
    most = max((_shared(values, each) for each in found), default=0)
    found = [each for each in found if _shared(values, each) >= most - _FEWER]
    found.sort(key=lambda each: distance(_numbers(values), _numbers(each.values)))
    by_name: dict[str, Reference] = {}
    for each in found:
        by_name.setdefault(each.name, each)
    return [*by_name.values()][:MOST_REFERENCES]


def _recent() -> list[Paper]:
    """Return the publications of the last years before the latest."""
    latest = max((paper.year for paper in papers() if paper.year), default=0)
    return [paper for paper in papers() if paper.year and paper.year >= latest - _RECENT_YEARS]


def _shared(values: Values, reference: Reference) -> int:
    return len(values.keys() & reference.values.keys())


def _numbers(values: Values) -> dict[str, float]:
    return {axis: value.value for axis, value in values.items()}


def odd_axes(values: Values, beside: Sequence[Reference]) -> list[Odd]:
    """Return the axes on which a machine is far from all references, worse or better."""
    return odd(_numbers(values), [_numbers(each.values) for each in beside])


def _machines(paper: Paper) -> list[Reference]:
    groups: dict[tuple[str, str], dict[str, Value]] = {}
    for system in paper.systems:
        values = groups.setdefault((system.machine, system.mode), {})
        for axis, value in _published(system).items():
            values.setdefault(axis, value)
    return [Reference(machine, mode, paper, values) for (machine, mode), values in groups.items()]


def _published(system: System) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for fact in system.facts:
        axis = _MEASURES.get(fact.measures, "")
        if axis == "latency" and axis not in fact.metric.lower():  # the time of a larger message
            continue
        if axis in ("latency", "bandwidth"):
            axis += "_far" if system.placement == _FAR else "_near"
        if axis and fact.relation == "=":
            found.setdefault(axis, Value(fact.value, fact.location))
    return found


@dataclass(frozen=True, slots=True)
class Judgement:
    """Comparison of a value with references: `level` is "good", "usual" or "poor".

    `factor` is the ratio to the best reference if better, to the worst if worse, and 1 in between.
    """

    level: str
    factor: float
    best: Reference
    worst: Reference


# Values within this factor of the references' range count as usual.
_USUAL = 1.5


def judged(axis: Axis, value: float, beside: Sequence[Reference]) -> Judgement | None:
    """Return the judgement of a value; None if fewer than two references have a value on that axis."""
    known = [each for each in beside if axis.id in each.values]
    if len(known) < 2:
        return None
    known.sort(key=lambda each: axis.share(each.values[axis.id].value))
    worst, best = known[0], known[-1]

    def better(one: float, other: float) -> float:
        return other / one if axis.lower else one / other

    above = better(value, best.values[axis.id].value)
    below = better(value, worst.values[axis.id].value)
    if above >= 1:
        return Judgement("good", above, best, worst)
    if below >= 1:
        return Judgement("good", 1.0, best, worst)
    return Judgement("usual" if below * _USUAL >= 1 else "poor", 1 / below, best, worst)
