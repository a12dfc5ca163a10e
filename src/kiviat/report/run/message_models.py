"""LogGP parameters of each run, protocol switches, and residuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.aggregate.curves import curve, size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.findings.performance import near_cache
from kiviat.analysis.loggp import (
    LogGP,
    eager_words,
    fit_loggp,
    fit_warning,
    switch_where,
    switch_words,
)
from kiviat.analysis.statistics.changepoints import Segment, Switch
from kiviat.record.run import Cache
from kiviat.record.units import format_bytes, format_size, format_value, listed, three_digits
from kiviat.report.html.figure import Figure, Line, Mark, Panel, RunLabel
from kiviat.report.study.tables import run_column
from kiviat.report.table import Cell, Column, Table, number_text, tabled

FIGURE = "fig-loggp"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the model: its symbol, and what it is; `detail` is that of one run."""

    symbol: str
    meaning: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """The LogGP model of one run, and its parameters with their values."""

    label: RunLabel
    fitted: LogGP
    parameters: list[tuple[Parameter, str]]
    warning: str


def models(
    by_run: Mapping[str, Sequence[Summary]], labels: Sequence[RunLabel]
) -> tuple[list[Model], list[Figure]]:
    """Return the fitted models of message times of all runs with a ping-pong over sizes, and their chart.

    The model of a single run is drawn into the chart of its ping-pong instead, by `with_model`.
    """
    found, lines = [], []
    for place, label in enumerate(labels):
        summaries = by_run.get(label.run, ())
        fitted = fit_loggp(summaries)
        if fitted:
            found.append(_model(label, fitted))
            lines += _lines(fitted, curve(summaries, "pingpong"), label, place)
    return found, [_figure(found, lines)] if found and len(labels) > 1 else []


def _model(label: RunLabel, fitted: LogGP) -> Model:
    half = fitted.half_bandwidth_bytes
    return Model(
        label,
        fitted,
        [
            (
                Parameter("L + 2o", "time of an empty message"),
                _unless_poor(fitted, format_value(fitted.latency_s, "s")),
            ),
            (Parameter("g", "minimum time between messages of 8 B"), format_value(fitted.gap_s, "s")),
            (
                Parameter("G", "time per byte of the largest messages"),
                _unless_poor(fitted, _per_byte(fitted.s_per_byte)),
            ),
            (
                Parameter("peak", "best ping-pong bandwidth", f", at {format_size(fitted.peak_bytes)}"),
                format_value(fitted.peak_bandwidth, "B/s"),
            ),
            (
                Parameter("n½", "size that reaches half of it"),
                "cannot say" if half is None else format_bytes(round(half)),
            ),
            (
                Parameter("eager limit", "largest size sent without a handshake"),
                _unless_poor(fitted, eager_words(fitted)),
            ),
            (Parameter("residual", "median"), number_text(fitted.median_error, "share")),
            (Parameter("residual", "largest"), number_text(fitted.max_error, "share")),
        ],
        fit_warning(fitted),
    )


def _unless_poor(fitted: LogGP, words: str) -> str:
    """Return a parameter of the fitted lines, which say nothing if they do not fit."""
    return "cannot say" if fitted.poor else words


def message_tables(found: Sequence[Model]) -> dict[str, Table]:
    """Return the tables of parameters, protocol switches and fitted lines of all models."""
    names = {model.label.run: model.label.label for model in found}
    switches = [(one.label, switch) for one in found for switch in one.fitted.switches]
    where: list[Column[tuple[RunLabel, Switch]]] = [
        *run_column(names, lambda one: one[0].label, merged=True),
        Column("where", lambda one: switch_where(one[1])),
        Column("what changes", lambda one: switch_words(one[1])),
        Column("evidence", lambda one: one[1].evidence, "1"),
    ]
    pieces = [(one.label, piece) for one in found for piece in one.fitted.segments]
    lines: list[Column[tuple[RunLabel, Segment]]] = [
        *run_column(names, lambda one: one[0].label, merged=True),
        Column("sizes", lambda one: f"{format_size(one[1].first)} to {format_size(one[1].last)}"),
        Column("intercept", lambda one: one[1].latency_s, "s"),
        Column("per byte", lambda one: _per_byte(one[1].s_per_byte), side=">"),
        Column("median residual", lambda one: one[1].median_error, "share"),
        Column("largest residual", lambda one: one[1].max_error, "share"),
    ]
    return {
        "parameters": _parameters(found),
        "switches": tabled(
            "Protocol switches", where, switches, notes=[_EVIDENCE if switches else "None found."]
        ),
        "lines": tabled("Lines and residuals", lines, pieces),
    }


_EVIDENCE = (
    "Evidence is the squared error that the switch saves, in standard deviations of a time, beyond the "
    "penalty of a switch; above 10 is very strong."
)


