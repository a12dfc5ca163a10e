"""The sections of the page about studies; each is there only where a run has such data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.analysis.aggregate.nodes import Nodes, nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.published import Paper, papers
from kiviat.record.run import Run
from kiviat.report.html.figure import Figure, HeatMap, RunLabel
from kiviat.report.study import effective_bandwidth as effective
from kiviat.report.study.curves import study_figures
from kiviat.report.study.network_sharing import Sharing, sharings
from kiviat.report.study.overhead import overhead_figures
from kiviat.report.study.pair_maps import heat_maps
from kiviat.report.study.programs import APPLICATIONS, PROGRAMS, Program, programs
from kiviat.report.study.tables import Congestion, Quantities, Sickness, congestion, quantities, sickness


@dataclass(frozen=True, slots=True)
class Published:
    """A paper's lines of the table of effective bandwidth."""

    paper: Paper
    where: list[str]
    lines: list[effective.Line]


@dataclass(slots=True)
class StudySection:
    """A section: what is drawn, and what stands in tables. `short` is its name in the bar."""

    id: str
    short: str
    title: str
    lead: str
    benchmarks: tuple[str, ...]
    figures: list[Figure | HeatMap] = field(default_factory=list)
    effective: list[effective.Line] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    quantities: list[Quantities] = field(default_factory=list)
    sickness: list[Sickness] = field(default_factory=list)
    congestion: list[Congestion] = field(default_factory=list)
    programs: list[Program] = field(default_factory=list)
    sharing: list[Sharing] = field(default_factory=list)


_SECTIONS = (
    (
        "effective",
        "b_eff",
        "Effective bandwidth",
        "All ranks communicate at once. b_eff averages what the network carries over message sizes, and over "
        "rings and random patterns; Lmax is the largest message.",
        ("b_eff", "ring"),
    ),
    (
        "dense",
        "Dense",
        "Dense communication",
        "Everybody talks to everybody, phase by phase, each with other partners: what a process sends.",
        ("dense_total_exchange", "dense_pairwise", "dense_cumulative", "dense_random"),
    ),
    (
        "pairs",
        "Pairs",
        "Distance, pairs and links",
        "Who is far from whom, what a bisection carries, and which ranks and links are slow. In the maps "
        "blue is the best pair, and lines stand between nodes.",
        ("distance", "all_pairs", "streaming", "bisection", "sick_links"),
    ),
    (
        "overhead",
        "Overhead",
        "What messages and the system cost the processor",
        "Overhead is the processor time that a message costs; availability is the share of the message’s "
        "time that is left for work. Noise is what the system takes from cores that only compute.",
        ("hpo_send", "hpo_recv", "noise"),
    ),
    (
        "congestion",
        "Congestion",
        "Congestion by other ranks",
        "Some ranks are victims, the others congest the network meanwhile: how many times as long the "
        "victims’ calls take. Mean of all calls, below it the 99th percentile.",
        ("congestion",),
    ),
    (
        "programs",
        "Programs",
        "NAS Parallel Benchmarks",
        "Eight programs that load processor, memory and network in eight ways. The bar is the time of an "
        "average rank, phase by phase: computation, then messages and waiting for them.",
        PROGRAMS,
    ),
    (
        "applications",
        "Applications",
        "Applications",
        "Small programs that stand for large ones. HPCCG solves a sparse system by conjugate gradients: "
        "a product of matrix and vector, planes exchanged with two neighbours, and sums over all ranks. "
        "Gears finds which faces of turning gears are near each other, wherever they are. LJ "
        "is a liquid of atoms with short forces: rates are steps of an atom, and neighbours along three "
        "sides exchange positions and forces.",
        APPLICATIONS,
    ),
    (
        "replay",
        "Replay",
        "Recorded programs, replayed",
        "The same calls on a modelled machine, and computation as its cores would do it. Communication is "
        "all that is not computation: messages, and waiting for others.",
        ("replay",),
    ),
)
# Studies whose quantities are few and drawn nowhere.
_IN_NUMBERS = ("ring", "streaming", "bisection", "sick_links", "noise", "replay", *APPLICATIONS)


def study_sections(
    runs: Sequence[Run],
    table: Sequence[Summary],
    by_run: Mapping[str, Sequence[Summary]],
    grids: Sequence[Grid],
    labels: Sequence[RunLabel],
) -> list[StudySection]:
    """All sections that have something to show. `table` is the page's."""
    by_id = {run.id: run for run in runs}

    def nodes(run: str, ranks: int) -> Nodes | None:
        return nodes_of(by_id[run], ranks)

    drawn = [*overhead_figures(table, labels), *study_figures(grids, labels)]
    maps = heat_maps(grids, labels, nodes)
    held = {summary.benchmark for summary in table}
    found = []
    for id_, short, title, lead, benchmarks in _SECTIONS:
        if held & set(benchmarks):
            figures: list[Figure | HeatMap] = [f for f in drawn if f.section == id_]
            figures += [heat_map for heat_map in maps if heat_map.section == id_]
            numbers = quantities(table, [name for name in benchmarks if name in _IN_NUMBERS])
            found.append(StudySection(id_, short, title, lead, benchmarks, figures, quantities=numbers))
    names = {label.run: label.label for label in labels}
    for section in found:
        if section.id == "effective":
            section.effective = effective.own(by_run, labels)
            section.published = _published(runs, section.effective) if section.effective else []
        if section.id == "pairs":
            section.sickness = sickness(grids, names)
        if section.id == "congestion":
            section.congestion = congestion(grids, table, names)
        if section.id == "programs":
            section.programs = programs(table, grids, list(names))
            section.sharing = sharings(runs, table, grids, nodes)
        if section.id == "applications":
            section.programs = programs(table, grids, list(names), APPLICATIONS)
    return found


def _published(runs: Sequence[Run], own: Sequence[effective.Line]) -> list[Published]:
    """Predictions stand beside what was published of the machine that they are for."""
    names = {
        place: [f"{one.machine} {one.mode}".strip() for one in model.published]
        for place, run in enumerate(runs)
        if (model := run.machine.model)
    }
    lines = ((paper, effective.published(paper)) for paper in papers())
    return [
        Published(paper, effective.locations(paper), effective.beside(of_paper, own, names))
        for paper, of_paper in lines
        if of_paper
    ]
