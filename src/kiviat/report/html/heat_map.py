"""Draws heat maps as SVG: a square of values between pairs, with lines where another node begins.

Colours are logarithmic, since far and near pairs differ by powers of ten; the first of the ordinal palette is
the best value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from markupsafe import Markup

from kiviat.record.units import format_value
from kiviat.report.html.chart import CHARACTER, WIDTH, DrawnPanel
from kiviat.report.html.figure import Cells, HeatMap
from kiviat.report.html.symbols import SLOTS

HEIGHT = 440.0
_TOP, _RIGHT, _BOTTOM = 8.0, 96.0, 46.0
_LEVELS = 2 * SLOTS - 1  # the colours of the palette, and one between each two
_MOST_NUMBERS = 12  # cells of a row that have room for their values
_MOST_LABELS = 10


def drawn_maps(figure: HeatMap) -> list[DrawnPanel]:
    """Return all panels as SVG."""
    return [
        DrawnPanel(panel.label, "", Markup(""), _svg(figure, panel), _scales(panel))
        for panel in figure.panels
    ]


def _side(panel: Cells) -> tuple[float, float]:
    """Return the left end of the square and the length of its sides."""
    left = 30 + CHARACTER * max((len(label) for label in panel.labels), default=1)
    return left, min(WIDTH - left - _RIGHT, HEIGHT - _TOP - _BOTTOM)


def _scales(panel: Cells) -> dict[str, object]:
    left, side = _side(panel)
    return {"square": [left, _TOP, side]}


def _known(panel: Cells) -> list[float]:
    return [value for value in panel.values if value is not None and value > 0]


def _svg(figure: HeatMap, panel: Cells) -> Markup:
    count, known = len(panel.labels), _known(panel)
    left, side = _side(panel)
    words = ", ".join(filter(None, (figure.title, panel.label))) + f". {figure.words}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart map" viewBox="0 0 {WIDTH:g} {HEIGHT:g}"'
        ' role="img">',
        f"<title>{escape(words)}</title>",
    ]
    if known and count:
        least, most = math.log10(min(known)), math.log10(max(known))
        levels = [_level(value, least, most, figure.better) for value in panel.values]
        parts += [
            f'<g transform="translate({left:g} {_TOP:g}) scale({side / count:.5g})">',
            *_cells(levels, count),
            _boundaries(panel, count),
            "</g>",
            *(_numbers(figure, panel, levels, left, side) if count <= _MOST_NUMBERS else ()),
            _bar(figure, least, most, left + side + 18, side),
        ]
    parts += _labels(panel, left, side)
    return Markup("".join([*parts, "</svg>"]))


def _level(value: float | None, least: float, most: float, better: str) -> int | None:
    if value is None or value <= 0:
        return None
    share = (math.log10(value) - least) / (most - least) if most > least else 0.0
    level = round(share * (_LEVELS - 1))
    return _LEVELS - 1 - level if better == "higher" else level


def _cells(levels: Sequence[int | None], count: int) -> Iterator[str]:
    """Yield a path for each colour; equal neighbours of a row are one rectangle."""
    paths: dict[int, list[str]] = {}
    for row in range(count):
        column = 0
        for level, run in groupby(levels[row * count : (row + 1) * count]):
            length = len(list(run))
            if level is not None:
                paths.setdefault(level, []).append(f"M{column} {row}h{length}v1h-{length}z")
            column += length
    for level, path in sorted(paths.items()):
        yield f'<path class="level-{level}" d="{"".join(path)}"/>'


def _boundaries(panel: Cells, count: int) -> str:
    """Return lines on wider ones of the paper's colour: they are seen on light cells and on dark ones."""
    path = "".join(f"M{place:g} 0V{count}M0 {place:g}H{count}" for place in panel.boundaries)
    if not path:
        return ""
    fine = " fine" if count > 64 else ""
    return "".join(f'<path class="boundary {kind}{fine}" d="{path}"/>' for kind in ("halo", "rule"))


def _numbers(
    figure: HeatMap, panel: Cells, levels: Sequence[int | None], left: float, side: float
) -> Iterator[str]:
    """Yield the values in the cells, in the unit of the largest."""
    count, cell = len(panel.labels), side / len(panel.labels)
    for place, (value, level) in enumerate(zip(panel.values, levels, strict=True)):
        if value is None or level is None:
            continue
        row, column = divmod(place, count)
        number, _, unit = format_value(value, figure.unit).partition(" ")
        x, y = left + cell * (column + 0.5), _TOP + cell * (row + 0.5)
        light = "on-dark" if level < _LEVELS // 2 else "on-light"
        yield (
            f'<text class="cell {light}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{number}'
            f'<tspan class="cell-unit" x="{x:.1f}" dy="11">{escape(unit)}</tspan></text>'
        )


def _bar(figure: HeatMap, least: float, most: float, x: float, side: float) -> str:
    """Return the colour bar, with its ends and its middle labelled."""
    steps = _LEVELS if most > least else 1
    height = side / steps
    cells = []
    for step in range(steps):
        level = _LEVELS - 1 - step if figure.better == "higher" else step
        y = _TOP + side - height * (step + 1)
        cells.append(f'<path class="level-{level}" d="M{x:.1f} {y:.1f}h14v{height:.1f}h-14z"/>')
    marks = (0.0, 0.5, 1.0) if steps > 1 else (0.5,)
    texts = "".join(
        f'<text x="{x + 20:.1f}" y="{_TOP + side * (1 - share) + 10 * share:.1f}">'
        f"{escape(format_value(10 ** (least + share * (most - least)), figure.unit))}</text>"
        for share in marks
    )
    return f'<g class="scale">{"".join(cells)}{texts}</g>'


def _labels(panel: Cells, left: float, side: float) -> Iterator[str]:
    count = len(panel.labels)
    step = max(1, -(-count // _MOST_LABELS))
    for place in range(0, count, step):
        middle = side * (place + 0.5) / count
        name = escape(panel.labels[place])
        yield f'<text x="{left + middle:.1f}" y="{_TOP + side + 17:.1f}" text-anchor="middle">{name}</text>'
        yield f'<text x="{left - 7:.1f}" y="{_TOP + middle + 4:.1f}" text-anchor="end">{name}</text>'
    middle, bottom = left + side / 2, _TOP + side + 38
    yield f'<text class="name" x="{middle:.1f}" y="{bottom:.1f}" text-anchor="middle">rank</text>'
    yield (
        f'<text class="name" transform="translate(14 {_TOP + side / 2:.1f}) rotate(-90)"'
        ' text-anchor="middle">rank</text>'
    )
