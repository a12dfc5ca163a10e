"""`kiviat compare`: whether run B is worse than run A."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.analysis.compare import THRESHOLD, Change, Comparison, compare
from kiviat.cli.options.request import CompareRequest
from kiviat.cli.text.table import bold, print_csv, print_json, print_table
from kiviat.cli.text.values import order
from kiviat.record import InputError
from kiviat.record.units import counted, format_value
from kiviat.store import find_run
from kiviat.store.read import load


def execute(request: CompareRequest) -> int:
    """Print the comparison. Return 0 if nothing is worse, 1 if something is, 2 without any verdict."""
    threshold = THRESHOLD if request.threshold is None else request.threshold / 100
    result = compare(_summaries(request.a), _summaries(request.b), metric=request.metric, threshold=threshold)
    if request.format == "csv":
        print_csv(_flat(result))
    elif request.format == "json":
        print_json({"a": result.a, "b": result.b, "verdict": result.verdict, "cases": _flat(result)})
    else:
        _print(result)
    return result.exit_code


def _summaries(name: str) -> list[Summary]:
    run, rows, warnings = load(find_run(name))
    for warning in warnings:
        print(f"kiviat: {warning}", file=sys.stderr)
    summaries = summarise(rows)
    if not summaries:
        raise InputError(f"run {run.id} has no results to compare; see `kiviat show {run.id}`")
    return summaries


def _print(result: Comparison) -> None:
    print(
        f"{bold(result.b)} judged by {bold(result.a)}; ratios are B/A, "
        f"changes within ± {result.threshold:.0%} do not matter\n"
    )
    rows = [
        [
            entry.case,
            format_value(entry.a.median, entry.a.unit),
            format_value(entry.b.median, entry.b.unit),
            *_cells(entry.change),
        ]
        for entry in sorted(result.cases, key=lambda entry: order(entry.a))
    ]
    rows += [
        [f"{group.name}, {counted(group.cases, 'case')}", "", "", *_cells(group.change)]
        for group in result.groups
    ]
    print_table("<>>>><", ["case", "A", "B", "ratio", "95 % interval", "verdict"], rows)
    for name, only in (("A", result.only_a), ("B", result.only_b)):
        if only:
            print(f"\nonly in {name}: {_some(only)}")
    print(f"\n{bold(_conclusion(result))}")


def _cells(change: Change) -> list[str]:
    interval = "" if change.low is None else f"{change.low:.3f} – {change.high:.3f}"
    doubtful = change.verdict in ("better", "worse") and not change.survives
    words = [change.verdict + (" (one of many)" if doubtful else ""), change.note]
    ratio = "" if change.ratio is None else f"{change.ratio:.3f}"
    return [ratio, interval, ": ".join(word for word in words if word)]


def _some(cases: Sequence[str], most: int = 3) -> str:
    more = f" and {len(cases) - most} more" if len(cases) > most else ""
    return ", ".join(cases[:most]) + more


def _conclusion(result: Comparison) -> str:
    if result.verdict == "no verdict":
        return "no verdict: " + (result.cases[0].change.note or "no case had what one needs")
    return {
        "worse": "worse: what is marked worse above is no accident of many comparisons",
        "better": "better, and nothing is worse",
        "no difference": "no difference that is more than an accident of many comparisons",
    }[result.verdict]


def _flat(result: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "case": entry.case,
            "metric": entry.a.metric,
            "unit": entry.a.unit,
            "a": entry.a.median,
            "b": entry.b.median,
            **{name: getattr(entry.change, name) for name in Change.__slots__},
        }
        for entry in result.cases
    ]
