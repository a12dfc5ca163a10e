"""Which summaries appear in which figure.

The page holds every summary once, in one table; a trace is a list of places in that table, and
`report.js` draws it. Nothing here computes: it selects, groups and names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.summary import Summary
from kiviat.record.units import format_bytes, format_value

MAX_TRACES = 8  # more in one figure cannot be told apart
MAX_SIZES = 6  # curves against the number of ranks

_DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")  # dots are for what is simulated

SECTIONS = ("pt2pt", "collective", "rate", "overlap")

Key = tuple[object, ...]  # one value for each dimension


@dataclass(frozen=True, slots=True)
class RunLabel:
    """How a run is called in figures and tables."""

    run: str
    label: str
    clock: str
    colour: tuple[str, int]  # a palette of report.css and the place in it


@dataclass(frozen=True, slots=True)
class Trace:
    """A curve. `colour` names a palette of report.js, the place in it, and how many share it."""

    name: str
    dash: str
    symbol: int
    colour: tuple[str, int, int]
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Points that are not in the table of summaries. Equal names share an entry of the legend."""

    name: str
    mode: str  # "lines" or "markers"
    colour: tuple[str, int, int]
    symbol: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """What is shown at once; a figure of several panels has a selector."""

    label: str
    traces: tuple[Trace, ...]
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    id: str
    section: str
    title: str
    conditions: str  # what all its curves have in common
    x: str  # "bytes", "ranks" or "launch"
    unit: str
    log: bool
    words: str  # what the figure shows, for those who do not see it
    panels: tuple[Panel, ...]

    @property
    def shown(self) -> int:
        """The place of the panel that is shown first: the fullest, of equal ones the last."""
        return max(range(len(self.panels)), key=lambda place: (len(self.panels[place].traces), place))


def figures(table: Sequence[Summary], runs: Sequence[RunLabel]) -> list[Figure]:
    """All figures in the order of the page."""
    benchmarks: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, summary in enumerate(table):
        benchmarks[summary.benchmark][summary.metric].append(place)
    result = []
    for benchmark in sorted(benchmarks, key=lambda name: (name != "pingpong", name)):
        metrics = benchmarks[benchmark]
        for metric, places in metrics.items():
            if section := _section(metric, metrics):
                for x in _abscissae(section, [table[place] for place in places]):
                    result.append(_figure(table, runs, section, x, places))
    result.sort(key=lambda figure: SECTIONS.index(figure.section))
    return [replace(figure, id=f"fig-{number}-{_slug(figure.id)}") for number, figure in enumerate(result, 1)]


def _slug(text: str) -> str:
    """Names of foreign benchmarks can hold anything; an identifier cannot."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)


def launch_figure(chosen: Mapping[int, Summary], runs: Sequence[RunLabel]) -> Figure:
    """What each launch measured of one case; `chosen` gives it for each run, by the run's place."""
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


def _section(metric: str, metrics: Iterable[str]) -> str | None:
    """Where a metric is shown, by what its benchmark measures; None if in tables only."""
    if metric.startswith("time_"):
        return None
    if "overlap" in metrics:
        return "overlap"
    if "time_rank_max" in metrics:
        return "collective" if metric == "time" else None
    if metric == "message_rate":
        return "rate"
    if metric == "time" and "message_rate" in metrics:
        return None  # the time of a whole window says nothing that the rate does not
    return "pt2pt"


def _abscissae(section: str, summaries: Sequence[Summary]) -> list[str]:
    if all(summary.bytes is None for summary in summaries):
        return ["ranks"]
    several = len({summary.ranks for summary in summaries}) > 1
    return ["bytes", "ranks"] if section == "collective" and several else ["bytes"]


def _figure(
    table: Sequence[Summary], runs: Sequence[RunLabel], section: str, x: str, places: Sequence[int]
) -> Figure:
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
    panels = tuple(_panels(curves, dimensions, runs))
    common = next(iter(curves))
    fixed = [at for at in _places(curves, varying=False) if at and common[at] is not None]
    first = table[places[0]]
    metric = first.metric.replace("_", " ")
    return Figure(
        id=f"{first.benchmark}-{first.metric}-{x}",
        section=section,
        title=f"{first.benchmark}: {metric} against {'message size' if x == 'bytes' else 'number of ranks'}",
        conditions=", ".join(_word(dimensions[at], common[at], runs) for at in fixed),
        x=x,
        unit=first.unit,
        log=first.unit != "%",
        words="; ".join(_in_words(table, trace, x) for trace in panels[-1].traces),
        panels=panels,
    )


