"""Scaling in words, for the terminal and for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kiviat.analysis.scaling.curve import Curve, Prediction, Ratio
from kiviat.analysis.scaling.energy import Power
from kiviat.analysis.scaling.equivalence import Equal
from kiviat.analysis.scaling.laws import Fit, Parameter
from kiviat.analysis.scaling.series import Study
from kiviat.record.units import UNAVAILABLE, counted, format_range, format_value, listed, three_digits

_FAR = 100  # limits beyond this many times the measured number of ranks are omitted


def energy_text(power: Power) -> str:
    """Return the origin of the power, or why it is unavailable."""
    return f"unavailable: {power.words}" if power.origin == "unavailable" else power.words


def kind_text(study: Study) -> str:
    """Return "strong scaling of rate; class A on all"."""
    return f"{study.kind} scaling of {study.metric.replace('_', ' ')}{_problem(study)}; {study.why}"


def _problem(study: Study) -> str:
    """Return ", 32,000 atoms in all", or nothing if the title or the reason of the kind contains it."""
    first = study.curves[0].points[0]
    size = first.size
    if size is None or study.bytes is not None or size.exact or size.words in study.why:
        return ""
    if study.kind == "strong":
        return f", {size.words}" + ("" if size.each else " in all")
    return f", {size.words} on {'each rank' if size.each else counted(first.ranks, 'rank')}"


def result_text(study: Study) -> str:
    """Return the speedup and the efficiency of each curve on its most ranks.

    "" without fair points, and for messages, which are not work that more ranks share.
    """
    size = study.curves[0].points[0].size
    if study.bytes is not None or (size is not None and not size.words):
        return ""
    told = []
    for curve in study.curves:
        fair = [point for point in curve.points if point.fair]
        first, last = curve.points[0], max(fair, key=lambda point: point.ranks, default=None)
        if last is None or last.ranks == first.ranks or not first.fair:
            continue
        name = f"{curve.label} " if len(study.curves) > 1 else ""
        told.append(
            f"{name}on {counted(last.ranks, 'rank')} {three_digits(last.speedup.value)} times the speed of "
            f"{counted(first.ranks, 'rank')}, efficiency {_percent(last.efficiency.value)} %"
        )
    kind = " (weak scaling)" if study.kind == "weak" else ""
    return f"{study.title}{kind}: {'; '.join(told)}." if told else ""


def ratio_text(ratio: Ratio, unit: str = "1") -> str:
    """Return "3.85 (3.80 – 3.91)"; in percent for unit "%"."""
    write, end = (_percent, " %") if unit == "%" else (three_digits, "")
    bounds = f" ({write(ratio.bounds[0])} – {write(ratio.bounds[1])})" if ratio.bounds else ""
    return f"{write(ratio.value)}{end}{bounds}"


def _percent(share: float) -> str:
    return three_digits(100 * share)


def law_text(study: Study, curve: Curve, fit: Fit) -> str:
    """Return a law with its parameters, its error, and its limits."""
    name = f"{fit.name}: {parameters_text(study, curve, fit)}" if fit.parameters else fit.name
    return "; ".join([name, off_text(curve, fit), *limits_text(curve, fit)])


def parameters_text(study: Study, curve: Curve, fit: Fit) -> str:
    """Return "σ = 0.0300 (0.0295 – 0.0305)"; for rates, times are shares of the time on the fewest ranks."""
    first = curve.points[0].ranks
    shares = study.unit != "s" and any(one.seconds for one in fit.parameters)
    words = ", ".join(_parameter(one, study.unit, fit.time(first)[0]) for one in fit.parameters)
    return f"{words} of the time on {counted(first, 'rank')}" if shares else words


def _parameter(one: Parameter, unit: str, time: float) -> str:
    unit, factor = ("s", 1.0) if one.seconds and unit == "s" else ("1", 1 / time if one.seconds else 1.0)
    if one.value is None:
        return f"{one.name} unavailable: one rank takes no time by this law"
    value = f"{one.name} = {format_value(one.value * factor, unit)}"
    if one.low is None or one.high is None:
        return value
    return f"{value} ({format_range(one.low * factor, one.high * factor, unit)})"


def off_text(curve: Curve, fit: Fit) -> str:
    """Return how far a law is off the points, and off the last one when fitted without it."""
    words = f"off {100 * fit.worst:.1f} % at most"
    if fit.contradicted:
        words += ", more than the launches explain"
    if fit.held_out is not None:
        last = max(point.ranks for point in curve.points if point.fair)
        words += f"; fitted without {counted(last, 'rank')} {100 * fit.held_out:+.1f} % off there"
    return words


def limits_text(curve: Curve, fit: Fit) -> list[str]:
    """Return the limits that follow from a law, and how far they are extrapolated."""
    last = max(point.ranks for point in curve.points if point.fair)
    shares = {one.name: one.value for one in fit.parameters}
    if fit.name == "Amdahl" and (least := shares["σ"]) is not None and least * _FAR * last > 1:
        serial = fit.parameter("σ")
        ends = ""
        if serial.low is not None and serial.high is not None:
            ends = f" (at least {three_digits(1 / serial.high)}" + (
                f", at most {three_digits(1 / serial.low)})" if serial.low > 0 else ")"
            )
        most = f"at most {three_digits(1 / least)} times one rank{ends}"
        return [f"{most}, by the law; {curve.how} to {counted(last, 'rank')}"]
    if fit.name == "USL" and (waits := shares["σ"]) is not None and (agrees := shares["κ"]) is not None:
        peak = ((1 - waits) / agrees) ** 0.5 if agrees > 0 and waits < 1 else math.inf
        if peak > _FAR * last:
            return []
        where = f", {three_digits(peak / last)} times the most {curve.how}" if peak > last else ""
        return [f"maximum at {three_digits(peak)} ranks{where}"]
    return []


def prediction_text(study: Study, curve: Curve, one: Prediction) -> str:
    """Return a prediction, always with its distance from the measured range."""
    value = format_value(one.value, study.unit)
    if one.low is not None and one.high is not None:
        value += f" (95 %: {format_range(one.low, one.high, study.unit)})"
    if one.beyond is None:
        where = f"within the range {curve.how}"
    elif one.beyond > 1:
        where = f"extrapolated to {three_digits(one.beyond)} times the most {curve.how}"
    else:
        where = f"extrapolated to {three_digits(one.beyond)} times the fewest {curve.how}"
    return f"at {counted(one.ranks, 'rank')} {value} by {one.law}: {where}"


def equals_text(found: Sequence[Equal]) -> list[str]:
    """Return how many ranks of A equal 1, 2, … ranks of B, in a line for each pair: "1 → 4.12, 2 → 8.32"."""
    pairs: dict[tuple[str, str], list[Equal]] = {}
    for one in found:
        pairs.setdefault((one.machine, one.other), []).append(one)
    lines = []
    for (machine, other), equals in pairs.items():
        words = [", ".join(f"{one.as_many} → {_equal(one)}" for one in equals if one.ranks is not None)]
        reasons: dict[str, list[str]] = {}
        for one in equals:
            if one.ranks is None:
                reasons.setdefault(one.words, []).append(str(one.as_many))
        words += [f"{listed(counts)}: {why}" for why, counts in reasons.items()]
        lines.append(f"ranks of {other} → as many of {machine}: {'; '.join(filter(None, words))}")
    return lines


def _equal(one: Equal) -> str:
    if one.ranks is None or one.low is None or one.high is None:
        return one.words
    return f"{one.words} ({three_digits(one.low)} – {three_digits(one.high)})"


def per_watt_text(study: Study, power: Power) -> str:
    """Return "12.3 Mflop/s per W"; a dash for times, which have energy only."""
    if power.per_watt is None:
        return "–" if power.watts is not None else UNAVAILABLE
    return f"{format_value(power.per_watt, study.unit)} per W"
