"""Render the page about scaling: curves, efficiency, laws with their bands, energy, published claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.published.verdict import Verdict
from kiviat.analysis.scaling.reading import Reading
from kiviat.analysis.scaling.series import Source
from kiviat.record.units import counted
from kiviat.report.facts import runs as run_facts
from kiviat.report.html.figure import Figure, RunLabel, numbered, simulated_in
from kiviat.report.html.shell import page
from kiviat.report.scaling.figures import figures_of
from kiviat.report.scaling.tables import claims_table, laws_table, points_table, power_table
from kiviat.report.scaling.text import (
    energy_text,
    equals_text,
    kind_text,
    prediction_text,
    result_text,
)
from kiviat.report.table import Table

_MOST_RESULTS = 4  # in the head


@dataclass(frozen=True, slots=True)
class Machine:
    """A curve in tables and words; `place` is the index of its label."""

    place: int
    name: str
    simulated: bool
    points: Table
    choice: str
    laws: Table
    predictions: list[str]
    missing: list[str]
    power: Table
    energy: list[str]
    doubts: tuple[str, ...]


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
    published: Table
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
    of_no_study = claims_table("As published", [(one, "") for one in published if one.study is None])
    return page(
        "scaling.html.j2",
        labels,
        [figure for section in sections for figure in section.figures],
        styles=("scaling.css",),
        results=list(filter(None, (result_text(one.study) for one in readings)))[:_MOST_RESULTS],
        title=f"Scaling of {run_facts.title(first)}",
        simulated=simulated_in(labels),
        contents=[
            *((section.id, section.title) for section in sections),
            *([("published", "Published claims")] if of_no_study.rows else []),
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
    setting = f", {study.setting}" if study.setting and study.bytes is None else ""
    title = f"{study.benchmark}: {study.kind} scaling{setting}"
    return Section(
        id=f"study-{number}",
        title=title,
        lead=f"{lead[:1].upper()}{lead[1:]}.",
        figures=numbered(figures_of(group, labels, machines), f"fig-{number}"),
        published=claims_table(
            f"{title}: as published",
            [
                (one, one.study.title if len(group) > 1 else "")
                for one in published
                if one.study is not None and any(one.study is reading.study for reading in group)
            ],
        ),
        studies=[_study_tables(one, labels) for one in group],
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
                points=points_table(study, curve),
                choice=curve.choice.words,
                laws=laws_table(study, curve),
                power=power_table(study, curve),
                predictions=[prediction_text(study, curve, prediction) for prediction in predictions],
                missing=[f"{counted(ranks, 'rank')} {why}" for ranks, why in curve.missing],
                energy=list(dict.fromkeys(energy_text(point.power) for point in curve.points)),
                doubts=doubts,
            )
            for curve, predictions, doubts in entries
        ],
        equals=equals_text(one.equals),
    )
