"""Draws tori: the first dimension downwards, the second to the right, the third to the back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kiviat.report.html.svg import Drawing, Point

_MARGIN = 64.0


def torus(dimensions: Sequence[int], width: float) -> Drawing:
    """Draw three dimensions; long ones are abbreviated to their first nodes and the last."""
    drawn = [*dimensions[:3], *[1] * (3 - len(dimensions))]
    most = 10 if len(dimensions) == 2 else 5
    shown = [_shown(length, most) for length in drawn]
    rows, columns, layers = map(len, shown)
    depth = (0.42, -0.36)
    step = min(
        110.0, (width - 2 * _MARGIN) / max(1, columns - 1 + depth[0] * (layers - 1)), 420 / max(1, rows - 1)
    )
    top = _MARGIN - depth[1] * step * (layers - 1)
    left = (width - step * (columns - 1 + depth[0] * (layers - 1))) / 2

    def at(place: Sequence[float]) -> Point:
        row, column, layer = place
        return left + step * (column + depth[0] * layer), top + step * (row + depth[1] * layer)

    drawing = Drawing(width, top + step * (rows - 1) + _MARGIN + 50)
    size = max(4.0, min(11.0, step / 7))
    for layer in reversed(range(layers)):
        faint = layer > 0
        places = [(row, column, layer) for row in range(rows) for column in range(columns)]
        for axis in (2, 0, 1):
            lines: list[list[tuple[Point, Point]]] = [[], [], []]
            for place in places:
                for kind, one, other in _joined(place, axis, shown, drawn):
                    lines[kind].append((at(one), at(other)))
            drawing.lines(lines[_STRAIGHT], "faint" if faint else "cable", 1.4)
            drawing.lines([*lines[_MISSING], *lines[_AROUND]], "wrap")
        for place in places:
            names = [shown[axis][place[axis]] for axis in range(len(dimensions[:3]))]
            drawing.dot(at(place), size * (0.8 if faint else 1), "node", f"({', '.join(map(str, names))})")
    said = ["Dashed ends meet: the last node of a line is joined with its first."]
    if any(len(places) < length for places, length in zip(shown, drawn, strict=True)):
        said.append("Where a line between two nodes is dashed, nodes are left out.")
    if len(dimensions) > 3:
        said.append("Likewise in the further dimensions.")
    for line, words in enumerate(reversed(said)):
        drawing.text((20, drawing.height - 10 - 16 * line), words, "note")
    return drawing


def _shown(length: int, most: int) -> list[int]:
    return list(range(length)) if length <= most else [*range(most - 1), length - 1]


_STRAIGHT, _MISSING, _AROUND = range(3)


def _joined(
    place: Sequence[int], axis: int, shown: Sequence[Sequence[int]], lengths: Sequence[int]
) -> Iterator[tuple[int, Sequence[float], Sequence[float]]]:
    """Yield connections along an axis: cables, abbreviated lines, and wrap-around ends."""

    def moved(by: float) -> list[float]:
        return [value + by * (other == axis) for other, value in enumerate(place)]

    here = place[axis]
    if here + 1 < len(shown[axis]):
        apart = shown[axis][here + 1] - shown[axis][here]
        yield (_STRAIGHT if apart == 1 else _MISSING), place, moved(1)
    if lengths[axis] > 2 and here in (0, len(shown[axis]) - 1):
        yield _AROUND, place, moved(-0.42 if here == 0 else 0.42)
