"""Draws charts of curves and bars as SVG, which needs no script to be read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from kiviat.analysis.aggregate.summary import Summary
from kiviat.report.html.axis import Axis, axis_of, short_value
from kiviat.report.html.curves import abscissa
from kiviat.report.html.figure import Colour, Figure, Mark, Panel
from kiviat.report.html.scale import (
    Scale,
    Ticks,
    decimal_ticks,
    linear_ticks,
    span,
    together,
    value_ticks,
)
from kiviat.report.html.symbols import STROKES, outline, shape_of, slot

# At this width text has its natural size; telephones shrink charts, and report.css enlarges their text.
WIDTH, HEIGHT = 516.0, 340.0
_TOP, _RIGHT, _BOTTOM = 12.0, 24.0, 46.0
CHARACTER = 7.4  # width of a digit on telephones, where text is largest
_MOST_X_TICKS, _MOST_Y_TICKS = 7, 8
_MANY_POINTS = 64  # of a curve; its marks are small
_SHIFT = 8.0  # pixels between launches of several runs, at most
_BARS = 0.8  # share of the width that bars take, or launches of several runs

_HEAD = (
    f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img">'
)

Interval = tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve with its points, wherever they come from."""

    name: str
    mode: str
    colour: Colour
    symbol: int
    dash: str
    points: tuple[tuple[float, float], ...]
    band: tuple[Interval, ...]
    smooth: bool = False
    hollow: bool = False

    @property
    def ink(self) -> str:
        """Return CSS with the colour of the curve."""
        return f"--ink:var(--{slot(*self.colour)})"


@dataclass(frozen=True, slots=True)
class Frame:
    """The scales of a panel; launches of several runs stand `shift` pixels apart."""

    x: Scale
    y: Scale
    shift: float = 0.0

    @property
    def data(self) -> dict[str, object]:
        """Return the scales for charts.js."""
        found: dict[str, object] = {
            axis: [scale.low, scale.high, int(scale.log), scale.start, scale.end]
            for axis, scale in (("x", self.x), ("y", self.y))
        }
        if self.shift:
            found["shift"] = self.shift
        return found


@dataclass(frozen=True, slots=True)
class DrawnPanel:
    """A panel as SVG, with its legend and its scales for charts.js."""

    label: str
    quantity: str
    legend: Markup
    svg: Markup
    scales: dict[str, object]


def drawn_panels(figure: Figure, table: Sequence[Summary]) -> list[DrawnPanel]:
    """Return all panels as SVG; `table` has the summaries of traces."""
    curves = [_curves(figure, panel, table) for panel in figure.panels]
    frames = _frames(figure, curves)
    names = {
        name: place for place, name in enumerate(dict.fromkeys(one.name for all_ in curves for one in all_))
    }
    return [
        DrawnPanel(
            label=panel.label,
            quantity=panel.quantity,
            legend=_legend(of_panel, names),
            svg=_svg(figure, panel, of_panel, frame, names),
            scales=frame.data,
        )
        for panel, of_panel, frame in zip(figure.panels, curves, frames, strict=True)
    ]


def unit_of(figure: Figure, panel: Panel) -> str:
    """Return the unit of a panel's values."""
    return panel.unit or figure.unit


def _curves(figure: Figure, panel: Panel, table: Sequence[Summary]) -> list[Curve]:
    found = []
    for trace in panel.traces:
        at = [table[place] for place in trace.at]
        found.append(
            Curve(
                trace.name,
                "lines+markers",
                trace.colour,
                trace.symbol,
                trace.dash,
                tuple((abscissa(one, figure.x), one.median) for one in at),
                tuple(one.bounds for one in at),
                hollow=trace.colour[0] == "simulated",
            )
        )
    for line in panel.lines:
        found.append(
            Curve(
                line.name,
                line.mode,
                line.colour,
                line.symbol,
                line.dash,
                line.points,
                line.band or (None,) * len(line.points),
                line.smooth,
                line.hollow or line.colour[0] == "simulated",
            )
        )
    return found


