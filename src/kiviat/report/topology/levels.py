"""Draws networks of switches, level above level: the nodes, then switches by their distance from nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kiviat.machine.modelled.networks import Network
from kiviat.report.html.svg import Drawing, Point
from kiviat.report.topology.text import Pair, count_of, joined, levels_of

_MOST_IN_A_ROW = 160
_LEFT, _RIGHT, _STEP = 132.0, 16.0, 118.0
_MOST_CLEAR_LINES = 300


def levels(network: Network, width: float) -> Drawing:
    """Return a drawing in which each level has the full width.

    Children are below their switch if possible.
    """
    pairs = joined(network)
    rows = levels_of(network, pairs)
    drawing = Drawing(width, _STEP * len(rows) - 28)
    place: dict[int, Point] = {}
    marks: list[tuple[float, float, list[Point]]] = []
    for number, row in enumerate(reversed(rows)):
        y = 40 + number * _STEP
        together = _together(len(row))
        slots = -(-len(row) // together)
        step = (width - _LEFT - _RIGHT) / slots
        points = [(_LEFT + (slot + 0.5) * step, y) for slot in range(slots)]
        place.update({vertex: points[at // together] for at, vertex in enumerate(row)})
        marks.append((y, step, points))
        drawing.text((8, y - 2), count_of(len(row), number == len(rows) - 1), "")
        if together > 1:
            drawing.text((8, y + 20), f"{together} in each mark", "note")
    beside = dict.fromkeys(_between(place, pair) for pair in sorted(pairs) if not _apart(place, pair))
    for start, end in beside:
        drawing.curve(start, ((start[0] + end[0]) / 2, start[1] - 70), end, "faint", 0.7)
    widths = {
        _between(place, pair): max(1, width) for pair, width in sorted(pairs.items()) if _apart(place, pair)
    }
    clear = len(widths) <= _MOST_CLEAR_LINES
    for count, ends in _by_width(widths):
        drawing.lines(ends, "cable" if clear else "faint", min(0.6 + 0.5 * count, 4) if clear else 0.7)
    for number, (_, step, points) in enumerate(marks):
        size = max(2.4, min(14.0, step * 0.66))
        for point in points:
            if number == len(marks) - 1:
                drawing.dot(point, size * 0.45, "node")
            else:
                drawing.box(point, max(size, min(30.0, step * 0.5)), 14, "switch")
    return drawing


def _together(count: int) -> int:
    """Return how many items of a row share a mark: as few as fit, with equal numbers for all marks."""
    least = -(-count // _MOST_IN_A_ROW)
    return next((size for size in range(least, 2 * least + 1) if count % size == 0), least)


def _between(place: Mapping[int, Point], pair: Pair) -> tuple[Point, Point]:
    return place[pair[0]], place[pair[1]]


def _apart(place: Mapping[int, Point], pair: Pair) -> bool:
    return place[pair[0]][1] != place[pair[1]][1]


def _by_width(
    widths: Mapping[tuple[Point, Point], int],
) -> list[tuple[int, Sequence[tuple[Point, Point]]]]:
    found: dict[int, list[tuple[Point, Point]]] = {}
    for ends, width in widths.items():
        found.setdefault(width, []).append(ends)
    return sorted(found.items())
