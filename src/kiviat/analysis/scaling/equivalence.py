"""Equivalent rank counts: how many ranks of one machine perform like a given number of another's.

Interpolated linearly in logarithms between two measured numbers of ranks; never extrapolated. Oversubscribed
and disturbed points are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.series import Study
from kiviat.record.units import listed, three_digits

Ends = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Equal:
    """`ranks` of `machine` perform like `as_many` ranks of `other`; both are labels of curves.

    `ranks` is None if no measured number does; `words` is the number, or the reason why there is none. `low`
    and `high` follow from the 95 % intervals of both machines, with a confidence of at least 87 %.
    """

    machine: str
    other: str
    as_many: int
    ranks: float | None
    low: float | None
    high: float | None
    words: str


def equals(study: Study) -> list[Equal]:
    """Return the equivalences of every two machines of a study, in both directions.

    Messages have none, because they are not work to be done.
    """
    if study.bytes is not None:
        return []
    return [
        equal
        for curve in study.curves
        for other in study.curves
        if curve is not other
        for equal in _equals(study, curve, other)
    ]


def _equals(study: Study, curve: Curve, other: Curve) -> Iterator[Equal]:
    fair = [point for point in curve.points if point.fair]
    nothing = "" if fair else f"all points of {curve.label} are oversubscribed or disturbed"
    if why := different(study, curve, other) or nothing:
        yield Equal(curve.label, other.label, other.points[-1].ranks, None, None, None, why)
        return
    left_out = _left_out(curve.points)
    for point in other.points:
        if not point.fair:
            words = f"{point.unfair} on {other.label}"
            yield Equal(curve.label, other.label, point.ranks, None, None, None, words)
            continue
        wanted = work(study, point)[0]
        found = _reached(study, fair, wanted, 0)
        low, high = work(study, point)[1:]
        if found is not None:
            words = three_digits(found)
        elif wanted < work(study, fair[0])[0]:
            words = f"exceeded already with {fair[0].ranks}, the fewest {curve.how}{left_out}"
        else:
            words = f"not reached with up to {fair[-1].ranks}, the most {curve.how}{left_out}"
        yield Equal(
            curve.label,
            other.label,
            point.ranks,
            found,
            None if low is None or found is None else _reached(study, fair, low, 2),
            None if high is None or found is None else _reached(study, fair, high, 1),
            words,
        )


def _left_out(points: Sequence[Point]) -> str:
    """Return " (16 and 32 left out: oversubscribed)", or nothing if all points are fair."""
    reasons: dict[str, list[str]] = {}
    for point in points:
        if not point.fair:
            reasons.setdefault(point.unfair, []).append(str(point.ranks))
    words = "; ".join(f"{listed(ranks)} left out: {why}" for why, ranks in reasons.items())
    return f" ({words})" if words else ""


def different(study: Study, curve: Curve, other: Curve) -> str:
    """Return the reason why two curves are not about the same problem; empty if they are."""
    a, b = curve.points[0], other.points[0]
    if a.size is None or b.size is None:
        return ""
    ranks = (a.ranks, b.ranks)
    same = a.size.shares(b.size, *ranks) if study.kind == "weak" else a.size.same(b.size, *ranks)
    return "" if same else f"not the same problem: {a.size.words} against {b.size.words}"


def work(study: Study, point: Point) -> tuple[float, float | None, float | None]:
    """Return work per second in units of the benchmark, with the ends of its 95 % interval."""
    if study.rate:
        return point.value, point.low, point.high
    done = point.ranks if study.kind == "weak" else 1.0
    low, high = (None if end is None else done / end for end in (point.high, point.low))
    return done / point.value, low, high


def _reached(study: Study, points: Sequence[Point], wanted: float, end: int) -> float | None:
    """Return the number of ranks, interpolated, at which the points reach `wanted` work per second.

    None if they do not.

    `end` selects the value (0), low (1) or high (2) of the work.
    """
    works = [(point.ranks, work(study, point)[end]) for point in points]
    if works[0][1] == wanted:
        return float(works[0][0])
    for (p, before), (q, after) in pairwise(works):
        if before is None or after is None:
            return None
        if before < wanted <= after:
            share = math.log(wanted / before) / math.log(after / before)
            return float(p * (q / p) ** share)
    return None
