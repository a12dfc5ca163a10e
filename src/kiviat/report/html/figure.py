"""What a figure is: data for `report.js`, which draws it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

Colour = tuple[str, int, int]  # a palette of report.css, the place in it, and how many share it


@dataclass(frozen=True, slots=True)
class RunLabel:
    """How a run is called in figures and tables."""

    run: str
    label: str
    clock: str
    colour: tuple[str, int]  # a palette of report.css and the place in it


@dataclass(frozen=True, slots=True)
class Look:
    """How a curve is told apart from the others of its panel."""

    name: str
    dash: str
    symbol: int
    colour: Colour


@dataclass(frozen=True, slots=True)
class Trace:
    """A curve through summaries: `at` are their places in the page's table."""

    name: str
    dash: str
    symbol: int
    colour: Colour
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Points that are not in the table of summaries. Equal names share an entry of the legend.

    `band` bounds each point, or is empty; `meaning` says what it is, such as "95 %". Lines have it along
    them, markers alone as bars. `smooth` lines are of so many points that none is worth a tick or a line in a
    table. Marks that are `hollow` were not measured.
    """

    name: str
    mode: str  # "lines", "markers" or "lines+markers"
    colour: Colour
    symbol: int
    points: tuple[tuple[float, float], ...]
    dash: str = "solid"
    band: tuple[tuple[float, float] | None, ...] = ()
    meaning: str = ""
    smooth: bool = False
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """What is shown at once; a figure of several panels has a selector."""

    label: str
    traces: tuple[Trace, ...]
    lines: tuple[Line, ...] = ()

    @property
    def size(self) -> int:
        return len(self.traces) + len(self.lines)


@dataclass(frozen=True, slots=True)
class Figure:
    id: str
    section: str
    title: str
    conditions: str  # what all its curves have in common
    x: str  # "bytes", "ranks", "launch" or another of report.js
    unit: str
    log: bool
    words: str  # what the figure shows, for those who do not see it
    panels: tuple[Panel, ...]
    shape: ClassVar[str] = "curves"

    @property
    def shown(self) -> int:
        """The place of the panel that is shown first: the fullest, of equal ones the last."""
        return max(range(len(self.panels)), key=lambda place: (self.panels[place].size, place))


@dataclass(frozen=True, slots=True)
class Cells:
    """A square of values, row by row; those that are absent are None. See analysis.patterns.Matrix."""

    label: str
    labels: tuple[str, ...]
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] | None
    high: tuple[float | None, ...] | None
    boundaries: tuple[float, ...]
    nodes: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A figure of colours: each panel is a square of values."""

    id: str
    section: str
    title: str
    conditions: str
    unit: str
    better: str
    words: str
    panels: tuple[Cells, ...]
    shape: ClassVar[str] = "square"

    @property
    def shown(self) -> int:
        """The place of the panel that is shown first: the largest, of equal ones the last."""
        return max(range(len(self.panels)), key=lambda place: (len(self.panels[place].labels), place))


AnyFigure = TypeVar("AnyFigure", Figure, HeatMap)


def numbered(figures: Iterable[AnyFigure], prefix: str = "fig") -> list[AnyFigure]:
    """With identifiers that no two figures of a page share. Names of foreign benchmarks can hold anything."""
    return [
        replace(figure, id=f"{prefix}-{number}-{re.sub(r'[^A-Za-z0-9]+', '-', figure.id)}")
        for number, figure in enumerate(figures, 1)
    ]
