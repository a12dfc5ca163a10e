"""Renders the report about runs as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kiviat.analysis.aggregate.known_errors import error_text, kind_of, known_errors
from kiviat.analysis.aggregate.nodes import Nodes, nodes_of
from kiviat.analysis.aggregate.summary import Summary, studies, summarise
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.all import Finding, findings
from kiviat.analysis.findings.machines import Machine, findings_across
from kiviat.analysis.loggp import fit_loggp
from kiviat.analysis.published.standing import standing
from kiviat.record import Row
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.traits import traits_of
from kiviat.record.units import UNAVAILABLE
from kiviat.report.facts import runs as described
from kiviat.report.facts.simulated_machines import modelled
from kiviat.report.html.figure import Figure, RunLabel, simulated_in
from kiviat.report.html.shell import page
from kiviat.report.run import tables
from kiviat.report.run.figures import SECTIONS, figures, launch_figure, single_numbers
from kiviat.report.run.front import Verdict, front, headline_verdict
from kiviat.report.run.message_models import message_tables, models, with_model
from kiviat.report.study.sections import study_sections

# With more summaries the page omits some metrics, to stay below 8 MB.
MAX_SUMMARIES = 25_000
LEFT_OUT = ("time_rank_mean", "time_rank_min", "time_compute", "time_overlapped")

_MOST_DISTRIBUTIONS = 6  # of launches and samples

_ALONE = ("time-in-messages", "hpl")  # findings that tables of several runs show at once

_SECTION_TEXTS = {
    "pt2pt": (
        "Point to point",
        "Curves are medians over launches, bands their 95 % intervals. Axes are logarithmic.",
    ),
    "onesided": (
        "One-sided communication",
        "Half of the ranks write to, read from or accumulate in the memory of the other half.",
    ),
    "collective": (
        "Collectives",
        "Time from the first rank’s entry to the last rank’s exit, against size and against ranks. IMB and "
        "OSU report the mean time of a rank in the call instead: time_rank_mean in the table of all cases.",
    ),
    "rate": ("Message rate", "Messages per second over all pairs, with a window of messages in flight."),
    "overlap": (
        "Overlap of non-blocking collectives",
        "The share of communication hidden behind computation, and the time of communication alone.",
    ),
}


def render(runs: Sequence[Run], rows: Iterable[Row], grids: Sequence[Grid] = ()) -> str:
    """Return the page as HTML; `rows` are the rows of the runs' records, `grids` the tables of studies."""
    rows = Rows.of(rows)
    summaries = summarise(rows)
    left_out = LEFT_OUT if len(summaries) > MAX_SUMMARIES else ()
    summaries = [summary for summary in summaries if summary.metric not in left_out]
    table = sorted(summaries, key=_order)
    labels, traits = described.labels(runs), traits_of(run.benchmarks for run in runs)
    names = {label.run: label.label for label in labels}
    by_run = {run: [summary for summary in table if summary.run == run] for run in names}
    headlines = tables.headlines(by_run, traits)
    fitted, model_figures = models(by_run, labels)
    measured = {
        headline.title: own
        for headline in headlines
        if (own := {at: summary for at, summary in headline.values.items() if summary.clock != "simulated"})
    }
    shown_launches = dict(list(measured.items())[:_MOST_DISTRIBUTIONS])
    repeated = any(summary.launches > 1 for own in shown_launches.values() for summary in own.values())
    stability_figures = [launch_figure(shown_launches, rows, labels)] if repeated else []
    unstable = tables.unstable(table, names)
    simulated = simulated_in(labels)
    machines = modelled(runs, labels)
    drawn = [
        _with_model(figure, table, runs, by_run)
        for figure in figures(table, labels, traits, without=studies(table, traits), nodes_of=_nodes(runs))
    ]
    studied = study_sections(runs, table, by_run, grids, labels, traits)
    told = tables.told(_findings(runs, rows, by_run, grids), table, drawn, studied, runs)
    failures = tables.failures(rows, names)
    shown = front(runs, by_run, labels)
    known_error = _errors(runs)
    singles = single_numbers(table, drawn, traits)
    across = findings_across(
        [Machine(label.label, [run], by_run[run.id], {}) for run, label in zip(runs, labels, strict=True)],
        traits,
    )
    sections = [
        (name, *_SECTION_TEXTS[name], of_section, singles.get(name, []))
        for name in SECTIONS
        if (of_section := [figure for figure in drawn if figure.section == name]) or name in singles
    ]
    shared = _shared(runs)
    charts = [
        *drawn,
        *model_figures,
        *stability_figures,
        *(figure for section in studied for figure in section.figures),
    ]
    return page(
        "report.html.j2",
        labels,
        charts,
        table=table,
        columns=columns(table, labels),
        styles=("balance.css",),
        filters={
            "conditions": tables.conditions,
            "interval": lambda summary: tables.interval(summary, known_error),
        },
        title=described.title(runs),
        names=names,
        shared=shared,
        runs=[
            {
                "label": label.label,
                "facts": [fact for fact in described.facts(run) if fact not in shared["facts"]],
                "badges": [badge for badge in described.badges(run) if badge not in shared["badges"]],
                "origin": described.origin(run),
                "launches": described.launch_groups(run),
            }
            for run, label in zip(runs, labels, strict=True)
        ],
        contents=[
            *([("standing", "Overview")] if shown else []),
            *([("numbers", "Figures")] if headlines else []),
            *([("findings", "Findings")] if told else []),
            *([("side-by-side", "Side by side")] if across else []),
            *((name, title.split(" of ")[0].removesuffix(" communication")) for name, title, *_ in sections),
            *((section.id, section.short) for section in studied),
            *([("modelled", "Model")] if machines else []),
            *([("transport", "Transport")] if simulated != "all" else []),
            *([("model", "LogGP")] if fitted else []),
            *([("stability", "Stability")] if unstable.rows else []),
            *([("missing", "Missing")] if failures.rows else []),
            ("cases", "All cases"),
            ("provenance", "Provenance"),
        ],
        summary=tables.summary(told, headlines) if len(runs) == 1 else across[0].headline if across else "",
        front=shown,
        reported={label.clock for label in labels} == {"reported"},
        main_findings=tables.main_findings(told),
        findings=tables.good_first(told),
        across=across,
        verdicts=_verdicts(runs, by_run, headlines),
        headlines=headlines,
        has_intervals=any(one.low is not None for each in headlines for one in each.values.values()),
        headlines_table=tables.headlines_table(headlines, labels, known_error),
        modelled=machines,
        simulated=simulated,
        left_out=left_out,
        models=fitted,
        message_tables=message_tables(fitted) if fitted else {},
        model_figures=model_figures,
        stability_figures=stability_figures,
        transports=described.transports(runs, names),
        fell_back=any(launch.transport.fallback_to_tcp for run in runs for launch in run.launches),
        sections=sections,
        studies=studied,
        convergence=tables.convergence(rows, names),
        unstable=unstable,
        failures=failures,
        has_percentiles=any(summary.p99 is not None for summary in table),
        has_collectives=any(summary.metric == "time_rank_max" for summary in table),
        benchmarks=tables.benchmarks(table),
    )


