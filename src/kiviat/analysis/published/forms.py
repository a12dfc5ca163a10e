"""Forms of claims: rules by which series of values answer a row, by the word in its field `asks`.

Kiviat's interpretation of a paper's words, such as "almost constant", is defined here and documented in
docs/reference/studies.md. A series is a sequence of points in the order in which the claim lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from kiviat.analysis.published.question import Answer, Point, Row
from kiviat.record.published import Claim

# Limit of "almost constant", "the same", "very close": the maximum exceeds the minimum by at most this
# fraction.
SAME = 0.1
# Limit of "bandwidth rises beyond a size": the time must be below the line through smaller sizes by this
# factor.
_BEND = 1.05
# "much lower": less than this part of the other.
_FAR = 0.5

SeriesOfPoints = Sequence[Sequence[Point]]
Form = Callable[[SeriesOfPoints, Claim, Row], Answer]


def _values(points: Sequence[Point]) -> list[float]:
    return [point.value for point in points]


def _all(series: SeriesOfPoints) -> list[float]:
    return [point.value for points in series for point in points]


def _each(series: SeriesOfPoints) -> Iterator[tuple[float, ...]]:
    """Yield the values of all series at each position; nothing if their lengths differ."""
    if len({len(points) for points in series}) == 1:
        yield from zip(*map(_values, series), strict=True)


# ---- Forms that return numbers


def _best(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    return max(_all(series), default=None)


def _least(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    return min(_all(series), default=None)


def _factor(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the best value of the first series divided by that of the second."""
    first, second = (max(_values(points), default=0.0) for points in series)
    return first / second if first and second else None


