"""Draws the Kiviat diagram, and the same shares on parallel axes, as SVG; shares are between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from kiviat.report.html.symbols import outline, slot

Point = tuple[float, float]

WIDTH, HEIGHT = 580.0, 520.0
CENTRE, RADIUS = (290.0, 262.0), 172.0
_RINGS = (0.25, 0.5, 0.75, 1.0)
_LINE = 19.0  # distance between the lines of a label
_ROW, _LEFT, _RIGHT = 58.0, 12.0, 568.0

# Line styles by origin, as charts name them.
DASHES = {"measured": "solid", "reported": "solid", "predicted": "dot", "published": "dash"}
_STROKES = {"solid": "", "dot": "1.5 5", "dash": "8 5"}


@dataclass(frozen=True, slots=True)
class Spoke:
    """An axis: its label in lines, and the value at the outermost ring."""

    id: str
    label: tuple[str, ...]
    title: str
    largest: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A system: shares of its axes, None if missing, and their tooltips."""

    name: str
    origin: str
    colour: tuple[str, int]
    symbol: int
    shares: tuple[float | None, ...]
    tips: tuple[str, ...]

    @property
    def ink(self) -> str:
        """CSS that gives the shape its colour of the page's palette."""
        return f"--swatch: var(--{slot(*self.colour)})"

    @property
    def swatch(self) -> str:
        """Return its legend entry as SVG."""
        line = f'<path class="edge" stroke-dasharray="{_STROKES[DASHES[self.origin]]}" d="M0 6H34"/>'
        mark = f'<path class="mark" transform="translate(17 6)" d="{outline(self.symbol, 4.5)}"/>'
        return f'<svg viewBox="0 0 34 12" aria-hidden="true">{line}{mark}</svg>'


def vertex(place: int, count: int, share: float) -> Point:
    """Return the position of a share on its axis; the first axis points up, the others follow clockwise."""
    angle = 2 * math.pi * place / count
    return (
        CENTRE[0] + RADIUS * share * math.sin(angle),
        CENTRE[1] - RADIUS * share * math.cos(angle),
    )


def kiviat(
    spokes: Sequence[Spoke],
    shapes: Sequence[Shape],
    words: str,
    rings: Mapping[float, str] | None = None,
) -> str:
    """Return the diagram as SVG; `words` are its text alternative, `rings` labels by share."""
    count = len(spokes)
    parts = [_web(count, {ring: f"{ring:g}" for ring in _RINGS} if rings is None else rings)]
    parts += [_label(spoke, place, count) for place, spoke in enumerate(spokes)]
    for number, shape in _on_top(shapes):
        at = [
            None if share is None else vertex(place, count, share) for place, share in enumerate(shape.shares)
        ]
        parts.append(_system(number, shape, spokes, _outline(at, shape.origin), at))
    return _svg("kiviat", HEIGHT, "Kiviat diagram", words, parts)


def lines(spokes: Sequence[Spoke], shapes: Sequence[Shape], words: str) -> str:
    """Return the same shares on parallel axes from 0 to 1, as SVG."""
    height = _ROW * len(spokes) + 26
    parts = []
    for place, spoke in enumerate(spokes):
        y = _row(place)
        parts.append(
            _text((_LEFT, y - 16), spoke.title, "axis")
            + _text((_RIGHT, y - 16), spoke.largest, "note", "end")
            + f'<path class="ring" d="M{_LEFT:g} {y:g}H{_RIGHT:g}"/>'
        )
        for ring in (0.0, *_RINGS):
            parts.append(f'<path class="ring" d="M{_along(ring):.1f} {y - 4:g}v8"/>')
    for share in (0.0, *_RINGS):
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        parts.append(_text((_along(share), height - 4), f"{share:g}", "note", anchor))
    for number, shape in _on_top(shapes):
        at = [
            None if share is None else (_along(share), _row(place))
            for place, share in enumerate(shape.shares)
        ]
        parts.append(_system(number, shape, spokes, "", at))
    return _svg("lines", height, "Normalised comparison", words, parts)


