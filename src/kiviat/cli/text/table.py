"""Prints rows as an aligned table, as CSV or as JSON."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kiviat.cli.visible import unfiltered, visible_cell
from kiviat.record.plain import json_value

_BOLD, _DIM, _PLAIN = "\033[1m", "\033[2m", "\033[0m"


def print_table(alignment: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings. `alignment` has a letter per column: "<" flush left, ">" flush right."""
    lines = [[visible_cell(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(bold(_line(alignment, lines[0], widths)))
    for row in lines[1:]:
        print(_line(alignment, row, widths))


def _line(alignment: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    columns = zip(alignment, cells, widths, strict=True)
    return "  ".join(f"{cell:{side}{width}}" for side, cell, width in columns).rstrip()


def print_rows(rows: Sequence[Mapping[str, Any]], form: str) -> None:
    """Print rows for programs; `form` is "csv" or "json"."""
    if form == "csv":
        print_csv(rows)
    else:
        print_json(rows)


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as CSV. Lists and tables within a cell are JSON; unavailable values are empty."""
    output = sys.stdout if sys.stdout.isatty() else unfiltered(sys.stdout)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(output, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})


def print_json(value: object) -> None:
    """Print JSON; infinities and NaN become null."""
    print(json.dumps(json_value(value), indent=1, ensure_ascii=False, allow_nan=False))


def bold(text: str) -> str:
    """Return text in bold on a terminal with colours, unchanged elsewhere."""
    return f"{_BOLD}{text}{_PLAIN}" if _coloured() else text


def dim(text: str) -> str:
    """Return text in faint print on a terminal with colours, unchanged elsewhere."""
    return f"{_DIM}{text}{_PLAIN}" if _coloured() else text


def _coloured() -> bool:
    """True if standard output is a terminal that supports escapes, and NO_COLOR is unset or empty."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _cell(value: object) -> object:
    if isinstance(value, list | tuple | dict):
        return json.dumps(json_value(value))
    return None if isinstance(value, float) and not math.isfinite(value) else value
