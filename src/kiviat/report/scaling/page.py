"""Render the page about scaling: curves, efficiency, laws with their bands, energy, published claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.published.text import place_text, statement_text, verdict_text
from kiviat.analysis.published.verdict import AGREES, DISAGREES, Verdict
from kiviat.analysis.scaling.curve import Curve, Point
from kiviat.analysis.scaling.reading import Reading
from kiviat.analysis.scaling.series import Source, Study
from kiviat.record.units import counted, format_range, format_value
from kiviat.report.facts import runs as run_facts
from kiviat.report.html.figure import Figure, RunLabel, numbered
from kiviat.report.html.shell import figure_data, page
from kiviat.report.scaling.figures import figures_of
from kiviat.report.scaling.text import (
    energy_text,
    equals_text,
    kind_text,
    known_text,
    limits_text,
    off_text,
    parameters_text,
    per_watt_text,
    prediction_text,
    ratio_text,
)


@dataclass(frozen=True, slots=True)
class Line:
    """The row of one number of ranks; `power` is empty if the power is unknown."""

    cells: tuple[str, ...]
    power: tuple[str, ...]
    remarks: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """A law in words."""

    name: str
    formula: str
    parameters: str
    off: str
    limits: str
    chosen: bool
    contradicted: bool


@dataclass(frozen=True, slots=True)
class Machine:
    """A curve in tables and words; `place` is the index of its label."""

    place: int
    name: str
    simulated: bool
    lines: list[Line]
    choice: str
    laws: list[Fitted]
    predictions: list[str]
    missing: list[str]
    energy: list[str]
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClaimLine:
    """A published claim and its verdict; `about` names the study if the section has several."""

    statement: str
    place: str
    about: str
    verdict: str
    mood: str  # "good", "bad" or "" if the claim cannot be judged
    words: str
    predicted: bool


@dataclass(frozen=True, slots=True)
class StudyTables:
    """A study in tables."""

    title: str
    machines: list[Machine]
    equals: list[str]


@dataclass(frozen=True, slots=True)
class Section:
    """A study, or those of a benchmark that differ in message size only: figures have a panel for each."""

    id: str
    title: str
    lead: str
    figures: list[Figure]
    published: list[ClaimLine]
    studies: list[StudyTables]


def render_scaling(
    readings: Sequence[Reading],
    sources: Sequence[Source],
    left_out: Sequence[str],
    published: Sequence[Verdict] = (),
) -> str:
    """Return the page as HTML; `sources` are those of the curves, `left_out` reasons for missing curves."""
    first = [source.runs[0] for source in sources]
    labels = run_facts.labels(first)
    by_label = {label.label: (place, label) for place, label in enumerate(labels)}
    groups: dict[tuple[str, ...], list[Reading]] = {}
    for one in readings:
        study = one.study
        problem = study.setting if study.bytes is None else ""
        groups.setdefault((study.benchmark, study.metric, study.kind, problem), []).append(one)
    sections = [
        _section(number, group, by_label, len(labels), published)
        for number, group in enumerate(groups.values(), 1)
    ]
    of_no_study = [_claim_line(one, "") for one in published if one.study is None]
    clocks = {label.clock for label in labels}
    return page(
        "scaling.html.j2",
        {
            "runs": [{"label": label.label, "clock": label.clock} for label in labels],
            "table": {"cases": [], "metrics": [], "metric": [], "run": [], "clock": []},
            "figures": {figure.id: figure_data(figure) for section in sections for figure in section.figures},
        },
        styles=("scaling.css",),
        title=f"Scaling of {run_facts.title(first)}",
        labels=labels,
        simulated="all" if clocks == {"simulated"} else "some" if "simulated" in clocks else "",
        contents=[
            *((section.id, section.title) for section in sections),
            *([("published", "Published claims")] if of_no_study else []),
            ("reading", "Reading"),
        ],
        machines=[
            {
                "name": label.label,
                "clock": label.clock,
                "facts": run_facts.facts(source.runs[0]),
                "badges": run_facts.badges(source.runs[0]),
                "runs": ", ".join(run.id for run in source.runs),
            }
            for source, label in zip(sources, labels, strict=True)
        ],
        sections=sections,
        published=of_no_study,
        papers=list(dict.fromkeys(one.row.paper.citation for one in published)),
        left_out=left_out,
    )


def _section(
    number: int,
    group: Sequence[Reading],
    labels: Mapping[str, tuple[int, RunLabel]],
    machines: int,
    published: Sequence[Verdict],
) -> Section:
    study = group[0].study
    reasons = {one.study.why for one in group}
    lead = kind_text(study) if len(reasons) == 1 else f"{study.kind} scaling of {study.metric}"
    return Section(
        id=f"study-{number}",
        title=f"{study.benchmark}: {study.kind} scaling"
        + (f", {study.setting}" if study.setting and study.bytes is None else ""),
        lead=f"{lead[:1].upper()}{lead[1:]}.",
        figures=numbered(figures_of(group, labels, machines), f"fig-{number}"),
        published=[
            _claim_line(one, one.study.title if len(group) > 1 else "")
            for one in published
            if one.study is not None and any(one.study is reading.study for reading in group)
        ],
        studies=[_study_tables(one, labels) for one in group],
    )


def _claim_line(one: Verdict, about: str) -> ClaimLine:
    return ClaimLine(
        statement=statement_text(one.row),
        place=place_text(one.row),
        about=about,
        verdict=verdict_text(one),
        mood={AGREES: "good", DISAGREES: "bad"}.get(one.verdict, ""),
        words=one.words,
        predicted=one.predicted,
    )


def _study_tables(one: Reading, labels: Mapping[str, tuple[int, RunLabel]]) -> StudyTables:
    study = one.study
    entries = zip(study.curves, one.predictions, one.doubts, strict=True)
    return StudyTables(
        title=study.title,
        machines=[
            Machine(
                place=labels[curve.label][0],
                name=curve.label,
                simulated=curve.clock == "simulated",
                lines=[_line(study, point) for point in curve.points],
                choice=curve.choice.words,
                laws=_laws(study, curve),
                predictions=[prediction_text(study, curve, prediction) for prediction in predictions],
                missing=[f"{counted(ranks, 'rank')} {why}" for ranks, why in curve.missing],
                energy=list(dict.fromkeys(energy_text(point.power) for point in curve.points)),
                doubts=doubts,
            )
            for curve, predictions, doubts in entries
        ],
        equals=equals_text(one.equals),
    )


def _line(study: Study, point: Point) -> Line:
    extremes = "–"
    if point.samples > 1 and point.least is not None and point.most is not None:
        extremes = format_range(point.least, point.most, study.unit)
    interval = "–"
    if point.low is not None and point.high is not None:
        interval = format_range(point.low, point.high, study.unit)
    power, sockets = point.power, known_text(point.sockets)
    remarks = ["oversubscribed"] if point.oversubscribed else []
    remarks += ["disturbed"] if point.disturbed else []
    remarks += [point.meaning] if point.meaning.startswith("range") else []
    return Line(
        cells=(
            str(point.ranks),
            known_text(point.nodes),
            sockets,
            format_value(point.value, study.unit),
            extremes,
            interval,
            ratio_text(point.speedup),
            ratio_text(point.efficiency, "%"),
            "–" if point.serial is None else ratio_text(point.serial),
        ),
        power=(
            str(point.ranks),
            sockets,
            f"{format_value(power.watts, 'W')}, {power.origin}",
            per_watt_text(study, power),
            format_value(power.joules, "J"),
        )
        if power.watts is not None
        else (),
        remarks=", ".join(remarks),
    )


def _laws(study: Study, curve: Curve) -> list[Fitted]:
    return [
        Fitted(
            name=fit.name,
            formula=fit.law.formula,
            parameters=parameters_text(study, curve, fit) or "–",
            off=off_text(curve, fit),
            limits="; ".join(limits_text(curve, fit)),
            chosen=fit is curve.choice.chosen,
            contradicted=bool(fit.contradicted),
        )
        for fit in curve.choice.fits
    ]
