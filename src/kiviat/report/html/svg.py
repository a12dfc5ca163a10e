"""A small SVG writer. Shapes have classes, which a page or the picture's own style sheet styles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

Point = tuple[float, float]

# Style of a picture that is a file of its own; without CSS variables, which not every program supports.
_STYLE = """
svg{background:#fff;font-family:system-ui,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
text{fill:#1b1d21;font-size:13px}
.note{fill:#555a63;font-size:12px}
.name{fill:#555a63;font-size:10px}
.title{font-size:17px;font-weight:600}
.node{fill:#0072b2;stroke:#fff}
.switch{fill:#c65300;stroke:#fff}
.on-switch{fill:#fff}
.group{fill:#f5f4ef;stroke:#d8d6ce}
.cable{fill:none;stroke:#8b8f97}
.faint{fill:none;stroke:#8b8f97;opacity:.45}
.hot{fill:none;stroke:#86307a}
.head{fill:#8b8f97}
.hot-head{fill:#86307a}
.wrap{fill:none;stroke:#8b8f97;stroke-dasharray:3 3}
"""


@dataclass
class Drawing:
    """A picture; later shapes cover earlier ones. Lengths are in pixels; y grows downwards."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def lines(self, ends: Iterable[tuple[Point, Point]], kind: str, width: float = 1) -> None:
        """Add straight lines, all in one element, so that thousands of them take little space."""
        path = "".join(f"M{_pair(one)}L{_pair(other)}" for one, other in ends)
        if path:
            self.path(path, kind, width)

    def path(self, path: str, kind: str, width: float = 1) -> None:
        """Add a path; `path` is its SVG data, `kind` its class."""
        self.parts.append(f'<path class="{kind}" stroke-width="{_number(width)}" d="{path}"/>')

    def curve(self, start: Point, bend: Point, end: Point, kind: str, width: float = 1) -> None:
        """Add a curve from start to end that bends towards `bend`."""
        self.path(f"M{_pair(start)}Q{_pair(bend)} {_pair(end)}", kind, width)

    def polygon(self, corners: Sequence[Point], kind: str) -> None:
        """Add a closed polygon of class `kind`."""
        points = " ".join(map(_pair, corners))
        self.parts.append(f'<polygon class="{kind}" points="{points}"/>')

    def dot(self, at: Point, radius: float, kind: str, tip: str = "") -> None:
        """Add a circle of class `kind`; `tip` is shown when the pointer is over it."""
        shape = f'<circle class="{kind}" cx="{_number(at[0])}" cy="{_number(at[1])}" r="{_number(radius)}"'
        self._tipped(shape, "circle", tip)

    def box(self, at: Point, width: float, height: float, kind: str, tip: str = "") -> None:
        """Add a rectangle centred at a point."""
        corner = f'x="{_number(at[0] - width / 2)}" y="{_number(at[1] - height / 2)}"'
        size = f'width="{_number(width)}" height="{_number(height)}"'
        rounded = _number(min(3.0, width / 4, height / 4))
        self._tipped(f'<rect class="{kind}" {corner} {size} rx="{rounded}"', "rect", tip)

    def text(self, at: Point, words: str, kind: str = "", anchor: str = "start") -> None:
        """Add text, escaped, at its start, middle or end according to `anchor`."""
        place = f'x="{_number(at[0])}" y="{_number(at[1])}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="{kind}" {place}>{escape(words)}</text>')

    def svg(self, label: str, alone: bool = False, kind: str = "topology") -> str:
        """Return the picture, of class `kind`. `label` is its text alternative; `alone`: for its own file."""
        width, height = _number(self.width), _number(self.height)
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        style = f"<style>{_STYLE}</style>" if alone else ""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" {size}>'
        return "\n".join([head, f"<title>{escape(label)}</title>{style}", *self.parts, "</svg>"]) + "\n"

    def _tipped(self, shape: str, element: str, tip: str) -> None:
        """Add a shape; `tip` is its tooltip."""
        self.parts.append(f"{shape}><title>{escape(tip)}</title></{element}>" if tip else f"{shape}/>")


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _pair(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"
