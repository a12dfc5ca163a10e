"""The sections of the page about studies; a section exists only if a run has its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.analysis.aggregate.nodes import Nodes, nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.record.run import Run
from kiviat.record.traits import TraitsByName
from kiviat.report.html.curves import abscissae, curves_of, is_curve, together
from kiviat.report.html.figure import Figure, HeatMap, RunLabel, numbered
from kiviat.report.study.curves import study_figures
from kiviat.report.study.effective_bandwidth import effective_table
from kiviat.report.study.network_sharing import sharings
from kiviat.report.study.overhead import overhead_figures
from kiviat.report.study.pair_maps import heat_maps
from kiviat.report.study.programs import programs, programs_table
from kiviat.report.study.tables import congestion, link_health, quantities
from kiviat.report.table import Table


@dataclass(slots=True)
class StudySection:
    """A section with its charts and tables. `short` is its name in the navigation bar."""

    id: str
    short: str
    title: str
    lead: str
    benchmarks: tuple[str, ...]
    figures: list[Figure | HeatMap]
    quantities: Table
    effective: Table | None = None
    programs: Table | None = None
    captioned: list[Table] = field(default_factory=list)


# Benchmarks themselves name the section that they belong to.
_SECTIONS = (
    (
        "kernels",
        "Kernels",
        "Kernels of HPC Challenge",
        "Rates of one core, of the memory, and of all ranks. `kiviat balance` sets them against each "
        "other and beside published systems.",
    ),
    (
        "effective",
        "b_eff",
        "Effective bandwidth",
        "All ranks communicate at once. b_eff averages the bandwidth over message sizes, and over rings and "
        "random patterns; Lmax is the largest message.",
    ),
    (
        "dense",
        "Dense",
        "Dense communication",
        "Every rank exchanges messages with every other, phase by phase: the bandwidth of a process.",
    ),
    (
        "pairs",
        "Pairs",
        "Distance, pairs and links",
        "Distances between ranks, bisection bandwidth, slow ranks and links, and many ranks that send to one "
        "or receive from it. In the maps, blue is the best pair, and lines separate nodes.",
    ),
    (
        "overhead",
        "Overhead",
        "Processor overhead and noise",
        "Overhead is the processor time of a message; availability is the share of the message’s time that "
        "remains for computation. Noise is the time that the system takes from computing cores.",
    ),
    (
        "congestion",
        "Congestion",
        "Congestion by other ranks",
        "Slowdown of some ranks’ calls (victims) while the other ranks congest the network: mean of all "
        "calls, below it the 99th percentile.",
    ),
    (
        "programs",
        "Programs",
        "NAS Parallel Benchmarks",
        "Eight programs that stress processor, memory and network in different ways. The bar is the time of "
        "an average rank by phase: computation, then messages and waiting for them.",
    ),
    (
        "applications",
        "Applications",
        "Applications",
        "Small programs that represent large ones. HPCCG solves a sparse system by conjugate gradients: "
        "matrix-vector products, planes exchanged with two neighbours, and sums over all ranks. Gears finds "
        "neighbouring faces of turning gears on all ranks. LJ is a liquid of atoms with short-range forces: "
        "rates are atom steps per second, and neighbours in three dimensions exchange positions and forces.",
    ),
    (
        "replay",
        "Replay",
        "Recorded programs, replayed",
        "The recorded calls on a simulated machine, with computation at the speed of its cores. "
        "Communication is all time that is not computation: messages, and waiting for others.",
    ),
    ("others", "Others", "Other programs", "Results that programs other than Kiviat reported."),
)
# Sections of benchmarks without message sizes that name none: those that are described, and all others.
_KERNELS, _OTHERS = "kernels", "others"
_MOST_QUANTITIES = 8  # of a benchmark in one chart
# Sections with charts of messages, which report.run.page draws.
_OF_MESSAGES = frozenset(("", "pt2pt", "onesided", "collective", "overlap"))


def study_sections(
    runs: Sequence[Run],
    table: Sequence[Summary],
    by_run: Mapping[str, Sequence[Summary]],
    grids: Sequence[Grid],
    labels: Sequence[RunLabel],
    traits: TraitsByName,
) -> list[StudySection]:
    """Return all sections with data. `table` is the page's table of summaries.

    Sections that are not listed here, but named by a benchmark, come last.
    """
    by_id = {run.id: run for run in runs}

    def nodes(run: str, ranks: int) -> Nodes | None:
        return nodes_of(by_id[run], ranks)

    drawn = [
        *overhead_figures(table, labels),
        *study_figures(grids, labels, traits),
        *_of_quantities(table, labels, traits),
    ]
    maps = heat_maps(grids, labels, nodes, traits)
    sized = {one.benchmark for one in table if one.bytes is not None}

    def section_of(name: str) -> str:
        return traits[name].section or ("" if name in sized else _KERNELS if name in traits else _OTHERS)

    held: dict[str, list[str]] = {}
    for name in sorted({one.benchmark for one in table}, key=lambda name: (traits[name].place, name)):
        held.setdefault(section_of(name), []).append(name)
    ours = {id_ for id_, *_ in _SECTIONS} | _OF_MESSAGES
    own = [(id_, id_.capitalize(), id_.capitalize(), "") for id_ in sorted(set(held) - ours)]
    names = {label.run: label.label for label in labels}
    found = []
    for id_, short, title, lead in (*_SECTIONS, *own):
        if benchmarks := tuple(held.get(id_, ())):
            figures: list[Figure | HeatMap] = [f for f in drawn if f.section == id_]
            figures += [heat_map for heat_map in maps if heat_map.section == id_]
            listed = [name for name in benchmarks if traits[name].tabled or id_ in (_KERNELS, _OTHERS)]
            numbers = quantities(table, listed, traits, names, title)
            found.append(StudySection(id_, short, title, lead, benchmarks, figures, numbers))
    for section in found:
        if section.id == "effective":
            section.effective = effective_table(runs, by_run, labels)
        if section.id == "pairs":
            section.captioned = link_health(grids, names)
        if section.id == "congestion":
            section.captioned = congestion(grids, table, names)
        if section.id == "programs":
            section.captioned = sharings(runs, table, grids, nodes, traits)
        if of_programs := programs(table, grids, list(names), traits, section.id):
            once = all(label.clock == "simulated" for label in labels)
            section.programs = programs_table(of_programs, once, labels)
    return found


def _of_quantities(
    table: Sequence[Summary], labels: Sequence[RunLabel], traits: TraitsByName
) -> list[Figure]:
    """Return charts of quantities without sizes against ranks and axes with numbers, with a switch."""
    metrics: dict[str, dict[str, list[int]]] = {}
    for place, one in enumerate(table):
        if traits[one.benchmark].section not in _OF_MESSAGES and one.bytes is None:
            metrics.setdefault(one.benchmark, {}).setdefault(one.metric, []).append(place)
    charts = []
    for benchmark, places in metrics.items():
        first = [*(headline.metric for headline in traits[benchmark].headlines), traits[benchmark].scales]
        named = sorted(places, key=lambda metric: first.index(metric) if metric in first else len(first))
        every = [table[place] for place in places[named[0]]]
        for x in abscissae(every):
            if x != "ranks" or len({one.ranks for one in every}) > 1:
                own = [curves_of(table, labels, traits[benchmark].section, x, places[name]) for name in named]
                if curves := [figure for figure in own if is_curve(figure)]:
                    charts.append(together(benchmark, curves[:_MOST_QUANTITIES]))
    return numbered(charts, "quantity")
