"""Tables of pages and notebooks as HTML. All data are escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from kiviat.report.html.figure import RunLabel
from kiviat.report.table import FORMS, Cell, Column, Content, Interval, Plain, Table, Value, text_of

_NOTHING = Markup("")


def table_html(table: Table, *, captioned: bool = False) -> Markup:
    """Return a table that scrolls if nothing else helps; `captioned`: with its title above it.

    Of a table without rows only the notes are left.
    """
    if table.notes and not table.rows:
        title = Markup("<b>{}.</b> ").format(table.title) if captioned else _NOTHING
        return Markup("<p>{}{}</p>").format(title, " ".join(table.notes))
    caption = Markup("<caption>{}</caption>").format(table.title) if captioned else _NOTHING
    return Markup('<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>{}').format(
        table.title, _element(table, caption, _capital), _notes(table)
    )


def bare_table_html(table: Table) -> Markup:
    """Return a table without its place on a page; headings are exactly as given."""
    return _element(table, _NOTHING, str) + _notes(table)


def _element(table: Table, caption: Markup, write: Callable[[str], str]) -> Markup:
    head = _head([table.columns[place] for place in table.shown], write)
    return Markup("<table{}>{}{}{}</table>").format(_classes(table.kind), caption, head, _body(table))


def _notes(table: Table) -> Markup:
    return _joined(Markup('<p class="small">{}</p>').format(note) for note in table.notes)


def _joined(parts: Iterator[Markup]) -> Markup:
    return _NOTHING.join(parts)


def _classes(*words: str) -> Markup:
    known = " ".join(filter(None, words))
    return Markup(' class="{}"').format(known) if known else _NOTHING


def _style(swatch: str, shade: int | None = None) -> Markup:
    known = [f"--swatch: var(--{swatch})"] if swatch else []
    known += [] if shade is None else [f"--heat: {shade}%"]
    return Markup(' style="{}"').format("; ".join(known)) if known else _NOTHING


def _hover(words: str) -> Markup:
    return Markup(' title="{}"').format(words) if words else _NOTHING


def _capital(text: str) -> str:
    return text if "_" in text else text[:1].upper() + text[1:]  # b_eff is a name


def _head(columns: Sequence[Column[Any]], write: Callable[[str], str]) -> Markup:
    """Return the head: one line, or two if headings are in groups."""
    upper, lower = [], []
    for group, found in groupby(columns, key=lambda column: column.group):
        its = list(found)
        heads = [
            _heading(column, 2 if not group and any(one.group for one in columns) else 1, write)
            for column in its
        ]
        if group:
            upper.append(
                Markup('<th scope="colgroup" colspan="{}"{}>{}</th>').format(
                    len(its), _classes("n" if its[0].right else ""), write(group)
                )
            )
            lower += heads
        else:
            upper += heads
    lines = [upper, *([lower] if lower else [])]
    return Markup("<thead>{}</thead>").format(
        _joined(Markup("<tr>{}</tr>").format(_NOTHING.join(line)) for line in lines)
    )


def _heading(column: Column[Any], rows: int, write: Callable[[str], str]) -> Markup:
    return Markup('<th scope="col"{}{}{}{}>{}{}</th>').format(
        Markup(' rowspan="{}"').format(rows) if rows > 1 else _NOTHING,
        _classes("n" if column.right else "", column.kind),
        _hover(column.hover),
        _style(column.swatch),
        _swatch(column.swatch),
        column.heading if column.swatch else write(column.heading or ""),  # names stay as they are
    )


def _swatch(colour: str) -> Markup:
    return Markup('<i class="swatch"></i>') if colour else _NOTHING


def _body(table: Table) -> Markup:
    """Return the rows; the first cell of each is its heading, equal cells of merged columns are one."""
    parts: list[list[Markup]] = [[]]
    for number, row in enumerate(table.rows):
        if row.above:
            head = Markup('<tr class="part"><th scope="rowgroup" colspan="{}"><span>{}</span></th></tr>')
            parts.append([head.format(len(table.shown), row.above)])
        cells = []
        for place in table.shown:
            column, cell = table.columns[place], row.cells[place]
            if table.repeats(number, place):
                continue
            span = 1
            while number + span < len(table.rows) and table.repeats(number + span, place):
                span += 1
            cells.append(_cell(cell, column, span, first=place == table.shown[0]))
        parts[-1].append(Markup("<tr{}>{}</tr>").format(_classes(row.kind), _NOTHING.join(cells)))
    bodies = [part for part in parts if part] or parts
    return _joined(Markup("<tbody>{}</tbody>").format(Markup("\n").join(lines)) for lines in bodies)


def _cell(content: Content, column: Column[Any], span: int, first: bool) -> Markup:
    cell = content if isinstance(content, Cell) else Cell(content)  # type: ignore[arg-type]
    below = (cell.below,) if isinstance(cell.below, str) else cell.below
    name = "th" if first else "td"
    words = escape(text_of(content, column))
    return Markup("<{}{}{}{}{}{}{}>{}{}{}</{}>").format(
        name,
        Markup(' scope="{}"').format("rowgroup" if span > 1 else "row") if first else _NOTHING,
        Markup(' rowspan="{}"').format(span) if span > 1 else _NOTHING,
        _classes("n" if column.right else "", column.kind, cell.kind, "" if cell.shade is None else "heat"),
        _numbers(cell.value, column.unit),
        _hover(cell.hover),
        _style(cell.swatch, cell.shade),
        Markup("<span>{}{}</span>").format(_swatch(cell.swatch), words) if cell.swatch else words,
        cell.drawing or _NOTHING,
        _joined(Markup('<span class="below">{}</span>').format(words) for words in below if words),
        name,
    )


def _numbers(value: Plain, unit: str) -> Markup:
    """Return the numbers of a cell, for copies of the table; bare numbers have `unit`."""
    match value:
        case Value():
            known, unit = {"value": value.number}, value.unit
        case Interval():
            known, unit = {"low": value.low, "high": value.high}, value.unit
        case int() | float() if unit:
            known = {"value": value}
        case _:
            return _NOTHING
    data = {name: repr(number) for name, number in known.items() if number is not None}
    if data and unit not in (*FORMS, "1"):
        data["unit"] = unit
    return _joined(Markup(' data-{}="{}"').format(*one) for one in data.items())


def run_cell(label: RunLabel) -> Cell:
    """Return a cell that names a run, with its colour."""
    return Cell(label.label, swatch=label.swatch)
