"""Tables of the report: headline figures, findings, failures, stability, benchmarks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.findings.finding import Finding
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.traits import TraitsByName
from kiviat.record.units import axis_text, counted, format_range, format_size, format_value
from kiviat.report.html.figure import Figure, RunLabel
from kiviat.report.run.sketch import sketch
from kiviat.report.study.sections import StudySection
from kiviat.report.study.tables import run_column
from kiviat.report.table import Cell, Column, Table, Value, tabled


@dataclass(frozen=True, slots=True)
class Headline:
    """A headline metric: the best case of each run, by the index of the run."""

    title: str
    values: dict[int, Summary]


def headlines(by_run: Mapping[str, Iterable[Summary]], traits: TraitsByName) -> list[Headline]:
    """Return the headline figures that at least one run has."""
    groups: dict[tuple[str, str, str], list[Summary]] = defaultdict(list)
    for run, summaries in by_run.items():
        for summary in summaries:
            groups[summary.benchmark, summary.metric, run].append(summary)
    declared = [(entry, benchmark) for benchmark, its in traits.items() for entry in its.headlines]
    found = []
    for entry, benchmark in sorted(declared, key=lambda pair: (pair[0].place, pair[1])):
        values = {
            place: _best(candidates)
            for place, run in enumerate(by_run)
            if (
                candidates := [
                    summary
                    for summary in groups.get((benchmark, entry.metric, run), ())
                    if entry.bytes is None or summary.bytes == entry.bytes
                ]
            )
        }
        if values:
            found.append(Headline(entry.title, values))
    return found


def _best(candidates: Sequence[Summary]) -> Summary:
    """Return the best median among the cases with the fewest non-default axes and the most ranks."""
    plainest = min(len(summary.axes) for summary in candidates)
    plain = [summary for summary in candidates if len(summary.axes) == plainest]
    most = max(summary.ranks for summary in plain)
    pick = min if plain[0].better == "lower" else max
    return pick((summary for summary in plain if summary.ranks == most), key=lambda summary: summary.median)


def conditions(summary: Summary) -> str:
    """Return the conditions of a value: size, ranks, other axes, launches, origin, oversubscription."""
    words = [
        "" if summary.bytes is None else format_size(summary.bytes),
        counted(summary.ranks, "rank"),
        *(axis_text(axis, value) for axis, value in sorted(summary.axes.items())),
        "" if summary.clock == "simulated" else counted(summary.launches, "launch"),
        {"wall": "", "simulated": "simulated", "reported": "as reported"}[summary.clock],
        "oversubscribed" if summary.oversubscribed else "",
        "disturbed" if summary.disturbed else "",
    ]
    return ", ".join(filter(None, words))


def interval(summary: Summary, known_error: Callable[[Summary], str]) -> str:
    """Return the interval of a median, or why it has none; `known_error` is that of predictions."""
    if summary.low is not None and summary.high is not None:
        return f"95 %: {format_range(summary.low, summary.high, summary.unit)}"
    if summary.clock == "simulated":
        return f"model’s error: {known_error(summary)}"
    return "no interval below 5 launches" if summary.clock == "wall" else "no interval"


def headlines_table(
    found: Sequence[Headline], labels: Sequence[RunLabel], known_error: Callable[[Summary], str]
) -> Table:
    """Return the headline figures of several runs side by side."""

    def of_run(place: int) -> Callable[[Headline], Cell]:
        def cell(headline: Headline) -> Cell:
            if (summary := headline.values.get(place)) is None:
                return Cell(None)
            words = interval(summary, known_error), conditions(summary)
            return Cell(Value(summary.median, summary.unit), below=words, kind=summary.clock)

        return cell

    columns: list[Column[Headline]] = [
        Column("figure", lambda headline: headline.title),
        *(
            Column(label.label, of_run(place), absent="no result", swatch=label.swatch)
            for place, label in enumerate(labels)
        ),
    ]
    return tabled("Headline figures", columns, found, kind="numbers")


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding, the indices of its runs, links to its evidence, its first cases, and its curve."""

    finding: Finding
    kind: str
    runs: tuple[int, ...]
    links: list[tuple[str, str]]
    cases: list[str]
    more: int
    picture: Markup | None


