"""Selects and groups the summaries of each chart of messages.

The page contains every summary once, in one table; a trace is a list of indices of that table. No values are
computed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from kiviat.analysis.aggregate.summary import Summary, studies
from kiviat.record.rows import Rows
from kiviat.record.traits import Traits, TraitsByName
from kiviat.record.types import Row
from kiviat.record.units import format_value
from kiviat.report.html.curves import NodesOf, abscissae, curves_of, is_curve, together, unknown_nodes
from kiviat.report.html.figure import Figure, Line, Panel, RunLabel, numbered

_FAR_APART = 50.0  # values of launches by more than this factor need a logarithmic scale
MAX_NUMBERS = 12  # results of a section that are no curve

SECTIONS = ("pt2pt", "onesided", "collective", "rate", "overlap")


def figures(
    table: Sequence[Summary],
    runs: Sequence[RunLabel],
    traits: TraitsByName,
    without: Collection[str] = (),
    nodes_of: NodesOf = unknown_nodes,
) -> list[Figure]:
    """Return the charts of all benchmarks except `without`, in the order of the page.

    Time and bandwidth of a benchmark share a chart.
    """
    benchmarks: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, summary in enumerate(table):
        if summary.benchmark not in without:
            benchmarks[summary.benchmark][summary.metric].append(place)
    result = []
    for benchmark in sorted(benchmarks, key=lambda name: (not _leads(traits[name]), name)):
        metrics = benchmarks[benchmark]
        of_benchmark: dict[tuple[str, str], list[Figure]] = defaultdict(list)
        for metric, places in sorted(metrics.items(), key=lambda entry: entry[0] != "time"):
            if section := _section(traits[benchmark], metric, metrics):
                for x in abscissae([table[place] for place in places]):
                    figure = curves_of(table, runs, section, x, places, nodes_of)
                    if is_curve(figure):
                        of_benchmark[section, x].append(figure)
        result += [together(benchmark, drawn) for drawn in of_benchmark.values()]
    result.sort(key=lambda figure: SECTIONS.index(figure.section))
    return numbered(result)


def _leads(traits: Traits) -> bool:
    return any(headline.place == 1 for headline in traits.headlines)


def launch_figure(
    chosen: Mapping[str, Mapping[int, Summary]], rows: Rows, runs: Sequence[RunLabel]
) -> Figure:
    """Return a chart of the launches of some cases: their medians, and the range of each one's samples.

    `chosen` maps titles to the case of each run, by the run's index; each title has a panel.
    """
    wanted = {
        (summary.run, summary.case, summary.metric) for its in chosen.values() for summary in its.values()
    }
    cases = {(run, case) for run, case, _ in wanted}
    launches: dict[tuple[str, str, str | None], dict[int, Row]] = defaultdict(dict)
    for row in rows.of_cases(lambda case: (case.run, case.case) in cases):
        key = row.run, row.case, row.metric
        if key in wanted and row.outcome == "ok" and row.check != "failed":
            of_case = launches[key]
            of_case[len(of_case) if row.launch is None else row.launch] = row
    panels = tuple(
        Panel(
            "",
            (),
            tuple(
                _launches(runs[place], place, len(runs), launches[summary.run, summary.case, summary.metric])
                for place, summary in its.items()
            ),
            quantity=title,
            unit=next(iter(its.values())).unit,
        )
        for title, its in chosen.items()
    )
    first = next(iter(chosen.values()))
    reaches = [_reach(panel) for panel in panels]
    return Figure(
        id="fig-launches",
        section="stability",
        title="Median of each launch, and range of its samples"
        if len(panels) > 1
        else f"{panels[0].quantity}: median of each launch",
        conditions="bars: minimum to 99th percentile, or to maximum",
        x="launch",
        unit=panels[0].unit,
        log=all(low > 0 for low, _ in reaches) and any(high > _FAR_APART * low for low, high in reaches),
        words="; ".join(
            f"{runs[place].label}: {format_value(min(summary.launch_medians), summary.unit)} to "
            f"{format_value(max(summary.launch_medians), summary.unit)}"
            for place, summary in first.items()
        ),
        panels=panels,
    )


def _reach(panel: Panel) -> tuple[float, float]:
    """Return the smallest and the largest value of a panel of lines."""
    ends = [end for line in panel.lines for pair in line.band if pair for end in pair]
    values = [*(y for line in panel.lines for _, y in line.points), *ends]
    return min(values, default=0.0), max(values, default=0.0)


def _launches(label: RunLabel, place: int, count: int, launches: Mapping[int, Row]) -> Line:
    """Return the launches as marks with bars; a sample that averages over calls has no percentile."""
    known = {number: row for number, row in sorted(launches.items()) if _middle(row) is not None}
    ends = [(row.min, row.max if row.p99 is None else row.p99) for row in known.values()]
    return Line(
        name=label.label,
        mode="markers",
        colour=(*label.colour, count),
        symbol=place,
        points=tuple((float(number), _middle(row) or 0.0) for number, row in known.items()),
        band=tuple(None if low is None or high is None else (low, high) for low, high in ends),
        meaning="samples",
    )


def _middle(row: Row) -> float | None:
    return row.mean if row.p50 is None else row.p50


def single_numbers(
    table: Sequence[Summary], drawn: Iterable[Figure], traits: TraitsByName
) -> dict[str, list[Summary]]:
    """Return the results of messages that no chart shows, since they are points alone, by section."""
    shown = {place for one in drawn for panel in one.panels for trace in panel.traces for place in trace.at}
    shown_metrics = {(table[place].benchmark, table[place].metric, table[place].bytes) for place in shown}
    of_benchmark: dict[str, set[str]] = defaultdict(set)
    for summary in table:
        of_benchmark[summary.benchmark].add(summary.metric)
    others = studies(table, traits)
    found: dict[str, list[Summary]] = defaultdict(list)
    for place, summary in enumerate(table):
        name = summary.benchmark
        if place in shown or name in others or (name, summary.metric, summary.bytes) in shown_metrics:
            continue
        if not traits[name].section and summary.bytes is None:
            continue  # of another program, which has a section of its own
        if section := _section(traits[name], summary.metric, of_benchmark[name]):
            found[section].append(summary)
    return {section: its[:MAX_NUMBERS] for section, its in found.items()}


# Times of ranks and of parts, which the harness adds to the time of a call.
_PARTS = ("time_rank_mean", "time_rank_max", "time_rank_min", "time_compute", "time_overlapped")


def _section(traits: Traits, metric: str, metrics: Iterable[str]) -> str | None:
    """Return the section of a metric, or None if it appears in tables only."""
    if metric in _PARTS:
        return None
    # Without a description, the metrics tell the section: collectives report times over ranks.
    section = traits.section or ("collective" if "time_rank_max" in metrics else "pt2pt")
    if section == "pt2pt" and metric == "message_rate":
        return "rate"
    if section == "pt2pt" and metric == "time" and "message_rate" in metrics:
        return None  # the time of a whole window contains no more than the rate
    return section