def _drop(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return by how many percent the best value of the second series is below that of the first."""
    first, second = (max(_values(points), default=0.0) for points in series)
    return 100 * (1 - second / first) if first and second else None


def _more(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the difference of the first and the second value, in their unit."""
    first, second = (_values(points)[0] if points else None for points in series)
    return None if first is None or second is None else first - second


def _drop_along(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return by how many percent the last value of a series is below the first."""
    values = _all(series)
    return 100 * (1 - values[-1] / values[0]) if len(values) > 1 and values[0] else None


def _best_size(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the message size, in bytes, with the highest value."""
    points = [point for points in series for point in points if point.quantity.case.bytes is not None]
    return max(points, key=lambda point: point.value).quantity.case.bytes if points else None


def _between_extremes(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the largest value divided by the smallest over all series at each position.

    The maximum over positions.
    """
    ratios = [max(values) / min(values) for values in _each(series) if min(values) > 0]
    return max(ratios, default=None)


def _off_node_chance(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the percentage of the P - 1 other ranks that are on other nodes, with `at` ranks per node."""
    ranks, per_node = row.system.processes or 0, claim.at or 1
    return 100 * (ranks - per_node) / (ranks - 1) if ranks > 1 else None


def _square_over(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the square of the first value divided by the second.

    b_eff is the geometric mean of rings and random patterns, so this yields the mean of the random patterns.
    """
    first, second = (_values(points)[0] if points else 0.0 for points in series)
    return first * first / second if second else None


def _inverse(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return 1 / the smallest value: the largest factor by which something decreases."""
    least = min(_all(series), default=0.0)
    return 1 / least if least > 0 else None


def _loss(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return by how many percent the smallest ratio is below 1."""
    values = _all(series)
    return 100 * (1 - min(values)) if values else None


def _weak_efficiency(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Return the rate per rank on the most ranks relative to that on the fewest, in percent."""
    points = [point for of in series for point in of]
    if len(points) < 2:
        return None
    first, last = (point.value / point.quantity.case.ranks for point in (points[0], points[-1]))
    return 100 * last / first if first else None


# ---- Forms that test the shape of a curve


def _falls(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    if any(len(points) < 2 for points in series):
        return None
    return all(before > after for points in series for before, after in pairwise(_values(points)))


def _rises(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    if any(len(points) < 2 for points in series):
        return None
    return all(before < after for points in series for before, after in pairwise(_values(points)))


def _alike(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether each series is almost constant."""
    if any(len(points) < 2 for points in series):
        return None
    return all(max(values) <= (1 + SAME) * min(values) for values in map(_values, series))


def _best_first(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    if any(len(points) < 2 for points in series):
        return None
    return all(values[0] >= max(values[1:]) for values in map(_values, series))


def _best_beyond(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether the highest value has a message size above `at`."""
    at, points = claim.at or 0, [point for points in series for point in points]
    above = [point.value for point in points if (point.quantity.case.bytes or 0) > at]
    below = [point.value for point in points if (point.quantity.case.bytes or 0) <= at]
    return max(above) > max(below) if above and below else None


def _bends(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether the third time is at least 5 % below the line through the first two."""
    points = [point for points in series for point in points]
    if len(points) != 3:
        return None
    (x0, t0), (x1, t1), (x2, t2) = ((point.quantity.case.bytes or 0, point.value) for point in points)
    return t1 + (t1 - t0) / (x1 - x0) * (x2 - x1) > _BEND * t2


def _step(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether the last step between values is larger than the one before."""
    values = _all(series)
    if len(values) < 3 or not all(values):
        return None
    return values[-1] / values[-2] > (1 + SAME) * values[-2] / values[-3]


def _below_half(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether all percentages are below 50 ("poor")."""
    values = _all(series)
    return max(values) < 50 if values else None


def _linear(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether all inner values are within a tenth of the line through both ends, over sizes."""
    points = [point for of in series for point in of]
    if len(points) < 3:
        return None
    (x0, y0), *inner, (x1, y1) = ((point.quantity.case.bytes or 0, point.value) for point in points)
    lines = [(y0 + (y1 - y0) * (x - x0) / (x1 - x0), y) for x, y in inner]
    return all(abs(y - line) <= SAME * abs(line) for line, y in lines)


# ---- Forms that compare series


def _above(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether each series is above the next one at each position."""
    places = list(_each(series))
    return all(a > b for values in places for a, b in pairwise(values)) if places else None


def _leads(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether the first series is above all others at each position."""
    places = list(_each(series))
    return all(values[0] > max(values[1:]) for values in places) if places else None


def _lags(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether the first series is below all others at each position."""
    places = list(_each(series))
    return all(values[0] < min(values[1:]) for values in places) if places else None


def _close(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether all series are almost equal at each position."""
    places = list(_each(series))
    return all(max(values) <= (1 + SAME) * min(values) for values in places) if places else None


def _close_relative(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether all series, each relative to its own first value, are almost equal at each position."""
    if any(not points or not points[0].value for points in series):
        return None
    relative = [[point.value / points[0].value for point in points] for points in series]
    if len({len(values) for values in relative}) != 1:
        return None
    return all(max(values) <= (1 + SAME) * min(values) for values in zip(*relative, strict=True))


def _inside(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether all other series lie between the first two at each position."""
    places = list(_each(series))
    if not places or len(series) < 3:
        return None
    return all(min(values[:2]) <= one <= max(values[:2]) for values in places for one in values[2:])


def _far_below(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether each of the first half of the series is below half its counterpart at each position.

    With programs, each is a series, so the halves are all programs of a machine and those of another.
    """
    half = len(series) // 2
    pairs = zip(series[:half], series[half:], strict=True) if 2 * half == len(series) else ()
    places = [place for pair in pairs for place in _each(pair)]
    return all(low < _FAR * high for low, high in places) if places else None


def _gap_narrows(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
    """Test whether the ratio of the first two series is closer to 1 than that of the last two."""
    if len(series) != 4:
        return None
    bests = [max(_values(points), default=0.0) for points in series]
    if not all(bests):
        return None
    near, far = (max(a / b, b / a) for a, b in ((bests[0], bests[1]), (bests[2], bests[3])))
    return near < far


# ---- Arrangements: each series is a program; values of later arrangements are divided by that of the first


def _quotients(series: SeriesOfPoints) -> list[float] | None:
    found: list[float] = []
    for values in map(_values, series):
        if len(values) < 2 or not values[0]:
            return None
        found += [value / values[0] for value in values[1:]]
    return found


def _of_quotients(answer: Callable[[list[float]], float | bool]) -> Form:
    def form(series: SeriesOfPoints, claim: Claim, row: Row) -> Answer:
        quotients = _quotients(series)
        return answer(quotients) if quotients else None

    return form


def _farthest(quotients: list[float]) -> float:
    return max(quotients, key=lambda one: abs(one - 1))


FORMS: Mapping[str, Form] = {
    "best": _best,
    "least": _least,
    "factor": _factor,
    "drop": _drop,
    "more": _more,
    "drop_along": _drop_along,
    "best_size": _best_size,
    "between_extremes": _between_extremes,
    "off_node_chance": _off_node_chance,
    "square_over": _square_over,
    "inverse": _inverse,
    "loss": _loss,
    "weak_efficiency": _weak_efficiency,
    "step": _step,
    "below_half": _below_half,
    "linear": _linear,
    "close_relative": _close_relative,
    "falls": _falls,
    "rises": _rises,
    "alike": _alike,
    "best_first": _best_first,
    "best_beyond": _best_beyond,
    "bends": _bends,
    "above": _above,
    "leads": _leads,
    "lags": _lags,
    "close": _close,
    "inside": _inside,
    "gap_narrows": _gap_narrows,
    "far_below": _far_below,
    "worst_loss": _of_quotients(lambda quotients: 100 * (1 - min(quotients))),
    "reduction": _of_quotients(lambda quotients: 100 * (1 - _farthest(quotients))),
    "largest_reduction": _of_quotients(lambda quotients: 100 * (1 - min(quotients))),
    "gain": _of_quotients(lambda quotients: 100 * (_farthest(quotients) - 1)),
    "quotient": _of_quotients(_farthest),
    "all_lose": _of_quotients(lambda quotients: max(quotients) < 1),
    "none_gains": _of_quotients(lambda quotients: max(quotients) <= 1),
    "all_gain": _of_quotients(lambda quotients: min(quotients) > 1),
    "none_loses": _of_quotients(lambda quotients: min(quotients) >= 1 - SAME / 2),
    "small_reduction": _of_quotients(lambda quotients: all(1 - 2 * SAME <= one <= 1 for one in quotients)),
    "large_reduction": _of_quotients(lambda quotients: max(quotients) < 1 - 2 * SAME),
    "unchanged": _of_quotients(lambda quotients: all(abs(one - 1) <= SAME for one in quotients)),
    "small_increase": _of_quotients(lambda quotients: all(1 < one <= 1 + 2 * SAME for one in quotients)),
}
