"""Scaling in words: tables for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kiviat.analysis.published.text import place_text, statement_text, verdict_text
from kiviat.analysis.published.verdict import Verdict
from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.laws import Fit
from kiviat.analysis.scaling.reading import Reading
from kiviat.analysis.scaling.series import Study
from kiviat.cli.text.table import bold, print_table
from kiviat.record.units import counted
from kiviat.report.html.panels import evenly
from kiviat.report.scaling.tables import point_columns, power_columns, remarks_text
from kiviat.report.scaling.text import (
    energy_text,
    equals_text,
    kind_text,
    law_text,
    prediction_text,
)
from kiviat.report.table import Column, Table, tabled

# Number of message sizes shown for a benchmark; CSV, JSON and the page have all.
_MAX_SIZES = 6


def print_readings(found: Sequence[Reading], published: Sequence[Verdict]) -> None:
    """Print each study with a few of its message sizes, and the verdicts on published claims."""
    shown = _few(found)
    for place, reading in enumerate(shown):
        if place:
            print()
        _print(reading, [one for one in published if one.study is reading.study])
    if len(shown) < len(found):
        more = counted(len(found) - len(shown), "further message size")
        print(f"\n{more}: --format csv or -o FILE.html has all")
    if of_no_study := [one for one in published if one.study is None]:
        print()
        _print_published(of_no_study)


def _print_published(found: Sequence[Verdict]) -> None:
    """Print two lines for each claim: the published statement, and the verdict by these results."""
    print("as published")
    for one in found:
        print(f"  {place_text(one.row)}: {statement_text(one.row)}")
        print(f"    {verdict_text(one)}: {one.words}")


def _few(found: Sequence[Reading]) -> list[Reading]:
    """Return the studies of a few message sizes of each benchmark, and all studies without size."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for one in found:
        if one.study.bytes is not None:
            sizes.setdefault((one.study.benchmark, one.study.setting), []).append(one.study.bytes)
    kept = {key: set(evenly(sorted(set(of)), _MAX_SIZES)) for key, of in sizes.items()}
    return [
        one
        for one in found
        if one.study.bytes is None or one.study.bytes in kept[one.study.benchmark, one.study.setting]
    ]


def _print(reading: Reading, published: Sequence[Verdict]) -> None:
    study = reading.study
    print(f"{bold(study.title)}: {kind_text(study)}\n")
    for place, curve in enumerate(study.curves):
        print(curve.label)
        print_table(_table(study, curve))
        print(f"law: {curve.choice.words}")
        for fit in curve.choice.fits:
            print(f"  {law_text(study, curve, fit)}")
        for prediction in reading.predictions[place]:
            print(f"  {prediction_text(study, curve, prediction)}")
        for ranks, why in curve.missing:
            print(f"missing: {counted(ranks, 'rank')} {why}")
        for energy in dict.fromkeys(energy_text(point.power) for point in curve.points):
            print(f"energy: {energy}")
        for doubt in reading.doubts[place]:
            print(f"note: {doubt}")
        print()
    for line in equals_text(reading.equals):
        print(line)
    if published:
        _print_published(published)


def _table(study: Study, curve: Curve) -> Table:
    powered = any(point.power.watts is not None for point in curve.points)
    predicted = ["predicted"] if curve.clock == "simulated" else []
    columns: list[Column[Point]] = [
        *point_columns(study, study.metric, curve.points),
        *(power_columns(study) if powered else ()),
        Column("", lambda point: ", ".join(filter(None, (*predicted, remarks_text(point))))),
    ]
    return tabled(study.title, columns, curve.points)


def as_json(reading: Reading, published: Sequence[Verdict]) -> dict[str, Any]:
    """Return a study with its curves, fits and published claims for JSON."""
    study = reading.study
    return {
        **{name: getattr(study, name) for name in ("benchmark", "metric", "unit", "better", "kind", "why")},
        "setting": study.setting,
        "bytes": study.bytes,
        "curves": [
            {
                "label": curve.label,
                "runs": curve.runs,
                "clock": curve.clock,
                "points": [_point(point) for point in curve.points],
                "law": curve.choice.chosen.name if curve.choice.chosen else None,
                "choice": curve.choice.words,
                "fits": [_fit(fit) for fit in curve.choice.fits],
                "predictions": [asdict(one) for one in predictions],
                "missing": [{"ranks": ranks, "reason": why} for ranks, why in curve.missing],
                "notes": doubts,
            }
            for curve, predictions, doubts in zip(
                study.curves, reading.predictions, reading.doubts, strict=True
            )
        ],
        "equals": [asdict(one) for one in reading.equals],
        "published": [published_json(one) for one in published if one.study is study],
    }


def published_json(one: Verdict) -> dict[str, Any]:
    """Return a paper's claim and the verdict on it for JSON."""
    return {
        "id": one.row.id,
        "paper": one.row.paper.citation,
        "location": one.row.fact.location,
        "says": statement_text(one.row),
        "asks": one.claim.asks if one.claim else None,
        "verdict": one.verdict,
        "words": one.words,
        "predicted": one.predicted,
    }


def _point(point: Point) -> dict[str, Any]:
    found = asdict(point)
    size = found.pop("size")
    return {**found, "problem": size and size["words"]}


def _fit(fit: Fit) -> dict[str, Any]:
    return {
        "law": fit.name,
        "formula": fit.law.formula,
        "parameters": [asdict(one) for one in fit.parameters],
        **{name: getattr(fit, name) for name in ("off", "worst", "held_out", "contradicted", "aicc")},
    }
