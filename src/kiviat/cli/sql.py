"""`kiviat sql`: a query over the records of runs."""

from __future__ import annotations

from argparse import Namespace

from kiviat.cli.table import print_csv, print_json, print_table
from kiviat.record import InputError
from kiviat.store import find_run, list_runs
from kiviat.store.query import connect


def execute(arguments: Namespace) -> int:
    runs = [find_run(name) for name in arguments.run] if arguments.run else list_runs()
    with connect(runs) as connection:
        result = connection.execute(arguments.query)
        if result.description is None:
            raise InputError("the query has no result; ask with select")
        names = [column[0] for column in result.description]
        rows = result.fetchall()
    if arguments.format == "table":
        cells = [["" if value is None else str(value) for value in row] for row in rows]
        print_table("<" * len(names), names, cells)
        return 0
    dictionaries = [dict(zip(names, row, strict=True)) for row in rows]
    (print_csv if arguments.format == "csv" else print_json)(dictionaries)
    return 0
