"""Tables of results: rows for Python, and frames of Polars, pandas and Arrow, which are optional."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, is_dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import duckdb

from kiviat.record.errors import InputError
from kiviat.report.html import fragment
from kiviat.store.duck import interruptible, rows_of
from kiviat.store.query import add_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_SHOWN = 20  # rows in a notebook
_ROWS = "result"  # the name of a table made of rows
_NONE = "none"  # the column of a table without columns, which DuckDB does not have


class Tabular(ABC):
    """A result with one row for each case, point or value: see `table`."""

    @property
    @abstractmethod
    def table(self) -> Table:
        """Return the rows of the result."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries; unavailable values are None."""
        return self.table.rows()

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a DataFrame of Polars. Raise InputError if it or PyArrow is not installed."""
        return self.table.to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame of pandas. Raise InputError if pandas is not installed."""
        return self.table.to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as a table of Arrow. Raise InputError if PyArrow is not installed."""
        return self.table.to_arrow()


class Table:
    """Rows with named columns, of stored runs or of a result.

    Nested values (axes, notes, lists of samples) are dictionaries and lists in `rows`, JSON text in frames
    unless DuckDB has a type for them.
    """

    def __init__(
        self, name: str, opened: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]
    ) -> None:
        self.name = name
        self._opened = opened

    @classmethod
    def of(
        cls, rows: Sequence[Mapping[str, Any]], name: str = _ROWS, types: Mapping[str, str] | None = None
    ) -> Table:
        """Return a table of these rows; `types` are DuckDB's of its columns, by default those of values."""
        return _Given(rows, name, types)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._shape[0])

    def __len__(self) -> int:
        return self._shape[1]

    @cached_property
    def _shape(self) -> tuple[list[str], int]:
        """The names of the columns and the number of rows, for which the files are read once."""
        with self._opened() as connection:
            result = self._selected(connection, limit=0)
            return [str(column[0]) for column in result.description or ()], self._count(connection)

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows as dictionaries; unavailable values are None."""
        with self._opened() as connection:
            result = self._selected(connection)
            names = [str(column[0]) for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in rows_of(result)]

    def to_polars(self) -> polars.DataFrame:
        """Return a DataFrame of Polars. Raise InputError if Polars or PyArrow is not installed."""
        _refuse_absent("to_polars", "polars", "pyarrow")
        frame: polars.DataFrame = self._frame("pl")
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame of pandas. Raise InputError if pandas is not installed."""
        _refuse_absent("to_pandas", "pandas")
        frame: pandas.DataFrame = self._frame("df")
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Return a table of Arrow. Raise InputError if PyArrow is not installed."""
        _refuse_absent("to_arrow", "pyarrow")
        frame: pyarrow.Table = self._frame("to_arrow_table")
        return frame

    def __repr__(self) -> str:
        return f"<table {self.name}: {len(self)} rows, columns {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        with self._opened() as connection:
            count = self._count(connection)
            result = self._selected(connection, limit=_SHOWN)
            names = [str(column[0]) for column in result.description or ()]
            return fragment.table(names, rows_of(result), count)

    def _frame(self, method: str) -> Any:
        """Return the frame that this method of DuckDB's relations makes."""
        with self._opened() as connection:
            return interruptible(connection, getattr(connection.sql(self._query()), method))

    def _selected(
        self, connection: duckdb.DuckDBPyConnection, limit: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        return interruptible(connection, lambda: connection.execute(self._query(limit)))

    def _query(self, limit: int | None = None) -> str:
        return f"SELECT * FROM {self.name}" + ("" if limit is None else f" LIMIT {limit}")

    def _count(self, connection: duckdb.DuckDBPyConnection) -> int:
        (count,) = rows_of(connection.execute(f"SELECT count(*) FROM {self.name}"))[0]
        return int(count)


class _Given(Table):
    """Rows in memory; DuckDB is used only to make data frames of them."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], name: str, types: Mapping[str, str] | None) -> None:
        super().__init__(name, self._connection)
        self._names = list(types or dict.fromkeys(name for row in rows for name in row))
        self._rows = [{name: _plain(row.get(name)) for name in self._names} for row in rows]
        self._types = types

    @cached_property
    def _shape(self) -> tuple[list[str], int]:
        return self._names, len(self._rows)

    def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self._rows]

    def _connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        types = self._types or types_of(self._rows, self._names) or {_NONE: "VARCHAR"}
        add_table(connection, self.name, types, self._rows)
        return connection

    def _frame(self, method: str) -> Any:
        frame = super()._frame(method)
        if self._names:
            return frame
        return frame.drop(columns=_NONE) if method == "df" else frame.drop([_NONE])

    def _repr_html_(self) -> str:
        return fragment.table(self._names, [list(row.values()) for row in self._rows])


def types_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, str]:
    """Return DuckDB's type of each column; columns without any value are text."""
    found = {}
    for name in names:
        kinds = {type(value) for row in rows if (value := row[name]) is not None}
        found[name] = (
            "VARCHAR"
            if not kinds or kinds == {str}
            else "BOOLEAN"
            if kinds == {bool}
            else "BIGINT"
            if kinds == {int}
            else "DOUBLE"
            if kinds <= {int, float}
            else "JSON"
        )
    return found


def _plain(value: Any) -> Any:
    """Return the value in terms of JSON: no tuples, no dataclasses, no numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    return value


def _refuse_absent(method: str, *libraries: str) -> None:
    absent = [name for name in libraries if find_spec(name) is None]
    if absent:
        raise InputError(
            f"{method}() needs {' and '.join(absent)}, which this Python does not have: "
            f"pip install {' '.join(absent)}, or 'kiviat[frames]' for all three libraries"
        )
