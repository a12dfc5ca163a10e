"""Rows as an aligned table, as CSV or as JSON."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

_BOLD, _DIM, _PLAIN = "\033[1m", "\033[2m", "\033[0m"


def print_table(alignment: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """`alignment` has a letter for each column, "<" for flush left and ">" for flush right."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    print(bold(_line(alignment, headings, widths)))
    for row in rows:
        print(_line(alignment, row, widths))


def _line(alignment: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    columns = zip(alignment, cells, widths, strict=True)
    return "  ".join(f"{cell:{side}{width}}" for side, cell, width in columns).rstrip()


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Lists and tables within a cell are JSON; what is unavailable is empty."""
    writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})


def print_json(value: object) -> None:
    print(json.dumps(value, indent=1, default=asdict, ensure_ascii=False))


def bold(text: str) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if coloured() else text


def dim(text: str) -> str:
    return f"{_DIM}{text}{_PLAIN}" if coloured() else text


def coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value