def _frames(figure: Figure, curves: Sequence[Sequence[Curve]]) -> list[Frame]:
    """Return the scales of the panels: one for all of a quantity, unless that squeezes them."""
    axis, log = axis_of(figure.x), [figure.log and unit_of(figure, panel) != "%" for panel in figure.panels]
    spans_x = [_reach(axis.log, of_panel) for of_panel in curves]
    common_x = together(spans_x)
    quantities: dict[tuple[str, str], list[int]] = {}
    for place, panel in enumerate(figure.panels):
        quantities.setdefault((panel.quantity, unit_of(figure, panel)), []).append(place)
    frames: dict[int, Frame] = {}
    for (_, unit), places in quantities.items():
        zero = bool(figure.categories) or unit == "%"
        of_all = [curve for place in places for curve in curves[place]]
        positive = all(y > 0 for curve in of_all for _, y in curve.points)
        logs = log[places[0]] and not figure.categories and positive
        spans_y = [span(_heights(curves[place]), logs, zero) for place in places]
        common_y = together(spans_y)
        for place, own in zip(places, spans_y, strict=True):
            low, high = common_y or own
            y = Scale(low, high, logs, HEIGHT - _BOTTOM, _TOP)
            ticks = _y_ticks(y, unit)
            left = 14 + CHARACTER * max((len(text) for _, text in ticks), default=4)
            frames[place] = Frame(_x_scale(figure, axis, curves[place], common_x or spans_x[place], left), y)
    lefts = max(frame.x.start for frame in frames.values())
    found = []
    for place, frame in sorted(frames.items()):
        x = Scale(frame.x.low, frame.x.high, frame.x.log, lefts, frame.x.end)
        found.append(Frame(x, frame.y, _shift(figure, x, len(curves[place]))))
    return found


def _x_scale(
    figure: Figure, axis: Axis, curves: Sequence[Curve], own: tuple[float, float], left: float
) -> Scale:
    if figure.categories:
        return Scale(-0.5, len(figure.categories) - 0.5, False, left, WIDTH - _RIGHT)
    return Scale(*own, axis.log, left, WIDTH - _RIGHT)


def _reach(log: bool, curves: Sequence[Curve]) -> tuple[float, float]:
    return span((x if x > 0 or not log else 0.5 for curve in curves for x, _ in curve.points), log)


def _heights(curves: Iterable[Curve]) -> Iterator[float]:
    for curve in curves:
        for (_, y), bounds in zip(curve.points, curve.band, strict=True):
            yield y
            if bounds and curve.mode != "lines":
                yield from bounds


def _y_ticks(scale: Scale, unit: str) -> Ticks:
    def write(value: float, digits: int) -> str:
        return short_value(value, unit, digits)

    if scale.log:
        return decimal_ticks(scale, _MOST_Y_TICKS, write)
    return linear_ticks(scale.low, scale.high, 6, write)


def _svg(
    figure: Figure, panel: Panel, curves: Sequence[Curve], frame: Frame, names: dict[str, int]
) -> Markup:
    axis, unit = axis_of(figure.x), unit_of(figure, panel)
    parts = [
        _HEAD,
        f"<title>{escape(_title(figure, panel))}</title>",
        _grid(frame, axis, _x_ticks(figure, axis, curves, frame.x), _y_ticks(frame.y, unit)),
        *(_mark(mark, frame) for mark in panel.marks if frame.x.holds(mark.x)),
    ]
    if figure.categories:
        parts += _bars(curves, frame, names)
    else:
        parts += [_band(curve, frame, names[curve.name]) for curve in curves]
        parts += [
            _curve(curve, frame, names[curve.name], frame.shift * (place - (len(curves) - 1) / 2))
            for place, curve in enumerate(curves)
        ]
    return Markup("".join([*parts, "</svg>"]))


def _title(figure: Figure, panel: Panel) -> str:
    return ", ".join(filter(None, (figure.title, panel.quantity, panel.label))) + (
        f". {figure.words}" if figure.words and panel is figure.panels[figure.shown] else ""
    )


