"""Tables about scaling: points, laws, energy, published claims."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from kiviat.analysis.published.text import place_text, statement_text, verdict_text
from kiviat.analysis.published.verdict import AGREES, DISAGREES, Verdict
from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.laws import Fit
from kiviat.analysis.scaling.series import Study
from kiviat.report.scaling.text import limits_text, off_text, parameters_text, per_watt_text, ratio_text
from kiviat.report.table import Cell, Column, Interval, Table, tabled


def remarks_text(point: Point) -> str:
    """Return the remarks on a point: what disturbed it, and the range of too few launches."""
    words = ["oversubscribed"] if point.oversubscribed else []
    words += ["disturbed"] if point.disturbed else []
    words += [point.meaning] if point.meaning.startswith("range") else []
    return ", ".join(words)


def point_columns(
    study: Study, heading: str, points: Sequence[Point], intervals: bool = False
) -> list[Column[Point]]:
    """Return columns of points; `heading` is that of values, `intervals` adds their 95 % intervals.

    Extremes and intervals that no point has are left out.
    """

    def extremes(point: Point) -> Interval | None:
        return Interval(point.least, point.most, study.unit) if point.samples > 1 else None

    reach: Column[Point] = Column("low – high", extremes, side=">", absent="–")
    interval: Column[Point] = Column(
        "95 % interval", lambda point: Interval(point.low, point.high, study.unit), side=">", absent="–"
    )
    return [
        Column("ranks", lambda point: Cell(point.ranks, below=remarks_text(point)), "number"),
        Column("nodes", lambda point: point.nodes, "number"),
        Column("sockets", lambda point: point.sockets, "number"),
        Column(heading, lambda point: point.value, study.unit),
        *([reach] if any(point.samples > 1 for point in points) else []),
        *([interval] if intervals and any(point.low is not None for point in points) else []),
        Column("speedup", lambda point: ratio_text(point.speedup), side=">"),
        Column("efficiency", lambda point: ratio_text(point.efficiency, "%"), side=">"),
        Column(
            "serial fraction",
            lambda point: ratio_text(point.serial) if point.serial else None,
            side=">",
            absent="–",
        ),
    ]


def power_columns(study: Study, origin: bool = False) -> list[Column[Point]]:
    """Return columns of power and energy; `origin`: with the source of the power."""
    return [
        Column(
            "power",
            lambda point: Cell(point.power.watts, below=point.power.origin if origin else ""),
            "W",
        ),
        Column("per watt", lambda point: per_watt_text(study, point.power), side=">"),
        Column("energy to solution", lambda point: point.power.joules, "J"),
    ]


def points_table(study: Study, curve: Curve) -> Table:
    """Return the table of a curve's points for a page."""
    simulated = curve.clock == "simulated"
    columns = point_columns(study, "predicted" if simulated else "median", curve.points, intervals=True)
    return tabled(
        f"{study.title}: points of {curve.label}",
        columns,
        curve.points,
        kind="points",
        kind_of=lambda point: "simulated" if simulated else "",
    )


def power_table(study: Study, curve: Curve) -> Table:
    """Return the table of power and energy of the points whose power is known."""
    columns: list[Column[Point]] = [
        Column("ranks", lambda point: point.ranks, "number"),
        Column("sockets", lambda point: point.sockets, "number"),
        *power_columns(study, origin=True),
    ]
    return tabled(
        f"{study.title}: energy of {curve.label}",
        columns,
        [point for point in curve.points if point.power.watts is not None],
        kind="power",
        kind_of=lambda point: "simulated" if curve.clock == "simulated" else "",
    )


def laws_table(study: Study, curve: Curve) -> Table:
    """Return the table of laws: parameters, errors, and the limits that follow from them."""
    chosen = Markup(' <span class="mark">chosen</span>')

    def name(fit: Fit) -> Cell:
        mark = chosen if fit is curve.choice.chosen else Markup()
        return Cell(fit.name, below=fit.law.formula, drawing=mark)

    def off(fit: Fit) -> Cell:
        return Cell(off_text(curve, fit), kind="doubtful" if fit.contradicted else "")

    columns: list[Column[Fit]] = [
        Column("law", name),
        Column("parameters", lambda fit: parameters_text(study, curve, fit) or "–", kind="wide"),
        Column("error", off, kind="wide"),
        Column("limits", lambda fit: "; ".join(limits_text(curve, fit)) or "–", kind="wide"),
    ]
    return tabled(
        f"{study.title}: laws of {curve.label}",
        columns,
        curve.choice.fits,
        kind="laws",
        kind_of=lambda fit: "chosen" if fit is curve.choice.chosen else "",
    )


def claims_table(title: str, claims: Sequence[tuple[Verdict, str]]) -> Table:
    """Return the table of published claims with their verdicts; each is with its study, or nothing."""

    def here(claim: tuple[Verdict, str]) -> Cell:
        one, about = claim
        mood = {AGREES: "good", DISAGREES: "bad"}.get(one.verdict, "")
        verdict = Markup('<b class="{}">{}</b>: ').format(mood, verdict_text(one))
        words = f"{about}: {one.words}" if about else one.words
        said = Markup('<span class="{}">{}</span>').format("simulated" if one.predicted else "", words)
        return Cell("", drawing=verdict + said)

    columns: list[Column[tuple[Verdict, str]]] = [
        Column("as published", lambda claim: _published(claim[0])),
        Column("here", here),
    ]
    return tabled(title, columns, claims, kind="said")


def _published(one: Verdict) -> Cell:
    return Cell(statement_text(one.row), below=place_text(one.row))
