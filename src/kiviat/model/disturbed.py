"""Detects disturbed ping-pongs: launches that disagree, and times that contradict a known link rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kiviat.analysis.aggregate.curves import size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.model.bucket import Bucket
from kiviat.record import InputError
from kiviat.record.units import format_size, format_value, three_digits

# Limits above which other programs must have used the cores or the network: ratio between launches of a size,
# and ratio of a message's time to that of a longer one. On an idle machine launches differ by a few per cent.
_APART, _INVERTED = 1.5, 2.0
# Sizes up to this one are replaceable by the next.
_SHORT_BYTES = 64
# Range of the rate of the longest messages, as fractions of a known link rate. Plain TCP reaches 1.
_SLOWEST, _QUICKEST = 0.5, 1.25
# The link dominates if its time for a message exceeds the shortest message's time by this factor.
_OF_LINK = 2.0
_AGAIN = "measure again on an idle machine, in more launches (--launches 10)"
_NAMED = 6


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """The points that are kept, and a text that names those left out and why."""

    points: tuple[Summary, ...]
    left_out: str


def is_disturbed(point: Summary) -> bool:
    """True if something else used the cores or the network: launches differ by more than a factor of 1.5."""
    return _apart(point) > _APART


def _apart(point: Summary) -> float:
    """Return the ratio between launches: of the ends of the 95 % interval, or else of the range."""
    if point.low is not None and point.high is not None:
        return point.high / point.low
    return max(point.launch_medians) / min(point.launch_medians)


def undisturbed(points: Sequence[Summary], level: str) -> Undisturbed:
    """Drop sizes whose launches disagree, and those that take far longer than longer messages.

    Raise InputError if this leaves a gap: the largest size, the smallest, or two neighbours.
    """
    disturbed = [is_disturbed(point) for point in points]
    for index, point in enumerate(points):
        longer = [other.median for other in points[index + 1 :]]
        disturbed[index] |= point.median > _INVERTED * min(longer, default=point.median)
    if not any(disturbed):
        return Undisturbed(tuple(points), "")
    bad = [point for point, wrong in zip(points, disturbed, strict=True) if wrong]
    most = max(map(_apart, bad))
    why = (
        f"launches up to {three_digits(most)} times apart"
        if most > _APART
        else "longer messages were quicker"
    )
    words = f"{_sizes(bad)} of the level {level} {'was' if len(bad) == 1 else 'were'} disturbed ({why})"
    short = len(points) > 1 and size_of(points[1]) <= _SHORT_BYTES
    gap = disturbed[-1] or (disturbed[0] and not short) or any(map(all, pairwise(disturbed)))
    if gap:
        raise InputError(f"{words}, which leaves nothing to fit there: {_AGAIN}")
    kept = tuple(point for point, wrong in zip(points, disturbed, strict=True) if not wrong)
    return Undisturbed(kept, f"{words} and left out")


def refuse_off_link(points: Sequence[Summary], link: float, bucket: Bucket | None) -> None:
    """Raise InputError if the longest messages contradict the rate of a known link, in B/s."""
    point = max(points, key=size_of)
    size, link_s = size_of(point), size_of(point) / link
    if link_s < _OF_LINK * min(other.median for other in points):
        return
    at_once = bucket.out_bytes + bucket.in_bytes if bucket else 0.0
    words = (
        f"{format_size(size)} took {format_value(point.median, 's')} on an emulated link that needs "
        f"{format_value(link_s, 's')} for them"
    )
    if point.median > link_s / _SLOWEST:
        raise InputError(
            f"{words}: the cores were busy or are too slow for it (`kiviat cluster ceiling`); {_AGAIN}"
        )
    if point.median * _QUICKEST < (size - at_once) / link:
        raise InputError(f"{words}: these messages did not cross it; {_AGAIN}")


def refuse_bad_fit(level: str, error: float, spread: float, allowed: float) -> None:
    """Raise InputError if the model's median error over sizes exceeds `allowed` and the launches' spread."""
    if error > max(allowed, spread):
        raise InputError(
            f"the model is off by {100 * error:.0f} % in the median over sizes of the level {level}, where "
            f"launches agree within {100 * spread:.0f} %: no line fits these ping-pongs; check --link, or "
            f"{_AGAIN}"
        )


def _sizes(points: Sequence[Summary]) -> str:
    names = [format_size(size_of(point)) for point in points]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
