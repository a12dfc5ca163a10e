"""Prints tables: aligned in columns for people, as CSV or JSON for programs."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from kiviat.cli.options.request import TableFormat
from kiviat.cli.visible import unfiltered, visible_cell
from kiviat.record.plain import json_value
from kiviat.report.table import Table

_BOLD, _DIM, _PLAIN = "\033[1m", "\033[2m", "\033[0m"
_GAP = "  "
_LEAST_WIDTH = 16  # of a column of text that is wrapped


def print_table(table: Table, form: TableFormat = "table") -> None:
    """Print a table for people, as wide as the terminal at most, or its rows as CSV or JSON."""
    if form != "table":
        print_rows(table.entries(), form, table.names())
        return
    heads, lines = table_lines(table, shutil.get_terminal_size().columns if sys.stdout.isatty() else None)
    for line in heads:
        print(bold(line))
    for line in lines:
        print(line)
    for note in table.notes:
        print(dim(note))


def table_lines(table: Table, width: int | None = None) -> tuple[list[str], list[str]]:
    """Return the lines of the headings and of the rows, at most `width` wide.

    Headings are wrapped first, then cells of text. If that is not enough, there are no heading lines, but a
    block for each row, with a line for each cell behind its heading.
    """
    columns = [table.columns[place] for place in table.shown]
    heads = [visible_cell(", ".join(filter(None, (one.group, one.heading)))) for one in columns]
    rows = [[visible_cell(cell) for cell in row] for row in table.texts()]
    cells = [max(map(len, column), default=0) for column in zip(*rows, strict=True)] or [0] * len(heads)
    widths = [max(len(head), cell) for head, cell in zip(heads, cells, strict=True)]
    if width is not None and _over(widths, width) > 0:
        words = [max(map(len, head.split()), default=0) for head in heads]
        widths = [max(pair) for pair in zip(words, cells, strict=True)]
        texts = [place for place, column in enumerate(columns) if not column.right]
        while (over := _over(widths, width)) > 0:
            widest = max(texts, key=lambda place: widths[place], default=0)
            if widths[widest] <= _LEAST_WIDTH or not texts:
                return [], _blocks(heads, rows)
            widths[widest] = max(_LEAST_WIDTH, widths[widest] - over)
    sides = [">" if column.right else "<" for column in columns]
    lines = [
        line
        for row, cells_of_row in zip(table.rows, rows, strict=True)
        for line in (*filter(None, [visible_cell(row.above)]), *_lines(cells_of_row, sides, widths))
    ]
    return _lines(heads, sides, widths), lines


def _over(widths: Sequence[int], width: int) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1) - width


def _lines(cells: Sequence[str], sides: Sequence[str], widths: Sequence[int]) -> list[str]:
    wrapped = [
        textwrap.wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    return [
        _GAP.join(
            f"{part:{side}{width}}" for part, side, width in zip(parts, sides, widths, strict=True)
        ).rstrip()
        for parts in zip_longest(*wrapped, fillvalue="")
    ]


def _blocks(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    indent = max(map(len, heads))
    return [
        line
        for row in rows
        for line in (*(f"{head:{indent}}  {cell}" for head, cell in zip(heads, row, strict=True) if cell), "")
    ]


def print_rows(rows: Sequence[Mapping[str, Any]], form: str, names: Sequence[str] = ()) -> None:
    """Print rows for programs; `form` is "csv" or "json", `names` are columns that CSV always has."""
    if form == "csv":
        print_csv(rows, names)
    else:
        print_json(rows)


def print_csv(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> None:
    """Print rows as CSV. Lists and tables within a cell are JSON; unavailable values are empty."""
    output = sys.stdout if sys.stdout.isatty() else unfiltered(sys.stdout)
    columns = list(dict.fromkeys([*names, *(key for row in rows for key in row)]))
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