def _nodes(runs: Sequence[Run]) -> Callable[[str, int], Nodes | None]:
    """Return a function from a run and a number of ranks to the nodes of the first ranks."""
    by_id = {run.id: run for run in runs}
    return lambda run, ranks: nodes_of(by_id[run], ranks)


def _shared(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """Return the facts and the badges that all of several runs have."""
    if len(runs) < 2:
        return {"facts": [], "badges": []}
    first, *others = runs
    return {
        "facts": [
            one for one in described.facts(first) if all(one in described.facts(run) for run in others)
        ],
        "badges": [
            one for one in described.badges(first) if all(one in described.badges(run) for run in others)
        ],
    }


def _findings(
    runs: Sequence[Run],
    rows: Rows,
    by_run: Mapping[str, Sequence[Summary]],
    grids: Sequence[Grid],
) -> list[tuple[tuple[int, ...], Finding]]:
    """Return the findings with the indices of the runs that they are about, the most important first.

    What is said of several runs in the same words is one finding.
    """
    missing = rows.without_result()
    found: dict[Finding, list[int]] = {}
    for place, run in enumerate(runs):
        own = [row for row in missing if row.run == run.id]
        for finding in findings(by_run[run.id], [run], own, grids):
            if len(runs) == 1 or finding.kind not in _ALONE:
                found.setdefault(finding, []).append(place)
    return sorted(
        ((tuple(places), finding) for finding, places in found.items()),
        key=lambda entry: (entry[1].kind != "disturbed", -entry[1].importance),
    )


def _errors(runs: Sequence[Run]) -> Callable[[Summary], str]:
    """Return a function from a prediction to the known error of its model on that kind of quantity."""
    known = {run.id: known_errors(model) for run in runs if (model := run.machine.model)}

    def text(summary: Summary) -> str:
        kind = kind_of(summary.benchmark, summary.metric, summary.ranks, summary.bytes)
        of_run = known.get(summary.run)
        return error_text(of_run, kind).replace(" %", "\N{NO-BREAK SPACE}%") if of_run else UNAVAILABLE

    return text


def _verdicts(
    runs: Sequence[Run], by_run: Mapping[str, Sequence[Summary]], headlines: Sequence[tables.Headline]
) -> dict[str, Verdict]:
    """Return the judgements of the headline figures of a single run, by title."""
    if len(runs) != 1:
        return {}
    run = runs[0]
    own = standing(run, by_run[run.id])
    found = {headline.title: headline_verdict(run, own, headline.values[0]) for headline in headlines}
    return {title: verdict for title, verdict in found.items() if verdict}


def _with_model(
    figure: Figure, table: Sequence[Summary], runs: Sequence[Run], by_run: Mapping[str, Sequence[Summary]]
) -> Figure:
    """Return the chart with the LogGP model, if it is a ping-pong's of a single run."""
    first = table[figure.panels[0].traces[0].at[0]]
    if len(runs) > 1 or first.benchmark != "pingpong" or figure.x != "bytes":
        return figure
    fitted = fit_loggp(by_run[runs[0].id]) if first.metric in ("time", "bandwidth") else None
    simulated = first.clock == "simulated"
    return with_model(figure, fitted, runs[0].machine.caches, simulated) if fitted else figure


def _order(summary: Summary) -> tuple[Any, ...]:
    axes = sorted((key, str(value)) for key, value in summary.axes.items())
    size = -1 if summary.bytes is None else summary.bytes
    return summary.benchmark, summary.ranks, axes, size, summary.metric, summary.run


_DIGITS = {"median": 5, "low": 5, "high": 5, "minimum": 5, "p99": 4, "spread": 2}


def columns(table: Sequence[Summary], labels: Sequence[RunLabel]) -> dict[str, Any]:
    """Return the summaries column by column, the only values in the page."""
    runs = {label.run: place for place, label in enumerate(labels)}
    cases = {case: place for place, case in enumerate(dict.fromkeys(summary.case for summary in table))}
    metrics = dict.fromkeys((summary.metric, summary.unit) for summary in table)
    metric_places = {metric: place for place, metric in enumerate(metrics)}
    return {
        "cases": list(cases),
        "metrics": list(metrics),
        "case": [cases[summary.case] for summary in table],
        "metric": [metric_places[summary.metric, summary.unit] for summary in table],
        "run": [runs[summary.run] for summary in table],
        "flags": [
            (not summary.converged) + 2 * summary.oversubscribed + 4 * bool(summary.disturbed)
            for summary in table
        ],
        **{
            name: [getattr(summary, name) for summary in table]
            for name in ("bytes", "ranks", "launches", "samples")
        },
        **{
            name: [_rounded(getattr(summary, name), digits) for summary in table]
            for name, digits in _DIGITS.items()
        },
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else float(f"{value:.{digits - 1}e}")
