"""`kiviat sql`: runs a query over the records of runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from operator import itemgetter
from typing import Any

from kiviat.cli.options.request import SqlRequest
from kiviat.cli.text.table import print_table
from kiviat.cli.text.warnings import print_warning, print_warnings
from kiviat.record.units import counted
from kiviat.report.table import Column, tabled
from kiviat.store import find_run, list_runs
from kiviat.store.ask import ask

_MOST_REMARKS = 5  # a query reads all runs, and many of them may have been interrupted


def execute(request: SqlRequest) -> int:
    """Run the query and print its rows, if it has any."""
    named = {run.resolve(): run for run in map(find_run, request.run or ())}  # a run named twice counts once
    runs = list(named.values()) if named else list_runs()
    remarks: list[str] = []
    names, rows = ask(runs, request.query, request.unsafe, remarks.append)
    print_warnings(remarks[:_MOST_REMARKS])
    if (others := len(remarks) - _MOST_REMARKS) > 0:
        print_warning(f"and {counted(others, 'more remark')}; `kiviat show` prints those of a run")
    if not names:
        return 0  # the statement returns no rows
    columns: list[Column[Sequence[Any]]] = [
        Column(name, itemgetter(place), key=key, absent="")
        for place, (name, key) in enumerate(zip(names, _unique(names), strict=True))
    ]
    print_table(tabled(request.query, columns, rows), request.format)
    return 0


def _unique(names: Sequence[str]) -> list[str]:
    """Return distinct column names; a second `name` becomes name_1, as in DuckDB's tables."""
    found: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in count(1))
        found.append(next(one for one in chain([name], others) if one not in found))
    return found
