"""The model of all tables: columns, and rows of typed cells.

cli/text/table.py prints tables for people and programs, report/html/table.py puts them on pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, TypeAlias, TypeVar

from markupsafe import Markup

from kiviat.record.units import UNAVAILABLE, format_part, format_range, format_value, three_digits

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its unit; None is unavailable."""

    number: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Interval:
    """The bounds of a value; without both there is no interval."""

    low: float | None
    high: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Absent:
    """No value: "cannot say", or why there is none; null for programs."""

    words: str


Plain: TypeAlias = str | int | float | Value | Interval | Absent | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with more on a page: smaller text below, tooltip, style classes, colour of a run, drawing.

    `shade`: in percent, how bad the value is; None without shading.
    """

    value: Plain
    below: str | tuple[str, ...] = ()
    hover: str = ""
    kind: str = ""
    swatch: str = ""
    drawing: Markup | None = None
    shade: int | None = None


# Lists and mappings are for programs only.
Content: TypeAlias = Cell | Plain | Sequence[object] | Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column: its heading, and what its cells contain of an item.

    A column without a heading is for programs only, one without a `key` for people only; intervals have two
    keys. `unit` is that of all numbers, one of the record schema's or a name in FORMS. Numbers are flush
    right and other cells flush left, unless `side` is "<" or ">". None is shown as `absent`. `merged` columns
    show equal values of successive rows once, within equal values of merged columns before them. `group` is a
    heading above those of several columns. `kind` are style classes, `swatch` is the colour of a run, `hover`
    the tooltip of the heading.
    """

    heading: str | None
    of: Callable[[T], Content]
    unit: str = ""
    key: str | tuple[str, str] = ""
    side: str = ""
    absent: str = UNAVAILABLE
    merged: bool = False
    group: str = ""
    kind: str = ""
    swatch: str = ""
    hover: str = ""

    @property
    def right(self) -> bool:
        """True if cells are flush right."""
        return self.side == ">" or (not self.side and bool(self.unit))


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row, one for each column, its style classes, and the heading of the rows from it on."""

    cells: tuple[Content, ...]
    kind: str = ""
    above: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `notes` are sentences below it, `kind` has style classes."""

    title: str
    columns: tuple[Column[Any], ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    kind: str = ""

    @property
    def shown(self) -> list[int]:
        """The indices of the columns that people see."""
        return [place for place, column in enumerate(self.columns) if column.heading is not None]

    def texts(self) -> list[list[str]]:
        """Return the texts of the cells that people see; of merged cells all but the first are empty."""
        return [
            [
                "" if self.repeats(number, at) else text_of(row.cells[at], self.columns[at])
                for at in self.shown
            ]
            for number, row in enumerate(self.rows)
        ]

    def repeats(self, number: int, at: int) -> bool:
        """True if a cell of a merged column continues the one above, as all merged cells before it do."""
        if not number or not self.columns[at].merged or self.rows[number].above:
            return False
        above, here = self.rows[number - 1].cells, self.rows[number].cells
        return all(above[place] == here[place] for place in range(at + 1) if self.columns[place].merged)

    def names(self) -> list[str]:
        """Return the names of the columns that programs get, in order."""
        keys = [(one.key,) if isinstance(one.key, str) else one.key for one in self.columns if one.key]
        return [name for names in keys for name in names]

    def entries(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, for programs; unavailable values are None."""
        return [
            {
                name: value
                for column, cell in zip(self.columns, row.cells, strict=True)
                for name, value in _named(column, cell)
            }
            for row in self.rows
        ]


def tabled(
    title: str,
    columns: Iterable[Column[T]],
    items: Iterable[T],
    *,
    kind: str = "",
    kind_of: Callable[[T], str] = lambda item: "",
    part_of: Callable[[T], str] = lambda item: "",
    notes: Iterable[str] = (),
) -> Table:
    """Return the table with a row for each item.

    `kind_of` returns the style classes of an item's row, `part_of` the heading that it shares with its
    neighbours.
    """
    columns = tuple(columns)
    rows = [
        Row(tuple(column.of(item) for column in columns), kind_of(item), "" if place else part)
        for part, its in groupby(items, key=part_of)
        for place, item in enumerate(its)
    ]
    return Table(title, columns, tuple(rows), tuple(notes), kind)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %" if value < 10 else f"{value:,.0f} times"


# Units that say how a pure number is written.
FORMS: dict[str, Callable[[Any], str]] = {
    "count": lambda value: f"{value:,}",
    "number": str,
    "part": format_part,
    "share": _percent,
    "error": lambda value: f"{100 * value:+.1f} %",
    "ratio": lambda value: f"{value:.3f}" if 0.1 <= value < 10 else three_digits(value),
    "times": lambda value: f"{three_digits(value)} ×",
}


def number_text(number: float | None, unit: str, absent: str = UNAVAILABLE) -> str:
    """Return a number with its unit; `absent` for None."""
    if number is None:
        return absent
    write = FORMS.get(unit)
    return write(number) if write else format_value(number, unit)


def text_of(cell: Content, column: Column[Any]) -> str:
    """Return the text of a cell."""
    match cell:
        case Cell():
            return text_of(cell.value, column)
        case None:
            return column.absent
        case Absent():
            return cell.words
        case Value():
            return number_text(cell.number, cell.unit, column.absent)
        case Interval():
            return _interval_text(cell) or column.absent
        case int() | float() if column.unit:
            return number_text(cell, column.unit)
        case _:
            return str(cell)


def _interval_text(cell: Interval) -> str:
    if cell.low is None or cell.high is None:
        return ""
    if write := FORMS.get(cell.unit):
        return f"{write(cell.low)} – {write(cell.high)}"
    return format_range(cell.low, cell.high, cell.unit)


def _named(column: Column[Any], cell: Content) -> list[tuple[str, object]]:
    value = cell.value if isinstance(cell, Cell) else cell
    if not column.key:
        return []
    if not isinstance(column.key, str):
        known = (value.low, value.high) if isinstance(value, Interval) else (None, None)
        return list(zip(column.key, known, strict=True))
    if isinstance(value, Absent):
        value = None
    return [(column.key, value.number if isinstance(value, Value) else value)]
