"""Colours, line styles and symbols of curves, the same in charts, diagrams and legends."""

from __future__ import annotations

import math

SLOTS = 8  # colours of each palette of report.css
STROKES = {
    "solid": "",
    "dash": "6 4",
    "dot": "1.5 3.5",
    "dashdot": "6 3 1.5 3",
    "longdash": "10 4",
    "longdashdot": "10 3 1.5 3",
}


def slot(palette: str, place: int, count: int = SLOTS) -> str:
    """Return the variable of report.css; an "ordinal" palette is spread over the `count` curves."""
    if palette == "ordinal" and count > 1:
        return f"{palette}-{round(place * (SLOTS - 1) / (count - 1))}"
    return f"{palette}-{place % SLOTS}"


def shape_of(symbol: int) -> int:
    """Return the shape of a symbol, 0 … 7.

    Each further eight are moved by one more: colours begin again there, so curves differ in one of the two.
    """
    return (symbol + symbol // SLOTS) % SLOTS


def outline(symbol: int, r: float) -> str:
    """Return the SVG path of a symbol around the current point, closed and relative to it.

    Symbols are circle, square, diamond, triangle, cross, star, triangle down, hexagon.
    """
    shape = shape_of(symbol)
    if shape == 0:
        return f"m{-r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
    if shape == 4:
        a, b = r / 2.6, r - r / 2.6
        return (
            f"m{-a:.2g} {-r:.2g}h{2 * a:.2g}v{b:.2g}h{b:.2g}v{2 * a:.2g}h{-b:.2g}v{b:.2g}h{-2 * a:.2g}"
            f"v{-b:.2g}h{-b:.2g}v{-2 * a:.2g}h{b:.2g}z"
        )
    corners, turn, inner = {
        1: (4, math.pi / 4, 0.0),
        2: (4, 0.0, 0.0),
        3: (3, 0.0, 0.0),
        5: (5, 0.0, 0.45),
        6: (3, math.pi, 0.0),
        7: (6, 0.0, 0.0),
    }[shape]
    at, path = (0.0, 0.0), "m"
    for corner in range(corners):
        for reach, half in ((1.2, 0.0), (inner, 0.5)):
            if reach:
                angle = turn + 2 * math.pi * (corner + half) / corners
                to = (round(r * reach * math.sin(angle), 1), round(-r * reach * math.cos(angle), 1))
                path += f"{to[0] - at[0]:.2g} {to[1] - at[1]:.2g}" + ("l" if path == "m" else " ")
                at = to
    return path.rstrip() + "z"
