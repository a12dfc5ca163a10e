"""`kiviat compare`: whether run B is worse than run A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kiviat.analysis.compare import THRESHOLD, Change, Comparison
from kiviat.api.compare import ComparisonResult, compare
from kiviat.cli.options.request import CompareRequest
from kiviat.cli.text.table import bold, print_csv, print_json, print_table
from kiviat.cli.text.values import order
from kiviat.cli.text.warnings import print_warning
from kiviat.record import InputError
from kiviat.record.units import counted
from kiviat.report.table import Column, Interval, Value, tabled


def execute(request: CompareRequest) -> int:
    """Print the comparison. Return 0: nothing is worse; 1: something is; 2: no verdict, or B lost cases."""
    threshold = THRESHOLD if request.threshold is None else request.threshold / 100
    if request.threshold is not None and not 0 <= request.threshold <= 100:
        raise InputError(f"--threshold is {request.threshold:g}; give percent from 0 to 100, such as 2")
    result = compare(request.a, request.b, metric=request.metric, threshold=threshold, tell=print_warning)
    if request.format == "csv":
        print_csv(result.rows())
    elif request.format == "json":
        details, rows = result.details, result.rows()
        verdict = {"verdict": result.verdict, "lost": list(details.lost)}
        cases = [row for row in rows if row["group"] is None]
        groups = [row for row in rows if row["group"] is not None]
        print_json({"a": details.a, "b": details.b, **verdict, "cases": cases, "groups": groups})
    else:
        _print(result)
    return result.details.exit_code


def _print(compared: ComparisonResult) -> None:
    result = compared.details
    for side, run in (("A", compared.a), ("B", compared.b)):
        print(", ".join((f"{side}: {bold(run.id)}", run.about.machine.name, *run.about.mpis)))
    print(
        "ratio: median of B/A over all pairs of launches; "
        f"changes within ± {100 * result.threshold:g} % do not matter\n"
    )
    print_table(tabled("Cases", _COLUMNS, _lines(result)))
    for name, only in (("A", result.only_a), ("B", result.only_b)):
        if only:
            print(f"\nonly in {name}: {_some(only)}")
    print(f"\n{bold(compared.conclusion)}")


@dataclass(frozen=True, slots=True)
class _Line:
    """A case, or a group of cases without values of its own."""

    name: str
    a: Value | str
    b: Value | str
    change: Change


_COLUMNS: tuple[Column[_Line], ...] = (
    Column("case", lambda line: line.name),
    Column("A", lambda line: line.a, side=">"),
    Column("B", lambda line: line.b, side=">"),
    Column("ratio", lambda line: line.change.ratio, "ratio", absent=""),
    Column(
        "95 % interval",
        lambda line: Interval(line.change.low, line.change.high, "ratio"),
        side=">",
        absent="",
    ),
    Column("verdict", lambda line: _verdict(line.change)),
)


def _lines(result: Comparison) -> list[_Line]:
    cases = [
        _Line(
            entry.case,
            Value(entry.a.median, entry.a.unit),
            Value(entry.b.median, entry.b.unit),
            entry.change,
        )
        for entry in sorted(result.cases, key=lambda entry: order(entry.a))
    ]
    groups = [
        _Line(f"{group.name}, {counted(group.cases, 'case')}", "", "", group.change)
        for group in result.groups
    ]
    return cases + groups


def _verdict(change: Change) -> str:
    doubtful = change.verdict in ("better", "worse") and not change.survives
    words = [change.verdict + (" (perhaps by chance: one of many)" if doubtful else ""), change.note]
    return ": ".join(word for word in words if word)


def _some(cases: Sequence[str], most: int = 3) -> str:
    more = f" and {len(cases) - most} more" if len(cases) > most else ""
    return ", ".join(cases[:most]) + more
