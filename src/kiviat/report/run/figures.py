"""Selects and groups the summaries of each chart.

The page contains every summary once, in one table; a trace is a list of indices of that table, which
`report.js` draws. No values are computed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from kiviat.analysis.aggregate.summary import Summary, studies
from kiviat.record.traits import Traits, TraitsByName
from kiviat.record.units import format_value
from kiviat.report.html.figure import Figure, Line, Look, Panel, RunLabel, Trace, numbered
from kiviat.report.html.panels import Key, common, evenly, looks, panels, word

MAX_SIZES = 6  # curves against the number of ranks
MAX_NUMBERS = 12  # results of a section that are no curve

SECTIONS = ("pt2pt", "onesided", "collective", "rate", "overlap")


def figures(
    table: Sequence[Summary],
    runs: Sequence[RunLabel],
    traits: TraitsByName,
    without: Collection[str] = (),
) -> list[Figure]:
    """Return the charts of all benchmarks except `without`, in the order of the page."""
    benchmarks: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, summary in enumerate(table):
        if summary.benchmark not in without:
            benchmarks[summary.benchmark][summary.metric].append(place)
    result = []
    for benchmark in sorted(benchmarks, key=lambda name: (not _leads(traits[name]), name)):
        metrics = benchmarks[benchmark]
        for metric, places in metrics.items():
            if section := _section(traits[benchmark], metric, metrics):
                for x in _abscissae(section, [table[place] for place in places]):
                    figure = curves_of(table, runs, section, x, places)
                    if is_curve(figure):
                        result.append(figure)
    result.sort(key=lambda figure: SECTIONS.index(figure.section))
    return numbered(result)


def _leads(traits: Traits) -> bool:
    return any(headline.place == 1 for headline in traits.headlines)


def launch_figure(chosen: Mapping[int, Summary], runs: Sequence[RunLabel]) -> Figure:
    """Return a chart of the launch medians of one case per run; `chosen` maps the run's index to it."""
    lines = tuple(
        Line(
            name=runs[place].label,
            mode="markers",
            colour=(*runs[place].colour, len(runs)),
            symbol=place,
            points=tuple(enumerate(summary.launch_medians)),
        )
        for place, summary in chosen.items()
    )
    first = next(iter(chosen.values()))
    return Figure(
        id="fig-launches",
        section="stability",
        title=f"{first.case}: {first.metric} of each launch",
        conditions="",
        x="launch",
        unit=first.unit,
        log=False,
        words="; ".join(
            f"{runs[place].label}: {format_value(min(summary.launch_medians), summary.unit)} to "
            f"{format_value(max(summary.launch_medians), summary.unit)}"
            for place, summary in chosen.items()
        ),
        panels=(Panel("", (), lines),),
    )


def is_curve(figure: Figure) -> bool:
    """True if some curve has several points; points alone are numbers, and stand in tables."""
    return any(len(trace.at) > 1 for panel in figure.panels for trace in panel.traces)


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
        if section := _section(traits[name], summary.metric, of_benchmark[name]):
            found[section].append(summary)
    return {section: its[:MAX_NUMBERS] for section, its in found.items()}


# Times of ranks and of parts, which the harness adds to the time of a call.
_PARTS = ("time_rank_mean", "time_rank_max", "time_rank_min", "time_compute", "time_overlapped")


def _section(traits: Traits, metric: str, metrics: Iterable[str]) -> str | None:
    """Return the section of a metric, or None if it appears in tables only."""
    if metric in _PARTS:
        return None
    # Of a benchmark without description, only metrics can say: collectives report times over ranks.
    section = traits.section or ("collective" if "time_rank_max" in metrics else "pt2pt")
    if section == "pt2pt" and metric == "message_rate":
        return "rate"
    if section == "pt2pt" and metric == "time" and "message_rate" in metrics:
        return None  # the time of a whole window contains no more than the rate
    return section


def _abscissae(section: str, summaries: Sequence[Summary]) -> list[str]:
    if all(summary.bytes is None for summary in summaries):
        return ["ranks"]
    several = len({summary.ranks for summary in summaries}) > 1
    return ["bytes", "ranks"] if section == "collective" and several else ["bytes"]


def curves_of(
    table: Sequence[Summary], runs: Sequence[RunLabel], section: str, x: str, places: Sequence[int]
) -> Figure:
    """Return a chart of the summaries at `places`, of one benchmark and metric, against `x`."""
    places = [place for place in places if getattr(table[place], x) is not None]
    if x == "ranks":
        places = _few_sizes(table, places)
    other = "ranks" if x == "bytes" else "bytes"
    axes = sorted({axis for place in places for axis in table[place].axes})
    numbers = {label.run: number for number, label in enumerate(runs)}
    curves: dict[Key, list[int]] = defaultdict(list)
    for place in places:
        summary = table[place]
        key = (numbers[summary.run], getattr(summary, other), *map(summary.axes.get, axes))
        curves[key].append(place)
    for curve in curves.values():
        curve.sort(key=lambda place: getattr(table[place], x))
    dimensions = ["run", other, *axes]
    shown = tuple(
        Panel(
            group.label,
            tuple(
                _trace(look, curves[key])
                for key, look in zip(group.keys, looks(group, dimensions, runs), strict=True)
            ),
        )
        for group in panels(curves, dimensions, runs)
    )
    first = table[places[0]]
    metric = first.metric.replace("_", " ")
    return Figure(
        id=f"{first.benchmark}-{first.metric}-{x}",
        section=section,
        title=f"{first.benchmark}: {metric} against {'message size' if x == 'bytes' else 'number of ranks'}",
        conditions=common(list(curves), dimensions, runs),
        x=x,
        unit=first.unit,
        log=first.unit != "%",
        words="; ".join(_in_words(table, trace, x) for trace in shown[-1].traces),
        panels=shown,
    )


def _trace(look: Look, at: Sequence[int]) -> Trace:
    return Trace(look.name, look.dash, look.symbol, look.colour, tuple(at))


def _few_sizes(table: Sequence[Summary], places: Sequence[int]) -> list[int]:
    """Return the places of a few message sizes, evenly chosen from those common to all runs."""
    of_run: dict[str, set[int]] = defaultdict(set)
    for place in places:
        size = table[place].bytes
        if size is not None:
            of_run[table[place].run].add(size)
    sizes = sorted(set.intersection(*of_run.values()) or set.union(*of_run.values())) if of_run else []
    return [place for place in places if table[place].bytes in {None, *evenly(sizes, MAX_SIZES)}]


def _in_words(table: Sequence[Summary], trace: Trace, x: str) -> str:
    ends = [table[place] for place in dict.fromkeys((trace.at[0], trace.at[-1]))]
    described = (f"{format_value(end.median, end.unit)} at {word(x, getattr(end, x), ())}" for end in ends)
    return f"{trace.name}: {' to '.join(described)}"