_LINKS, _CASES = 3, 3
_MAIN, _MAIN_WARNINGS = 6, 2
_DISTURBED = "Disturbed"
_KINDS = {
    "headline": "Speed",
    "hpl": "HPL",
    "half-bandwidth": "Half bandwidth",
    "tcp-fallback": "Fallback to TCP",
    "disturbed": _DISTURBED,
    "embedded-mpi": "Embedded MPI",
    "simulated": "Simulated",
    "model-losses": "Omitted by the model",
    "shared-resource": "Shared resource",
    "phases": "Near and far partners",
    "rings": "Rings in random order",
    "congestion": "Congestion by others",
    "sick-links": "Slow ranks and links",
    "availability": "Availability",
}
_SHOWN_ELSEWHERE = {
    "disturbed": [("provenance", "launches")],
    "failures": [("missing", "cases without a result")],
    "failed-launches": [("provenance", "launches")],
    "tcp-fallback": [("transport", "transport")],
    "embedded-mpi": [("provenance", "provenance")],
    "simulated": [("modelled", "the modelled machine")],
    "uncalibrated": [("modelled", "the modelled machine")],
    "model-losses": [("modelled", "the modelled machine")],
    "misplaced": [("provenance", "launches")],
    "protocol-switch": [("model", "LogGP and protocol switches")],
    "two-modes": [("stability", "stability")],
    "unstable": [("stability", "stability")],
}


def told(
    found: Sequence[tuple[tuple[int, ...], Finding]],
    table: Sequence[Summary],
    drawn: Iterable[Figure],
    studied: Iterable[StudySection],
    runs: Sequence[Run],
) -> list[FindingLine]:
    """Return findings with links to their evidence: charts, or the section of a study.

    Each finding has the indices of its runs.
    """
    sections = {benchmark: (one.id, one.title) for one in studied for benchmark in one.benchmarks}
    benchmarks = {summary.case: summary.benchmark for summary in table}
    where: dict[tuple[str, str], Figure] = {}
    for figure in drawn:
        for panel in figure.panels:
            for trace in panel.traces:
                for place in trace.at:
                    where.setdefault((table[place].case, table[place].metric), figure)
    result = []
    for places, finding in found:
        ids = {runs[place].id for place in places}
        shown = dict.fromkeys(where[key] for key in finding.evidence if key in where)
        links = [(figure.id, figure.title) for figure in shown][:_LINKS]
        cases = list(dict.fromkeys(case for case, _ in finding.evidence))
        named = (benchmarks.get(case, "") for case in cases)
        links += list(dict.fromkeys(sections[name] for name in named if name in sections))
        result.append(
            FindingLine(
                finding=finding,
                kind=_KINDS.get(finding.kind, finding.kind.replace("-", " ").capitalize()),
                runs=places,
                links=_SHOWN_ELSEWHERE.get(finding.kind, []) + links,
                cases=cases[:_CASES],
                more=len(cases) - len(cases[:_CASES]),
                picture=_picture(finding, ids, where, table),
            )
        )
    return result


def summary(lines: Sequence[FindingLine], found: Sequence[Headline]) -> str:
    """Return a run in a sentence: the most important finding that is no warning, or a headline figure."""
    told = [line.finding.headline for line in lines if line.finding.severity != "warning"]
    for headline in found:
        one = headline.values[0]
        told.append(f"{headline.title}: {format_value(one.median, one.unit)} on {counted(one.ranks, 'rank')}")
    return told[0] if told else ""


def good_first(lines: Sequence[FindingLine]) -> list[FindingLine]:
    """Return what was disturbed, then findings that are no warnings before those that are, by importance."""
    return sorted(lines, key=lambda line: (line.kind != _DISTURBED, line.finding.severity == "warning"))


def main_findings(lines: Sequence[FindingLine]) -> list[FindingLine]:
    """Return six findings for the front; what was disturbed is the first, for it concerns all.

    At most two others are warnings, the most important ones, after all others.
    """
    disturbed = [line for line in lines if line.kind == _DISTURBED]
    warnings = [line for line in lines if line.finding.severity == "warning" and line not in disturbed]
    others = [line for line in lines if line.finding.severity != "warning"]
    most = _MAIN - len(disturbed)
    kept = warnings[: max(_MAIN_WARNINGS, most - len(others))]
    return [*disturbed, *others[: most - len(kept)], *kept[:most]]


