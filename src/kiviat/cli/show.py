"""`kiviat show`: the results of a run as tables."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from kiviat.analysis.summary import Summary, summarise
from kiviat.cli.table import bold, dim, print_csv, print_json, print_table
from kiviat.cli.words import failures, interval, notes, order
from kiviat.record import InputError, Row
from kiviat.record.units import format_bytes, format_value
from kiviat.store import find_run
from kiviat.store.read import load


def execute(arguments: Namespace) -> int:
    run, rows, warnings = load(find_run(arguments.run))
    for warning in warnings:
        print(f"kiviat: {warning}", file=sys.stderr)
    rows = _chosen(rows, arguments.benchmarks)
    summaries = summarise(rows)
    if arguments.format == "csv":
        print_csv([asdict(summary) for summary in summaries])
    elif arguments.format == "json":
        print_json(summaries)
    else:
        print(bold(f"run {run['id']}"), dim(_provenance(run)))
        _print_tables(summaries)
        for line in failures(rows):
            print(f"\n{line}")
    return 0


def _chosen(rows: list[Row], benchmarks: Sequence[str]) -> list[Row]:
    held = {row.benchmark for row in rows}
    for name in benchmarks:
        if name not in held:
            raise InputError(f"the run has no benchmark {name!r}; it has {', '.join(sorted(held)) or 'none'}")
    return [row for row in rows if not benchmarks or row.benchmark in benchmarks]


def _provenance(run: Mapping[str, Any]) -> str:
    mpis = dict.fromkeys(
        f"{launch['mpi']} {launch['mpi_version']}" for launch in run["launches"] if launch["mpi"]
    )
    return ", ".join([run["machine"]["name"], *mpis, run["created"]])


def _print_tables(summaries: Sequence[Summary]) -> None:
    by_table = groupby(sorted(summaries, key=order), key=lambda summary: order(summary)[:3])
    for (benchmark, ranks, axes), found in by_table:
        print(f"\n{bold(benchmark)} on {ranks} ranks{axes and ', '}{axes}")
        _print_table(list(found))


def _print_table(summaries: Sequence[Summary]) -> None:
    """One line per size: the time with its interval, then the medians of the other metrics."""
    sizes = list(dict.fromkeys(summary.bytes for summary in summaries))
    metrics = list(dict.fromkeys(summary.metric for summary in summaries))
    values = {(summary.bytes, summary.metric): summary for summary in summaries}
    first, *others = sorted(metrics, key=lambda metric: metric != "time")
    syncs = {summary.sync for summary in summaries}
    expected_sync = syncs.pop() if len(syncs) == 1 else None
    lines = []
    for size in sizes:
        main = values.get((size, first))
        cells = [format_bytes(size) if size is not None else "–"]
        cells += [format_value(main.median, main.unit), interval(main)] if main else ["", ""]
        for metric in others:
            other = values.get((size, metric))
            cells.append(format_value(other.median, other.unit) if other else "")
        cells += [str(main.launches), notes(main, expected_sync)] if main else ["", ""]
        lines.append(cells)
    headings = [
        "bytes",
        first.replace("_", " "),
        "95 % interval",
        *(name.replace("_", " ") for name in others),
        "launches",
        "",
    ]
    print_table(">" * (len(headings) - 1) + "<", headings, lines)
