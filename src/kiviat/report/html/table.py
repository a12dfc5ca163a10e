"""Tables of pages and notebooks as HTML. All data are escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from kiviat.report.html.figure import RunLabel
from kiviat.report.table import Cell, Column, Content, Table, text_of

_NOTHING = Markup("")


def table_html(table: Table, *, captioned: bool = False) -> Markup:
    """Return a table that scrolls if nothing else helps; `captioned`: with its title above it."""
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table{}>{}{}{}</table></div>{}'
    ).format(
        table.title,
        _classes(table.kind),
        Markup("<caption>{}</caption>").format(table.title) if captioned else _NOTHING,
        _head([table.columns[place] for place in table.shown]),
        _body(table),
        _joined(Markup('<p class="small">{}</p>').format(note) for note in table.notes),
    )


def _joined(parts: Iterator[Markup]) -> Markup:
    return _NOTHING.join(parts)


def _classes(*words: str) -> Markup:
    known = " ".join(filter(None, words))
    return Markup(' class="{}"').format(known) if known else _NOTHING


def _style(swatch: str) -> Markup:
    return Markup(' style="--swatch: var(--{})"').format(swatch) if swatch else _NOTHING


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _head(columns: Sequence[Column[Any]]) -> Markup:
    """Return the head: one line, or two if headings are in groups."""
    upper, lower = [], []
    for group, found in groupby(columns, key=lambda column: column.group):
        its = list(found)
        heads = [
            _heading(column, 2 if not group and any(one.group for one in columns) else 1) for column in its
        ]
        if group:
            upper.append(
                Markup('<th scope="colgroup" colspan="{}"{}>{}</th>').format(
                    len(its), _classes("n" if its[0].right else ""), _capital(group)
                )
            )
            lower += heads
        else:
            upper += heads
    lines = [upper, *([lower] if lower else [])]
    return Markup("<thead>{}</thead>").format(
        _joined(Markup("<tr>{}</tr>").format(_NOTHING.join(line)) for line in lines)
    )


def _heading(column: Column[Any], rows: int) -> Markup:
    return Markup('<th scope="col"{}{}{}>{}{}</th>').format(
        Markup(' rowspan="{}"').format(rows) if rows > 1 else _NOTHING,
        _classes("n" if column.right else "", column.kind),
        _style(column.swatch),
        _swatch(column.swatch),
        _capital(column.heading or ""),
    )


def _swatch(colour: str) -> Markup:
    return Markup('<i class="swatch"></i>') if colour else _NOTHING


def _body(table: Table) -> Markup:
    """Return the rows; the first cell of each is its heading, equal cells of merged columns are one."""
    lines = []
    for number, row in enumerate(table.rows):
        cells = []
        for place in table.shown:
            column, cell = table.columns[place], row.cells[place]
            if table.repeats(number, place):
                continue
            span = 1
            while number + span < len(table.rows) and table.repeats(number + span, place):
                span += 1
            cells.append(_cell(cell, column, span, first=place == table.shown[0]))
        lines.append(Markup("<tr{}>{}</tr>").format(_classes(row.kind), _NOTHING.join(cells)))
    return Markup("<tbody>{}</tbody>").format(Markup("\n").join(lines))


def _cell(content: Content, column: Column[Any], span: int, first: bool) -> Markup:
    cell = content if isinstance(content, Cell) else Cell(content)  # type: ignore[arg-type]
    below = (cell.below,) if isinstance(cell.below, str) else cell.below
    name = "th" if first else "td"
    return Markup("<{}{}{}{}{}{}>{}{}{}{}</{}>").format(
        name,
        Markup(' scope="{}"').format("rowgroup" if span > 1 else "row") if first else _NOTHING,
        Markup(' rowspan="{}"').format(span) if span > 1 else _NOTHING,
        _classes("n" if column.right else "", column.kind, cell.kind),
        Markup(' title="{}"').format(cell.hover) if cell.hover else _NOTHING,
        _style(cell.swatch),
        _swatch(cell.swatch),
        escape(text_of(content, column)),
        cell.drawing or _NOTHING,
        _joined(Markup('<span class="below">{}</span>').format(words) for words in below if words),
        name,
    )


def run_cell(label: RunLabel) -> Cell:
    """Return a cell that names a run, with its colour."""
    return Cell(label.label, swatch=label.swatch)