def _picture(
    finding: Finding,
    runs: Collection[str],
    where: Mapping[tuple[str, str], Figure],
    table: Sequence[Summary],
) -> Markup | None:
    """Return the sketch of the first curve of these runs with evidence that has enough points."""
    if finding.kind == "disturbed":
        return None  # of what was disturbed no curve is worth a look
    for key in finding.evidence:
        if (figure := where.get(key)) and figure.x in ("bytes", "ranks"):
            for panel in figure.panels:
                for trace in panel.traces:
                    points = [table[place] for place in trace.at]
                    here = any((point.case, point.metric) == key and point.run in runs for point in points)
                    if here and (picture := sketch(points, figure.x, finding.evidence)):
                        return picture
    return None


@dataclass(frozen=True, slots=True)
class Failure:
    """Cases without a result for the same reason."""

    outcome: str
    run: str
    phase: str
    reason: str
    cases: tuple[str, ...]


_SHOWN = 40


def failures(rows: Rows, names: Mapping[str, str]) -> Table:
    """Return the table of all cases without a result, by reason; `names` maps runs to labels."""
    groups: dict[tuple[str, str, str, str], dict[str, None]] = defaultdict(dict)
    for row in rows.without_result():
        if row.outcome != "ok":
            reason = row.phase or "unknown", row.reason or "no reason given"
            groups[row.outcome, names[row.run], *reason][row.case] = None
    found = [Failure(*key, tuple(cases)) for key, cases in sorted(groups.items())]
    columns: list[Column[Failure]] = [
        Column("outcome", lambda one: one.outcome),
        *run_column(names, lambda one: one.run),
        Column("phase", lambda one: one.phase),
        Column("reason", lambda one: one.reason, kind="wide"),
        Column("cases", lambda one: len(one.cases), "count"),
        Column("which", _which, kind="wide mono"),
    ]
    return tabled("Failed and skipped cases", columns, found)


def _which(failure: Failure) -> str:
    return ", ".join(failure.cases[:_SHOWN]) + (" and more" if len(failure.cases) > _SHOWN else "")


def unstable(summaries: Iterable[Summary], names: Mapping[str, str], most: int = 15) -> Table:
    """Return the table of the cases that differ most between launches, by time or else their first metric."""
    primary: dict[tuple[str, str], Summary] = {}
    for summary in summaries:
        key = summary.run, summary.case
        if summary.clock == "simulated":
            continue  # deterministic
        if summary.spread is not None and (summary.metric == "time" or key not in primary):
            primary[key] = summary
    found = sorted(primary.values(), key=lambda summary: -(summary.spread or 0))[:most]
    columns: list[Column[Summary]] = [
        Column("case", lambda one: one.case, kind="case"),
        *run_column(names, lambda one: names[one.run]),
        Column("spread", lambda one: one.spread, "share"),
        Column("within", lambda one: one.within, "share", absent="–"),
        Column("median", lambda one: Value(one.median, one.unit), side=">"),
        Column("lowest launch", lambda one: Value(min(one.launch_medians), one.unit), side=">"),
        Column("highest launch", lambda one: Value(max(one.launch_medians), one.unit), side=">"),
        Column("launches", lambda one: one.launches, "count"),
    ]
    title = f"The {len(found)} cases that differ most between launches"
    return tabled(title if len(found) > 1 else "Difference between launches", columns, found)


_STOPPED = {
    "target": "reached their target",
    "budget": "stopped at the time budget",
    "samples": "stopped at the maximum number of samples",
    "fixed": "had a fixed number of iterations",
    None: "gave no reason",
}


def convergence(rows: Rows, names: Mapping[str, str]) -> list[str]:
    """Return, for each run, the reasons why its measurements stopped."""
    stops = rows.stops()
    return [
        (f"{names[run]}: " if len(names) > 1 else "")
        + f"{counted(stops[run].total(), 'measurement')}: "
        + ", ".join(f"{number:,} {_STOPPED[why]}" for why, number in stops[run].most_common())
        for run in names
        if run in stops
    ]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The summaries of a benchmark: indices `first` to `last` of the page's table."""

    name: str
    first: int
    last: int
    words: str


def benchmarks(table: Iterable[Summary]) -> list[Benchmark]:
    """Return all benchmarks; `table` is sorted by benchmark."""
    found = []
    for name, group in groupby(enumerate(table), key=lambda entry: entry[1].benchmark):
        entries = list(group)
        cases = len({summary.case for _, summary in entries})
        words = f"{counted(cases, 'case')}, {counted(len(entries), 'value')}"
        found.append(Benchmark(name, entries[0][0], entries[-1][0], words))
    return found
