"""LogGP parameters of each run, protocol switches, and residuals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from kiviat.analysis.statistics.changepoints import Switch
from kiviat.record.run import Cache
from kiviat.record.units import format_bytes, format_value, three_digits
from kiviat.report.html.figure import Figure, Line, Mark, Panel, RunLabel

FIGURE = "fig-loggp"


@dataclass(frozen=True, slots=True)
class Piece:
    """One protocol: its sizes, its line, and the residuals."""

    sizes: str
    latency: str
    per_byte: str
    median_error: float
    max_error: float


@dataclass(frozen=True, slots=True)
class Change:
    """A protocol switch in words."""

    where: str
    what: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Model:
    """The LogGP model of one run."""

    run: int
    label: str
    parameters: list[tuple[str, str, str]]  # symbol, meaning, value
    median_error: float
    max_error: float
    warning: str
    pieces: list[Piece]
    changes: list[Change]


def models(
    by_run: Mapping[str, Sequence[Summary]], labels: Sequence[RunLabel]
) -> tuple[list[Model], list[Figure]]:
    """Return the fitted models of message times of all runs with a ping-pong over sizes, and their chart."""
    found, lines = [], []
    for place, label in enumerate(labels):
        summaries = by_run.get(label.run, ())
        fitted = fit_loggp(summaries)
        if fitted:
            found.append(_model(place, label.label, fitted))
            lines += _lines(fitted, curve(summaries, "pingpong"), label, place)
    return found, [_figure(found, lines, [labels[model.run].clock for model in found])] if found else []


def _model(place: int, label: str, fitted: LogGP) -> Model:
    half = fitted.half_bandwidth_bytes
    return Model(
        run=place,
        label=label,
        parameters=[
            ("L + 2o", "time of an empty message", format_value(fitted.latency_s, "s")),
            ("g", "minimum time between messages of 8 B", format_value(fitted.gap_s, "s")),
            ("G", "time per byte of the largest messages", _per_byte(fitted.s_per_byte)),
            (
                "peak",
                f"best ping-pong bandwidth, at {format_bytes(fitted.peak_bytes)}",
                format_value(fitted.peak_bandwidth, "B/s"),
            ),
            ("n½", "size that reaches half of it", format_bytes(None if half is None else round(half))),
            ("eager limit", "largest size sent without a handshake", eager_words(fitted)),
        ],
        median_error=fitted.median_error,
        max_error=fitted.max_error,
        warning=fit_warning(fitted),
        pieces=[
            Piece(
                sizes=f"{format_bytes(piece.first)} to {format_bytes(piece.last)}",
                latency=format_value(piece.latency_s, "s"),
                per_byte=_per_byte(piece.s_per_byte),
                median_error=piece.median_error,
                max_error=piece.max_error,
            )
            for piece in fitted.segments
        ],
        changes=[_change(switch) for switch in fitted.switches],
    )


def _per_byte(seconds: float) -> str:
    """Return picoseconds per byte."""
    return f"{three_digits(seconds * 1e12)} ps/B"


def _change(switch: Switch) -> Change:
    return Change(switch_where(switch), switch_words(switch), three_digits(switch.evidence))


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
    factor = f"× {three_digits(switch.factor)}"
    if switch.kind == "bend":
        factor += " per byte"
    if eager:
        return f"eager limit {factor}"
    return f"{factor} (L{cache.level})" if cache and switch.factor > 1 else factor


def _lines(fitted: LogGP, points: Sequence[Summary], label: RunLabel, place: int) -> list[Line]:
    colour = (*label.colour, 1)
    measured = Line(
        name=label.label,
        mode="markers",
        colour=colour,
        symbol=place,
        points=tuple((size_of(point), point.median) for point in points),
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


def _figure(found: Sequence[Model], lines: Sequence[Line], clocks: Collection[str]) -> Figure:
    points = "predicted" if set(clocks) == {"simulated"} else "measured"
    points += " or predicted" if len(set(clocks)) > 1 and "simulated" in clocks else ""
    words = "; ".join(
        f"{model.label}: " + ", ".join(f"{symbol} {value}" for symbol, _, value in model.parameters)
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
