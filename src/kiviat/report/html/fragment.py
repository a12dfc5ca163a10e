"""Fragments of HTML that notebooks show. All data are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from markupsafe import escape

from kiviat.report.html.table import bare_table_html
from kiviat.report.table import Column, Value, tabled

_MOST_ROWS = 20


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], total: int | None = None) -> str:
    """Return a table of the first rows; `total` is the number of all, if `rows` are not all."""
    shown = rows[:_MOST_ROWS]
    count = len(rows) if total is None else total
    notes = [f"{len(shown)} of {count} rows"] if count > len(shown) else []
    named = [Column(name, partial(_cell, at)) for at, name in enumerate(columns)]
    return str(bare_table_html(tabled("", named, shown, notes=notes)))


def _cell(at: int, row: Sequence[object]) -> str | Value | None:
    value = row[at]
    if isinstance(value, float):
        return Value(value, "1")
    return None if value is None else str(value)


def heading(title: str, *remarks: str) -> str:
    """Return a title in bold, followed by remarks."""
    words = escape(", ".join(filter(None, remarks)))
    return f"<p><b>{escape(title)}</b>{' ' if words else ''}{words}</p>"


def items(texts: Sequence[str]) -> str:
    """Return a list of sentences; nothing without any."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""