def _few_sizes(table: Sequence[Summary], places: Sequence[int]) -> list[int]:
    """The places whose message size is one of a few, evenly chosen from those that all runs have."""
    of_run: dict[str, set[int]] = defaultdict(set)
    for place in places:
        size = table[place].bytes
        if size is not None:
            of_run[table[place].run].add(size)
    sizes = sorted(set.intersection(*of_run.values()) or set.union(*of_run.values())) if of_run else []
    return [place for place in places if table[place].bytes in {None, *_evenly(sizes, MAX_SIZES)}]


def _panels(
    curves: Mapping[Key, list[int]], dimensions: Sequence[str], runs: Sequence[RunLabel]
) -> Iterable[Panel]:
    """Curves split along as few dimensions, from the last, as leave at most MAX_TRACES together.

    Runs stay together however many they are.
    """
    varying = _places(curves, varying=True)
    groups: dict[Key, list[Key]] = {}
    for together in range(len(varying), 0 if 0 in varying else -1, -1):
        kept, split = varying[:together], varying[together:]
        groups = defaultdict(list)
        for key in curves:
            groups[tuple(key[place] for place in split)].append(key)
        if max(map(len, groups.values())) <= MAX_TRACES:
            break
    if 1 in split and 1 < len(overview := _overview(curves)) <= MAX_TRACES:
        first_two = [place for place in varying if place < 2]
        yield Panel("overview", tuple(_traces(curves, overview, dimensions, first_two, runs)))
    for value in sorted(groups, key=_natural):
        words = (_word(dimensions[place], part, runs) for place, part in zip(split, value, strict=True))
        keys = sorted(groups[value], key=_natural)
        yield Panel(", ".join(words), tuple(_traces(curves, keys, dimensions, kept, runs)))


def _places(curves: Iterable[Key], *, varying: bool) -> list[int]:
    """The dimensions along which curves differ, or else those along which they do not."""
    return [
        place for place, values in enumerate(zip(*curves, strict=True)) if (len(set(values)) > 1) == varying
    ]


def _overview(curves: Iterable[Key]) -> list[Key]:
    """All runs at a few numbers of ranks (or sizes), with the other axes at their defaults."""
    plain = [key for key in curves if set(key[2:]) <= {None}]
    runs = {key[0] for key in plain}
    numbers = sorted({key[1] for key in plain if isinstance(key[1], int)})
    few = _evenly(numbers, max(2, MAX_TRACES // max(1, len(runs))))
    return sorted((key for key in plain if key[1] in few), key=_natural)


def _evenly(values: Sequence[int], most: int) -> Sequence[int]:
    """At most so many of the values, with the first and the last."""
    if len(values) <= most:
        return values
    return [values[step * (len(values) - 1) // (most - 1)] for step in range(most)]


def _traces(
    curves: Mapping[Key, list[int]],
    keys: Sequence[Key],
    dimensions: Sequence[str],
    varying: Sequence[int],
    runs: Sequence[RunLabel],
) -> Iterable[Trace]:
    """With one run, colours tell the variants apart; with several, colours are the runs' and dashes do."""
    variants = list(dict.fromkeys(key[1:] for key in keys))
    for key in keys:
        run, variant = runs[int(str(key[0]))], variants.index(key[1:])
        if len(variants) == 1 or len(runs) > 1:
            colour = (*run.colour, len(runs))
        elif run.clock == "simulated":
            colour = ("simulated", variant, len(variants))
        elif varying[-1] == 1 and len(variants) > 2:  # ranks or sizes alone: an ordered palette
            colour = ("ordinal", variant, len(variants))
        else:
            colour = ("categorical", variant, len(variants))
        dash = _DASHES[variant % len(_DASHES)] if len(runs) > 1 else "solid"
        yield Trace(
            name=", ".join(_word(dimensions[place], key[place], runs) for place in varying) or run.label,
            dash="dot" if run.clock == "simulated" else dash,
            symbol=variant if len(variants) > 1 else int(str(key[0])),
            colour=colour,
            at=tuple(curves[key]),
        )


def _natural(key: Key) -> list[tuple[int, float, str]]:
    """Sorts numbers by value, before words; what is absent comes first."""
    return [
        (0, part, "") if isinstance(part, int | float) else (-1 if part is None else 1, 0, str(part))
        for part in key
    ]


def _word(dimension: str, value: object, runs: Sequence[RunLabel]) -> str:
    if dimension == "run":
        return runs[int(str(value))].label
    if dimension == "ranks":
        return "1 rank" if value == 1 else f"{value} ranks"
    if dimension == "bytes":
        return "no size" if value is None else format_bytes(int(str(value)))
    return f"default {dimension}" if value is None else f"{dimension} {value}"


def _in_words(table: Sequence[Summary], trace: Trace, x: str) -> str:
    ends = [table[place] for place in dict.fromkeys((trace.at[0], trace.at[-1]))]
    described = (f"{format_value(end.median, end.unit)} at {_word(x, getattr(end, x), ())}" for end in ends)
    return f"{trace.name}: {' to '.join(described)}"