def _x_ticks(figure: Figure, axis: Axis, curves: Sequence[Curve], scale: Scale) -> Ticks:
    if figure.categories:
        return [(float(at), name) for at, name in enumerate(figure.categories)]
    if axis.round_ticks:
        return decimal_ticks(scale, _MOST_X_TICKS - 1, axis.tick)
    shown = {
        x if x > 0 or not axis.log else 0.5
        for curve in curves
        if not curve.smooth
        for x, _ in curve.points
        if scale.holds(x if x > 0 or not axis.log else 0.5)
    }
    widest = max((len(axis.tick(x)) for x in shown), default=1)
    most = max(2, min(8, int((scale.end - scale.start) / (CHARACTER * widest + 14))))
    numbers = sorted(shown)
    # Ranks, launches and phases are numbered: every nth from 0 on.
    if not axis.log and numbers == list(range(len(numbers))):
        return [(x, axis.tick(x)) for x in numbers[:: -(-len(numbers) // most)]]
    return value_ticks(shown, scale, most, axis.tick)


def _grid(frame: Frame, axis: Axis, x_ticks: Ticks, y_ticks: Ticks) -> str:
    left, right, bottom, top = frame.x.start, frame.x.end, frame.y.start, frame.y.end
    lines = "".join(f"M{_n(frame.x.at(at))} {_n(top)}V{_n(bottom)}" for at, _ in x_ticks)
    lines += "".join(f"M{_n(left)} {_n(frame.y.at(at))}H{_n(right)}" for at, _ in y_ticks)
    texts = [
        f'<text x="{_n(frame.x.at(at))}" y="{_n(bottom + 17)}" text-anchor="middle">{escape(text)}</text>'
        for at, text in x_ticks
    ]
    heights = [
        f'<text x="{_n(left - 7)}" y="{_n(frame.y.at(at) + 4)}" text-anchor="end">{escape(text)}</text>'
        for at, text in y_ticks
    ]
    return (
        f'<path class="grid" d="{lines}"/>'
        f'<path class="frame" d="M{_n(left)} {_n(top)}V{_n(bottom)}H{_n(right)}"/>'
        f'<g class="x-ticks">{"".join(texts)}</g><g class="y-ticks">{"".join(heights)}</g>'
        f'<text class="name" x="{_n((left + right) / 2)}" y="{_n(HEIGHT - 8)}" text-anchor="middle">'
        f"{escape(axis.title)}</text>"
    )


def _mark(mark: Mark, frame: Frame) -> str:
    x = frame.x.at(mark.x)
    bottom, top = frame.y.start, frame.y.end
    place, anchor = (bottom - 4, "start") if mark.kind == "cache" else (top + 2, "end")
    return (
        f'<g class="mark {mark.kind}"><path d="M{_n(x)} {_n(top)}V{_n(bottom)}"/>'
        f'<text transform="translate({_n(x - 4)} {_n(place)}) rotate(-90)" text-anchor="{anchor}">'
        f"{escape(mark.label)}</text></g>"
    )


def _runs(curve: Curve) -> Iterator[list[tuple[float, tuple[float, float]]]]:
    """Yield the intervals of successive points, each with its x: they share a band, one alone has a bar.

    A mark that no line connects is alone, and so is a point whose neighbours have no interval.
    """
    run: list[tuple[float, tuple[float, float]]] = []
    for (x, _), bounds in zip(curve.points, curve.band, strict=True):
        if run and (not bounds or curve.mode == "markers"):
            yield run
            run = []
        if bounds:
            run.append((x, bounds))
    if run:
        yield run


def _band(curve: Curve, frame: Frame, number: int) -> str:
    """Return the band of a line, in pieces where points have no intervals."""
    pieces = ""
    for run in _runs(curve):
        if len(run) > 1:
            there = [(frame.x.at(x), _y(frame, low)) for x, (low, _) in run]
            back = [(frame.x.at(x), _y(frame, high)) for x, (_, high) in reversed(run)]
            pieces += f"M{_joined([*there, *back])}Z"
    return f'<path class="band" data-curve="{number}" style="{curve.ink}" d="{pieces}"/>' if pieces else ""


def _shift(figure: Figure, x: Scale, count: int) -> float:
    """Return the pixels between launches of several runs, fewer where launches are close; else 0."""
    if figure.x != "launch" or not count:
        return 0.0
    return round(min(_SHIFT, _BARS * (x.at(1.0) - x.at(0.0)) / count), 2)


def _curve(curve: Curve, frame: Frame, number: int, shift: float) -> str:
    at = [(frame.x.at(x) + shift, _y(frame, y)) for x, y in curve.points]
    parts = []
    if "lines" in curve.mode and len(at) > 1:
        dash = f' stroke-dasharray="{STROKES[curve.dash]}"' if STROKES[curve.dash] else ""
        thin = ' stroke-width="1.25"' if curve.mode == "lines" else ""
        parts.append(f'<path class="line"{thin}{dash} d="M{_joined(at)}"/>')
    alone = [run[0] for run in _runs(curve) if len(run) == 1]
    bars = "".join(
        f"M{_n(frame.x.at(x) + shift)} {_n(_y(frame, low))}V{_n(_y(frame, high))}" for x, (low, high) in alone
    )
    parts.append(f'<path class="bar" d="{bars}"/>' if bars else "")
    if "markers" in curve.mode:
        parts.append(_marks(curve, at))
    return f'<g class="curve" data-curve="{number}" style="{curve.ink}">{"".join(parts)}</g>'


def _marks(curve: Curve, at: Sequence[tuple[float, float]]) -> str:
    small = len(at) > _MANY_POINTS
    if shape_of(curve.symbol) == 0 and not curve.hollow:
        width = ' stroke-width="3"' if small else ""
        return f'<path class="dots"{width} d="{"".join(f"M{_n(x)} {_n(y)}h0" for x, y in at)}"/>'
    shape = outline(curve.symbol, 1.8 if small else 3.2)
    path = "".join(f"M{_n(x)} {_n(y)}{shape}" for x, y in at)
    return f'<path class="{"marks hollow" if curve.hollow else "marks"}" d="{path}"/>'


def _bars(curves: Sequence[Curve], frame: Frame, names: dict[str, int]) -> Iterator[str]:
    """Yield bars side by side at each x, from zero, with their intervals."""
    width = _BARS / len(curves)
    zero = frame.y.at(0.0)
    for number, curve in enumerate(curves):
        shapes, reach = "", ""
        for (x, y), bounds in zip(curve.points, curve.band, strict=True):
            left = frame.x.at(x + width * number - _BARS / 2)
            right = frame.x.at(x + width * (number + 0.94) - _BARS / 2)
            shapes += f"M{_n(left)} {_n(zero)}V{_n(frame.y.at(y))}H{_n(right)}V{_n(zero)}z"
            if bounds:
                reach += f"M{_n((left + right) / 2)} {_n(frame.y.at(bounds[0]))}V{_n(frame.y.at(bounds[1]))}"
        yield (
            f'<g class="curve" data-curve="{names[curve.name]}" style="{curve.ink}">'
            f'<path class="{"column hollow" if curve.hollow else "column"}" d="{shapes}"/>'
            + (f'<path class="reach" d="{reach}"/>' if reach else "")
            + "</g>"
        )


def _legend(curves: Sequence[Curve], names: dict[str, int]) -> Markup:
    """Return an entry for each name; one curve alone needs no legend."""
    entries = {curve.name: curve for curve in reversed(curves)}
    if len(entries) < 2:
        return Markup("")
    return Markup("").join(
        Markup(
            '<li><button type="button" aria-pressed="true" data-curve="{}">{}<span>{}</span></button></li>'
        ).format(names[name], _swatch(entries[name]), name)
        for name in reversed(entries)
    )


def _swatch(curve: Curve) -> Markup:
    dash = STROKES[curve.dash]
    line = f'<path class="line" stroke-dasharray="{dash}" d="M0 6H30"/>' if "lines" in curve.mode else ""
    kind = "marks hollow" if curve.hollow else "marks"
    shape = f'<path class="{kind}" d="M15 6{outline(curve.symbol, 3.6)}"/>' if "markers" in curve.mode else ""
    if curve.mode == "bars":
        shape = f'<path class="{kind.replace("marks", "column")}" d="M9 1h12v10h-12z"/>'
    return Markup(
        f'<svg class="key" viewBox="0 0 30 12" aria-hidden="true" style="{curve.ink}">{line}{shape}</svg>'
    )


def _y(frame: Frame, value: float) -> float:
    """Return the pixel of a value; values that the scale does not hold lie just outside of its ends."""
    if not math.isfinite(value) or (frame.y.log and value <= 0):
        return frame.y.start + 4
    return min(max(frame.y.at(value), frame.y.end - 4), frame.y.start + 4)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