def _on_top(shapes: Sequence[Shape]) -> list[tuple[int, Shape]]:
    """Return the shapes with their numbers in the order of drawing: the first covers all others."""
    return list(enumerate(shapes))[::-1]


def _row(place: int) -> float:
    return _ROW * place + 36


def _along(share: float) -> float:
    return _LEFT + 8 + (_RIGHT - _LEFT - 16) * share


def _svg(kind: str, height: float, title: str, words: str, parts: Sequence[str]) -> str:
    """Return an SVG that contains its title and description, so that copies keep both."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="balance {kind}" id="{kind}-picture" role="img" '
        f'viewBox="0 0 {WIDTH:g} {height:g}" aria-labelledby="{kind}-title" aria-describedby="{kind}-words">'
    )
    named = f'<title id="{kind}-title">{escape(title)}</title><desc id="{kind}-words">{escape(words)}</desc>'
    return "\n".join([head, named, *parts, "</svg>"])


def _web(count: int, labels: Mapping[float, str]) -> str:
    rings = "".join(
        f'<polygon class="ring" points="{_points([vertex(place, count, ring) for place in range(count)])}"/>'
        for ring in labels
    )
    spokes = "".join(
        f'<path class="ring" d="M{_pair(CENTRE)}L{_pair(vertex(place, count, 1))}"/>'
        for place in range(count)
    )
    marks = "".join(
        _text((CENTRE[0] + 4, CENTRE[1] - RADIUS * ring + 13), label, "scale")
        for ring, label in labels.items()
        if label
    )
    return f'<g class="web">{rings}{spokes}{marks}</g>'


def _label(spoke: Spoke, place: int, count: int) -> str:
    x, y = vertex(place, count, 1 + 17 / RADIUS)
    side, up = math.sin(2 * math.pi * place / count), math.cos(2 * math.pi * place / count)
    anchor = "middle" if abs(side) < 0.2 else "start" if side > 0 else "end"
    texts = [(line, "axis") for line in spoke.label] + [(spoke.largest, "note")]
    # The label is above the end of an axis at the top, below it at the bottom, beside it elsewhere.
    y += (
        {True: -_LINE * (len(texts) - 1), False: _LINE * 0.7}.get(up > 0, 0)
        if abs(up) > 0.9
        else (-_LINE * (len(texts) - 1) / 2 * (1 + 0.75 * up) + 5)
    )
    return "".join(
        _text((x, y + _LINE * number), line, kind, anchor) for number, (line, kind) in enumerate(texts)
    )


def _outline(at: Sequence[Point | None], origin: str) -> str:
    """Return a polygon; with missing axes, only edges between neighbouring axes that exist, without fill."""
    stroke = _STROKES[DASHES[origin]]
    dashes = f' stroke-dasharray="{stroke}"' if stroke else ""
    known = [point for point in at if point is not None]
    if len(known) == len(at):
        return f'<polygon class="edge area" points="{_points(known)}"{dashes}/>'
    edges = "".join(
        f"M{_pair(one)}L{_pair(other)}"
        for one, other in pairwise([*at, at[0]])
        if one is not None and other is not None
    )
    return f'<path class="edge" d="{edges}"{dashes}/>' if edges else ""


def _system(number: int, shape: Shape, spokes: Sequence[Spoke], edge: str, at: Sequence[Point | None]) -> str:
    marks = "".join(
        f'<path class="mark" data-axis="{spoke.id}" data-tip="{escape(tip)}" '
        f'transform="translate({_pair(point)})" d="{outline(shape.symbol, 5.5)}"/>'
        for spoke, tip, point in zip(spokes, shape.tips, at, strict=True)
        if point is not None
    )
    return f'<g class="system {shape.origin}" data-system="{number}" style="{shape.ink}">{edge}{marks}</g>'


def _text(at: Point, words: str, kind: str, anchor: str = "start") -> str:
    place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'


def _points(points: Sequence[Point]) -> str:
    return " ".join(map(_pair, points))


def _pair(point: Point) -> str:
    return f"{point[0]:.2f},{point[1]:.2f}"
