"""Forms of claims about scaling, answered by curves over ranks, sockets and power.

The rows of published/ define the claims (record.published.Claim). The thresholds below are Kiviat's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from kiviat.analysis.published.question import Row, all_rows
from kiviat.analysis.published.verdict import AGREES, CANNOT_TELL, DISAGREES, WITHIN, Verdict, keeps_bound
from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.equivalence import different, work
from kiviat.analysis.scaling.series import Source, Study
from kiviat.record.published import Claim, Fact
from kiviat.record.run import Run
from kiviat.record.units import counted, format_value, listed, three_digits

LARGE = 32  # minimum number of ranks of a "large count"
POOR = 0.5  # limit of the parallel efficiency
NEARLY = 1.25  # limit of the ratio of times
ABOUT = 0.1

Machines = Mapping[str, frozenset[str]]  # curve's label to the published names of its machine
# Verdict; its numbers, or the reason why it cannot be determined; whether it is based on predictions.
Answer = tuple[str, str, bool]


def scaling_verdicts(studies: Sequence[Study], sources: Sequence[Source]) -> list[Verdict]:
    """Return the verdicts on all claims about scaling of each paper that concerns one of the machines."""
    machines = {source.label: _published(source.runs[0]) for source in sources}
    here = {name for names in machines.values() for name in names}
    claims = [(row, claim) for row in all_rows() for claim in row.fact.claims if claim.asks in SCALING_FORMS]
    concerned = {row.paper.name for row, claim in claims if here & {_machine(row, claim), claim.than}}
    found: dict[object, Verdict] = {}
    for row, claim in claims:
        if row.paper.name in concerned:
            for study, verdict, words, predicted in _of(row, claim, studies, machines):
                # A row with two claims reports missing machines only once.
                key = row.id, claim if study else "", id(study), words
                holds = {AGREES: True, DISAGREES: False}.get(verdict)
                one = Verdict(row, claim, holds, None, holds, words, study, predicted)
                found.setdefault(key, one)
    return list(found.values())


def _published(run: Run) -> frozenset[str]:
    """Return the published names of a machine: those of its model, or the name given with --machine."""
    model = run.machine.model
    return frozenset((run.machine.name, *(one.machine for one in (model.published if model else ()))))


def _machine(row: Row, claim: Claim) -> str:
    return claim.of or row.system.machine


def _of(
    row: Row, claim: Claim, studies: Sequence[Study], machines: Machines
) -> Iterator[tuple[Study | None, str, str, bool]]:
    """Yield the answer for each study concerned, or for the machine, or the reason why there is none."""
    name = _machine(row, claim)
    here = {name for names in machines.values() for name in names}
    wanted = dict.fromkeys((name, *([claim.than] if claim.than else ())))
    if lacking := [f"no run of {other}" for other in wanted if other not in here]:
        yield None, CANNOT_TELL, " and ".join(lacking), False
        return
    if not claim.benchmarks:
        points = [
            (study, curve, point)
            for study in studies
            for curve in study.curves
            if name in machines[curve.label]
            for point in curve.points
        ]
        fair = [one for one in points if one[2].fair]
        if points and not fair:
            yield None, CANNOT_TELL, "all points are oversubscribed or disturbed", False
            return
        assert isinstance(row.fact, Fact)
        yield None, *_OF_MACHINES[claim.asks](fair, row.fact, claim)
        return
    found = False
    for study in studies:
        if study.benchmark in claim.benchmarks and claim.kind in ("", study.kind):
            for curves in _curves(study, name, claim, machines):
                found = True
                yield study, *_OF_PROGRAMS[claim.asks](study, *curves)
    if not found:
        named = " or ".join(claim.benchmarks)
        size = "" if claim.size is None else f"of size {claim.size}"
        words = ("no", claim.kind, "run of", named, size, "on both" if claim.than else "")
        yield None, CANNOT_TELL, " ".join(filter(None, words)), False


def _curves(study: Study, name: str, claim: Claim, machines: Machines) -> Iterator[tuple[Curve, ...]]:
    """Yield each curve of the machine with the curves of the machine that it is compared with."""
    fitting = [curve for curve in study.curves if claim.size is None or _is_of_size(curve, claim.size)]
    for curve in fitting:
        if name in machines[curve.label] and not claim.than:
            yield (curve,)
        elif name in machines[curve.label]:
            yield from ((curve, other) for other in fitting if claim.than in machines[other.label])


def _is_of_size(curve: Curve, size: int) -> bool:
    first = curve.points[0]
    return first.size is not None and first.size.total(first.ranks) == size


# ---- Claims about a program on machines


def _quicker(study: Study, curve: Curve, other: Curve) -> Answer:
    predicted = _predicted(curve, other)
    if reason := different(study, curve, other):
        return CANNOT_TELL, reason, predicted
    pairs = _common(curve, other)
    if not pairs:
        return CANNOT_TELL, "no common number of ranks without oversubscription and disturbance", predicted
    ratios = [work(study, one)[0] / work(study, two)[0] for one, two in pairs]
    words = f"{_span(ratios)} times as much per second, {_on(pairs)}"
    slower = [one.ranks for one, two in pairs if _most(study, curve, one) < _least(study, other, two)]
    if slower:
        return DISAGREES, f"{words}; less on {listed(list(map(str, slower)))}", predicted
    if all(_least(study, curve, one) > _most(study, other, two) for one, two in pairs):
        return AGREES, words, predicted
    return CANNOT_TELL, f"{words}, {WITHIN}", predicted


def _least(study: Study, curve: Curve, point: Point) -> float:
    """Return the lower end of the interval of work per second; for predictions, the value itself."""
    value, low, _ = work(study, point)
    return value if curve.clock == "simulated" else 0.0 if low is None else low


def _most(study: Study, curve: Curve, point: Point) -> float:
    value, _, high = work(study, point)
    return value if curve.clock == "simulated" else math.inf if high is None else high


def _nearly(study: Study, curve: Curve, other: Curve) -> Answer:
    """Test whether a machine is nearly as fast as another on the most common ranks.

    Its gap must also be smaller there than on the fewest ranks.
    """
    predicted = _predicted(curve, other)
    if reason := different(study, curve, other):
        return CANNOT_TELL, reason, predicted
    pairs = _common(curve, other)
    if not pairs or pairs[-1][0].ranks < LARGE:
        return CANNOT_TELL, f"no common result on {LARGE} or more ranks", predicted
    ends = pairs[0], pairs[-1]
    first, last = (work(study, two)[0] / work(study, one)[0] for one, two in ends)
    few, many = (counted(one.ranks, "rank") for one, _ in ends)
    words = f"{three_digits(first)} times as long on {few}, {three_digits(last)} on {many}"
    (first_low, first_high), (low, high) = (
        (
            _least(study, other, two) / _most(study, curve, one),
            _most(study, other, two) / least if (least := _least(study, curve, one)) else math.inf,
        )
        for one, two in ends
    )
    if high <= NEARLY and high < first_low:
        return AGREES, words, predicted
    if low > NEARLY or low >= first_high:
        return DISAGREES, words, predicted
    return CANNOT_TELL, f"{words}, {WITHIN}", predicted


def _poor(study: Study, curve: Curve) -> Answer:
    fair = [point for point in curve.points if point.fair]
    predicted = _predicted(curve)
    if not fair or fair[-1].ranks < LARGE:
        return CANNOT_TELL, f"no result on {LARGE} or more ranks", predicted
    base, last = curve.points[0], fair[-1]
    if not base.fair:
        on = counted(base.ranks, "rank")
        why = f"the point on {on}, to which all others are compared, is oversubscribed or disturbed"
        return CANNOT_TELL, why, predicted
    value = last.efficiency.value
    words = f"parallel efficiency {three_digits(100 * value)} % on {counted(last.ranks, 'rank')}"
    bounds = (value, value) if predicted else last.efficiency.bounds if last.meaning == "95 %" else None
    if bounds is None or bounds[0] < POOR <= bounds[1]:
        return CANNOT_TELL, f"{words}, {WITHIN}", predicted
    return AGREES if value < POOR else DISAGREES, words, predicted


def _predicted(*curves: Curve) -> bool:
    return any(curve.clock == "simulated" for curve in curves)


def _common(curve: Curve, other: Curve) -> list[tuple[Point, Point]]:
    theirs = {point.ranks: point for point in other.points if point.fair}
    return [(point, theirs[point.ranks]) for point in curve.points if point.ranks in theirs and point.fair]


def _span(values: Sequence[float]) -> str:
    ends = dict.fromkeys(three_digits(value) for value in (min(values), max(values)))
    return " to ".join(ends)


def _on(pairs: Sequence[tuple[Point, Point]]) -> str:
    first, last = (pair[0].ranks for pair in (pairs[0], pairs[-1]))
    return f"on {first} to {counted(last, 'rank')}" if first < last else f"on {counted(last, 'rank')}"


# ---- Claims about a machine

Points = Sequence[tuple[Study, Curve, Point]]


def _sockets(points: Points, fact: Fact, claim: Claim) -> Answer:
    for _, curve, point in points:
        if point.ranks == claim.ranks and point.sockets is not None:
            words = f"{point.sockets} sockets for {point.ranks} ranks"
            return _held(point.sockets, fact), words, _predicted(curve)
    return CANNOT_TELL, f"no result on {claim.ranks} ranks", False


def _watts(points: Points, fact: Fact, claim: Claim) -> Answer:
    """Compare the power of all used sockets, or of each, on the most ranks; declared power proves nothing."""
    known = [(point, curve) for _, curve, point in points if None not in (point.power.watts, point.sockets)]
    if not known:
        return CANNOT_TELL, "the power of these runs is unknown", False
    point, curve = max(known, key=lambda one: one[0].ranks)
    assert point.power.watts is not None and point.sockets is not None
    each = claim.asks == "socket_watts"
    watts = point.power.watts / point.sockets if each else point.power.watts
    words = f"{format_value(watts, 'W')} {'per socket' if each else f'for {point.sockets} sockets'}"
    if point.power.origin != "measured":
        return CANNOT_TELL, f"{words}, declared, not measured", _predicted(curve)
    return _held(watts, fact), f"{words}, measured", _predicted(curve)


def _peak(points: Points, fact: Fact, claim: Claim) -> Answer:
    """Test whether a rate in flop/s, or per watt, stays below the stated peak."""
    per_watt = fact.unit == "flop/J"
    rates = [
        (value, study, curve, point)
        for study, curve, point in points
        if study.unit == "flop/s" and (value := point.power.per_watt if per_watt else point.value) is not None
    ]
    if not rates:
        return CANNOT_TELL, "no rate in flop/s here", False
    value, study, curve, point = max(rates, key=lambda one: one[0])
    most = format_value(value, "flop/J" if per_watt else "flop/s")
    words = f"{most} at most: {study.title}, {study.kind}, on {counted(point.ranks, 'rank')}"
    # The rate per watt varies as the rate does.
    low, high = (value * (end(study, curve, point) / point.value) for end in (_least, _most))
    if low <= fact.value < high:
        return CANNOT_TELL, f"{words}, {WITHIN}", _predicted(curve)
    return AGREES if value <= fact.value else DISAGREES, words, _predicted(curve)


def _held(value: float, fact: Fact) -> str:
    """Return the verdict by the relation of the fact; "about" means within a tenth."""
    kept = keeps_bound(fact.relation, fact.value, value)
    if kept is None:
        kept = abs(value - fact.value) <= (ABOUT * fact.value if fact.relation == "~" else 0)
    return AGREES if kept else DISAGREES


_OF_PROGRAMS: Mapping[str, Callable[..., Answer]] = {"quicker": _quicker, "nearly": _nearly, "poor": _poor}
_OF_MACHINES: Mapping[str, Callable[[Points, Fact, Claim], Answer]] = {
    "sockets": _sockets,
    "watts": _watts,
    "socket_watts": _watts,
    "peak": _peak,
}
# All forms of claims about scaling.
SCALING_FORMS = frozenset((*_OF_PROGRAMS, *_OF_MACHINES))