def _parameters(found: Sequence[Model]) -> Table:
    alone, known = len(found) == 1, [parameter for parameter, _ in found[0].parameters]

    def parameter(place: int) -> Cell:
        one = known[place]
        return Cell(one.symbol, below=one.meaning + (one.detail if alone else ""))

    def of(model: Model) -> Callable[[int], str]:
        return lambda place: model.parameters[place][1]

    columns: list[Column[int]] = [
        Column("parameter", parameter, kind="symbol"),
        *(Column(one.label.label, of(one), side=">", swatch=one.label.swatch) for one in found),
    ]
    return tabled("LogGP parameters", columns, range(len(known)), kind="parameters")


def _per_byte(seconds: float) -> str:
    """Return picoseconds per byte."""
    return f"{three_digits(seconds * 1e12)} ps/B"


_STEPS = 4  # points of a fitted line between two measured sizes; in the bandwidth it is curved


def with_model(figure: Figure, fitted: LogGP, caches: Sequence[Cache], simulated: bool) -> Figure:
    """Return the chart of the ping-pong's time or bandwidth with fitted lines, switches and caches."""
    found = marks(fitted, caches)
    panels = tuple(
        replace(
            panel,
            lines=(*panel.lines, *_fitted_lines(fitted, panel.unit or figure.unit, simulated)),
            marks=found,
        )
        for panel in figure.panels
    )
    told = "; ".join(f"{switch_where(switch)} {switch_words(switch)}" for switch in fitted.switches)
    words = f"{figure.words}. Switches: {told}" if told else figure.words
    return replace(figure, panels=panels, words=words)


def _fitted_lines(fitted: LogGP, unit: str, simulated: bool) -> tuple[Line, ...]:
    """Return the lines as times or bandwidths; their name says if they are far off."""
    name = "fitted lines" + (f" (up to {100 * fitted.max_error:.0f} % off)" if fitted.poor else "")
    return tuple(
        Line(
            name=name,
            mode="lines",
            colour=("simulated" if simulated else "categorical", 1, 8),
            symbol=0,
            dash="dot" if simulated else "solid",
            points=tuple(
                (size, piece.time(round(size)) if unit == "s" else size / piece.time(round(size)))
                for size in _sizes(piece.first, piece.last, unit)
            ),
            smooth=True,
        )
        for piece in fitted.segments
        if piece.last > piece.first
    )


def _sizes(first: int, last: int, unit: str) -> list[float]:
    """Return sizes from first to last, evenly on a logarithmic axis; a bandwidth of 0 B is none."""
    start = max(first, 1)
    steps = _STEPS * max(1, (last // start).bit_length() - 1)
    grown = [start * (last / start) ** (step / steps) for step in range(steps + 1)]
    return [0.0, *grown] if first == 0 and unit == "s" else grown


def marks(fitted: LogGP, caches: Sequence[Cache]) -> tuple[Mark, ...]:
    """Return the marks of switches, at the geometric mean of the sizes around each, and of caches."""
    switches = [
        Mark(
            x=(max(switch.below, 0.5) * switch.above) ** 0.5,
            label=_mark_label(switch, switch.below == fitted.eager_bytes, near_cache(switch, caches)),
            kind="eager" if switch.below == fitted.eager_bytes else "switch",
        )
        for switch in fitted.switches
    ]
    last = fitted.segments[-1].last
    return (
        *switches,
        *(Mark(cache.bytes, f"L{cache.level}", "cache") for cache in caches if cache.bytes < last),
    )


def _mark_label(switch: Switch, eager: bool, cache: Cache | None) -> str:
    factor = _factor(switch)
    if eager:
        return f"eager limit {factor}"
    return f"{factor} (L{cache.level})" if cache and switch.factor > 1 else factor


def _factor(switch: Switch) -> str:
    if math.isinf(switch.factor):
        return "bend"
    up = switch.factor >= 1
    factor = f"× {three_digits(switch.factor)}" if up else f"÷ {three_digits(1 / switch.factor)}"
    return f"{factor} per byte" if switch.kind == "bend" else factor


def _lines(fitted: LogGP, points: Sequence[Summary], label: RunLabel, place: int) -> list[Line]:
    colour = (*label.colour, 1)
    measured = Line(
        name=label.label,
        mode="markers",
        colour=colour,
        symbol=place,
        points=tuple((size_of(point), point.median) for point in points),
        band=tuple(point.bounds for point in points),
        meaning="95 %",
    )
    modelled = [
        Line(
            name=f"{label.label}: fit",
            mode="lines",
            colour=colour,
            dash="dot" if label.clock == "simulated" else "solid",
            symbol=place,
            points=tuple(
                (size, piece.time(size)) for size in map(size_of, points) if piece.first <= size <= piece.last
            ),
        )
        for piece in fitted.segments
    ]
    return [measured, *modelled]


def _figure(found: Sequence[Model], lines: Sequence[Line]) -> Figure:
    points = listed(sorted({model.label.origin for model in found}), "or")
    words = "; ".join(
        f"{model.label.label}: "
        + ", ".join(f"{one.symbol} {value}" for one, value in model.parameters if one.symbol != "residual")
        for model in found
    )
    return Figure(
        id=FIGURE,
        section="model",
        title=f"pingpong: {points} (points) and fitted (lines)",
        conditions="",
        x="bytes",
        unit="s",
        log=True,
        words=words,
        panels=(Panel("", (), tuple(lines)),),
    )
