"""Small static pictures of the curves that findings are about."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from markupsafe import Markup

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.units import counted, format_size, format_value
from kiviat.report.html.svg import Drawing

_WIDTH, _HEIGHT = 260.0, 96.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 4.0, 4.0, 16.0, 16.0
_LEAST_POINTS = 3


def sketch(points: Sequence[Summary], x: str, evidence: Collection[tuple[str, str]]) -> Markup | None:
    """Return a curve as SVG with the points of `evidence` marked; None for fewer than three points.

    `x` is "bytes" or "ranks"; both axes are logarithmic, but for shares of an axis that has a zero.
    """
    known = [point for point in points if getattr(point, x) is not None]
    if len(known) < _LEAST_POINTS:
        return None
    first = known[0]
    log = all(point.median > 0 for point in known) and first.unit != "%"
    across = _scale(
        [max(getattr(point, x), 0.5) for point in known], _LEFT + 4, _WIDTH - _RIGHT - 4, log=True
    )
    up = _scale([point.median for point in known], _HEIGHT - _BOTTOM - 4, _TOP + 4, log=log)
    at = list(zip(across, up, strict=True))
    drawing = Drawing(_WIDTH, _HEIGHT)
    drawing.lines([((_LEFT, _HEIGHT - _BOTTOM), (_WIDTH - _RIGHT, _HEIGHT - _BOTTOM))], "base")
    drawing.path("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in at), "curve", 1.75)
    for point, place in zip(known, at, strict=True):
        if (point.case, point.metric) in evidence:
            drawing.dot(place, 3.5, "point", _tip(point, x))
    drawing.text((_LEFT, _HEIGHT - 3), _name(known[0], x), "note")
    drawing.text((_WIDTH - _RIGHT, _HEIGHT - 3), _name(known[-1], x), "note", "end")
    values = sorted(point.median for point in known)
    drawing.text(
        (_LEFT, 11),
        f"{first.metric.replace('_', ' ')}, {format_value(values[0], first.unit)} to "
        f"{format_value(values[-1], first.unit)}",
        "note",
    )
    marked = [point for point in known if (point.case, point.metric) in evidence]
    label = f"{first.benchmark}: {first.metric.replace('_', ' ')} against {x}; marked: " + (
        ", ".join(_tip(point, x) for point in marked) or "nothing"
    )
    return Markup(drawing.svg(label, kind="sketch simulated" if first.clock == "simulated" else "sketch"))


def _scale(values: Sequence[float], low: float, high: float, *, log: bool) -> list[float]:
    """Return the positions of values between the pixels `low` and `high`."""
    scaled = [math.log10(value) for value in values] if log else list(values)
    least, reach = min(scaled), max(scaled) - min(scaled)
    return [low + (high - low) * ((value - least) / reach if reach else 0.5) for value in scaled]


def _name(point: Summary, x: str) -> str:
    return format_size(point.bytes) if x == "bytes" else counted(point.ranks, "rank")


def _tip(point: Summary, x: str) -> str:
    return f"{format_value(point.median, point.unit)} at {_name(point, x)}"
