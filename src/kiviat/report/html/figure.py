"""Types of charts: what they show. `chart.py` and `heat_map.py` draw them as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from kiviat.analysis.hpcc.quantities import ORIGINS
from kiviat.report.html.symbols import slot

Colour = tuple[
    str, int, int
]  # palette of report.css, position in it, and number of curves that share the palette


@dataclass(frozen=True, slots=True)
class RunLabel:
    """The label of a run in charts and tables."""

    run: str
    label: str
    clock: str
    colour: tuple[str, int]  # palette of report.css and position in it

    @property
    def swatch(self) -> str:
        """The variable of report.css with the colour."""
        return slot(*self.colour)

    @property
    def origin(self) -> str:
        """Origin of the values: measured, predicted, reported or published."""
        return ORIGINS.get(self.clock, self.clock)


def simulated_in(labels: Iterable[RunLabel]) -> str:
    """Return "all" or "some" if runs are simulated, else ""; published machines do not count."""
    clocks = {label.clock for label in labels} - {"published"}
    return "all" if clocks == {"simulated"} else "some" if "simulated" in clocks else ""


@dataclass(frozen=True, slots=True)
class Look:
    """The name, line style, symbol and colour that distinguish a curve in its panel."""

    name: str
    dash: str
    symbol: int
    colour: Colour


@dataclass(frozen=True, slots=True)
class Trace:
    """A curve through summaries: `at` are their indices in the page's table."""

    name: str
    dash: str
    symbol: int
    colour: Colour
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Points that are not in the table of summaries. Equal names share an entry of the legend.

    `band` contains the interval of each point, or is empty; `meaning` names it, such as "95 %". Lines show it
    as a band, or as a bar between points that have none; markers as bars. `smooth` lines have many points
    without ticks and table rows. `hollow` marks were not measured.
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
class Mark:
    """A vertical line at `x` with a label; `kind` is "switch", "eager" or "cache"."""

    x: float
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One view of a chart; a chart with several panels has a selector.

    Panels of several quantities, such as "time" and "bandwidth", have a switch, and each its unit. `marks`
    are vertical lines.
    """

    label: str
    traces: tuple[Trace, ...]
    lines: tuple[Line, ...] = ()
    quantity: str = ""
    unit: str = ""  # if it differs from the chart's
    marks: tuple[Mark, ...] = ()

    @property
    def size(self) -> int:
        """Number of curves."""
        return len(self.traces) + len(self.lines)


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart of curves, with a panel for each choice of what it shows."""

    id: str
    section: str
    title: str
    conditions: str  # that all curves share
    x: str  # "bytes", "ranks", "launch" or any other axis; see axis.py
    unit: str
    log: bool
    words: str  # text alternative
    panels: tuple[Panel, ...]
    categories: tuple[str, ...] = ()  # names of x = 0, 1 …: bars, side by side, instead of curves
    quantity: str = ""  # of all panels, if it is one: "time"
    shape: ClassVar[str] = "curves"

    @property
    def shown(self) -> int:
        """Return the index of the panel shown first.

        It is the one of the first quantity with most curves, the last of equals.
        """
        first = self.panels[0].quantity
        of_first = [place for place, panel in enumerate(self.panels) if panel.quantity == first]
        return max(of_first, key=lambda place: (self.panels[place].size, place))


@dataclass(frozen=True, slots=True)
class Cells:
    """A square matrix of values, row by row; missing values are None."""

    label: str
    labels: tuple[str, ...]
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] | None
    high: tuple[float | None, ...] | None
    boundaries: tuple[float, ...]
    nodes: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A heat map; each panel is a square matrix."""

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
        """Return the index of the panel shown first: the largest, the last of equals."""
        return max(range(len(self.panels)), key=lambda place: (len(self.panels[place].labels), place))


AnyFigure = TypeVar("AnyFigure", Figure, HeatMap)


def numbered(figures: Iterable[AnyFigure], prefix: str = "fig") -> list[AnyFigure]:
    """Return the charts with identifiers unique on a page; names of foreign benchmarks are sanitised."""
    return [
        replace(figure, id=f"{prefix}-{number}-{re.sub(r'[^A-Za-z0-9]+', '-', figure.id)}")
        for number, figure in enumerate(figures, 1)
    ]
