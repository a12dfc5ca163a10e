"""`kiviat show`: prints the results of a run as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from kiviat.analysis.aggregate.known_errors import KnownErrors, in_words, kinds, known_errors
from kiviat.analysis.aggregate.summary import Summary, studies, summarise
from kiviat.analysis.aggregate.tables import grids
from kiviat.analysis.findings.all import findings
from kiviat.analysis.loggp import eager_words, fit_loggp, switch_where, switch_words
from kiviat.cli.options.files import names_profile, names_trace
from kiviat.cli.options.request import ShowRequest
from kiviat.cli.text import profile as show_profile
from kiviat.cli.text import trace as show_trace
from kiviat.cli.text.table import bold, dim, print_csv, print_json, print_table
from kiviat.cli.text.values import failures, interval, notes, order
from kiviat.cli.text.warnings import print_warnings
from kiviat.record import InputError
from kiviat.record.rows import Rows
from kiviat.record.run import Model, Run
from kiviat.record.traits import TraitsByName, traits_of
from kiviat.record.units import counted, format_value, three_digits
from kiviat.report.study.programs import programs, programs_table
from kiviat.report.table import Column, Content, Table, Value, tabled
from kiviat.store import find_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables


def execute(request: ShowRequest) -> int:
    """Print the results of a run, or the content of a profile or trace."""
    if names_profile(request.run):
        return show_profile.show(Path(request.run), request.format)
    if names_trace(request.run):
        return show_trace.show(Path(request.run), request.format)
    path = find_run(request.run)
    run, rows, warnings = load(path)
    print_warnings(warnings)
    rows = _chosen(rows, request.benchmarks)
    summaries = summarise(rows)
    if request.format == "csv":
        print_csv([asdict(summary) for summary in summaries])
    elif request.format == "json":
        print_json(summaries)
    else:
        print(bold(f"run {run.id}"), dim(_provenance(run)))
        if model := run.machine.model:
            print(_prediction(model))
        for finding in findings(summaries, [run]):
            if finding.kind == "disturbed":
                print(bold(f"{finding.headline}."), finding.detail)
        traits = traits_of([run.benchmarks])
        _print_programs(path, summaries, traits)
        _print_tables(summaries, request.percentiles, traits, known_errors(model) if model else None)
        for line in failures(rows, most=None):
            print(f"\n{line}")
    return 0


def _chosen(rows: Rows, benchmarks: Sequence[str]) -> Rows:
    held = {case.benchmark for case in rows.cases}
    for name in benchmarks:
        if name not in held:
            raise InputError(f"the run has no benchmark {name!r}; it has {', '.join(sorted(held)) or 'none'}")
    return rows.of_cases(lambda case: case.benchmark in benchmarks) if benchmarks else rows


def _provenance(run: Run) -> str:
    return ", ".join([run.machine.name, *run.mpis, run.created])


def _prediction(model: Model) -> str:
    uncalibrated = ", its network uncalibrated" if model.uncalibrated else ""
    return (
        f"simulated: predicted by the model {model.name}, version {model.version}, "
        f"hash {model.hash[:12]}{uncalibrated}"
    )


def _print_programs(path: Path, summaries: Sequence[Summary], traits: TraitsByName) -> None:
    """Print rate, share of communication and phases of programs, a line for each case, before all else."""
    if not any(traits[one.benchmark].phases for one in summaries):
        return
    sections = dict.fromkeys(traits[one.benchmark].section for one in summaries)
    tables = grids(load_tables(path))
    found = [
        one
        for section in sections
        for one in programs(summaries, tables, list({one.run for one in summaries}), traits, section)
    ]
    if not found:
        return
    print()
    print_table(programs_table(found, once=summaries[0].clock == "simulated"))


def _print_tables(
    summaries: Sequence[Summary], percentiles: bool, traits: TraitsByName, known: KnownErrors | None
) -> None:
    of_studies = studies(summaries, traits)
    by_table = groupby(sorted(summaries, key=order), key=lambda summary: order(summary)[:3])
    for (benchmark, ranks, axes), found in by_table:
        print(f"\n{bold(benchmark)} on {counted(ranks, 'rank')}{axes and ', '}{axes}")
        its = list(found)
        if benchmark in of_studies:
            print_table(_quantities(its, traits[benchmark].proofs))
        else:
            print_table(_sizes(its, percentiles))
        if known and (of := kinds(its)):
            print(dim(f"known errors: {in_words(known, of)}"))
        for line in _model(its) if benchmark == "pingpong" else ():
            print(dim(line))
        for name, words in dict.fromkeys(note for summary in its for note in summary.notes.items()):
            print(dim(f"{name}: {words}"))


def _model(summaries: Sequence[Summary]) -> list[str]:
    """Return switches and LogGP parameters, if lines fit; nothing for few sizes."""
    fitted = fit_loggp(summaries)
    if fitted is None:
        return []
    found = [f"switch {switch_where(switch)}: {switch_words(switch)}" for switch in fitted.switches]
    if fitted.poor:
        off = f"up to {100 * fitted.max_error:.0f} % off"
        return [*found, f"LogGP: not stated, because no lines fit the curve ({off})"]
    gap_per_byte = three_digits(1e12 * fitted.s_per_byte)
    parameters = (
        f"LogGP: L + 2o {format_value(fitted.latency_s, 's')}, G {gap_per_byte} ps/B, "
        f"eager limit {eager_words(fitted)}; lines up to {100 * fitted.max_error:.0f} % off"
    )
    return [*found, parameters]


def _quantities(summaries: Sequence[Summary], proofs: frozenset[str]) -> Table:
    """Return a table with a line for each size and quantity.

    A study has many quantities, and no single one matters most at every size. Rounding errors, `proofs`, get
    a check mark, because the check has compared them with their bound.
    """

    def value(summary: Summary) -> Value | str:
        if summary.metric in proofs and summary.checked:
            return f"✓ {format_value(summary.median, summary.unit)}"
        return Value(summary.median, summary.unit)

    sized = any(summary.bytes is not None for summary in summaries)
    once = summaries[0].clock == "simulated"
    size: Column[Summary] = Column("bytes", lambda summary: summary.bytes, "B", merged=True)
    launched: list[Column[Summary]] = [
        Column("95 % interval", lambda one: "" if one.metric in proofs else interval(one), side=">"),
        Column("launches", lambda summary: summary.launches, "number"),
    ]
    columns: list[Column[Summary]] = [
        *([size] if sized else []),
        Column("quantity", lambda summary: summary.metric.replace("_", " ")),
        Column("predicted" if once else "median", value, side=">"),
        *([] if once else launched),
        Column("", lambda summary: notes(summary, summary.sync)),
    ]
    return tabled("Quantities", columns, summaries)


def _sizes(summaries: Sequence[Summary], percentiles: bool) -> Table:
    """Return a table with a line for each size: the time with its interval, then medians of other metrics."""
    metrics = list(dict.fromkeys(summary.metric for summary in summaries))
    values = {(summary.bytes, summary.metric): summary for summary in summaries}
    first, *others = sorted(metrics, key=lambda metric: metric != "time")
    syncs = {summary.sync for summary in summaries}
    expected_sync = syncs.pop() if len(syncs) == 1 else None
    once = summaries[0].clock == "simulated"

    def of_metric(metric: str) -> Column[int | None]:
        def median(size: int | None) -> Value | None:
            one = values.get((size, metric))
            return Value(one.median, one.unit) if one else None

        return Column(metric.replace("_", " "), median, side=">", absent="")

    def of_first(heading: str, of: Callable[[Summary], Content], side: str = ">") -> Column[int | None]:
        def content(size: int | None) -> Content:
            one = values.get((size, first))
            return of(one) if one else ""

        return Column(heading, content, side=side)

    extra = {
        "p90": lambda one: Value(one.p90, one.unit),
        "p99": lambda one: Value(one.p99, one.unit),
    }
    columns: list[Column[int | None]] = [
        Column("bytes", lambda size: size, "B", absent="–"),
        of_metric(first),
        *([] if once else [of_first("95 % interval", interval)]),
        *([of_first(name, of) for name, of in extra.items()] if percentiles and not once else []),
        *map(of_metric, others),
        *([] if once else [of_first("launches", lambda one: str(one.launches))]),
        of_first("", lambda one: notes(one, expected_sync), "<"),
    ]
    return tabled("Sizes", columns, dict.fromkeys(summary.bytes for summary in summaries))
