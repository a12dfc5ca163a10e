"""`kiviat compare`: whether run B is worse than run A."""

from __future__ import annotations

from collections.abc import Sequence

from kiviat.analysis.compare import THRESHOLD, Change
from kiviat.api.compare import ComparisonResult, compare
from kiviat.api.runs import Runs, read_one
from kiviat.cli.options.request import CompareRequest
from kiviat.cli.text.table import bold, print_csv, print_json, print_table
from kiviat.cli.text.values import order, print_warnings
from kiviat.record.units import counted, format_value


def execute(request: CompareRequest) -> int:
    """Print the comparison. Return 0 if nothing is worse, 1 if something is, 2 without any verdict."""
    threshold = THRESHOLD if request.threshold is None else request.threshold / 100
    runs = [read_one(name) for name in (request.a, request.b)]
    print_warnings(Runs(runs))
    result = compare(*runs, metric=request.metric, threshold=threshold)
    if request.format == "csv":
        print_csv(result.rows())
    elif request.format == "json":
        details = result.details
        print_json({"a": details.a, "b": details.b, "verdict": result.verdict, "cases": result.rows()})
    else:
        _print(result)
    return result.details.exit_code


def _print(compared: ComparisonResult) -> None:
    result = compared.details
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
    print(f"\n{bold(compared.conclusion)}")


def _cells(change: Change) -> list[str]:
    interval = "" if change.low is None else f"{change.low:.3f} – {change.high:.3f}"
    doubtful = change.verdict in ("better", "worse") and not change.survives
    words = [change.verdict + (" (one of many)" if doubtful else ""), change.note]
    ratio = "" if change.ratio is None else f"{change.ratio:.3f}"
    return [ratio, interval, ": ".join(word for word in words if word)]


def _some(cases: Sequence[str], most: int = 3) -> str:
    more = f" and {len(cases) - most} more" if len(cases) > most else ""
    return ", ".join(cases[:most]) + more
