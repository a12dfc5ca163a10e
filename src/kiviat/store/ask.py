"""SQL queries of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from kiviat.record import InputError
from kiviat.store.duck import interruptible, rows_of
from kiviat.store.query import connect

# Types of statements that return rows; MULTI is a PIVOT, which first creates a type.
_ASKING = ("SELECT", "EXPLAIN", "MULTI")
_HARMLESS = (*_ASKING, "CREATE")
# Python needs a library of time zones for columns of these types.
_ZONED = "WITH TIME ZONE"


def ask(
    runs: Sequence[Path], query: str, unsafe: bool = False, tell: Callable[[str], None] = lambda remark: None
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names of the query's columns, made unique, and its rows. Times with a zone are text.

    The query can read the tables of these runs only, unless it is `unsafe`. `tell` is called with each remark
    on the files.
    """
    statements = _statements(query, unsafe)
    with connect(runs, None if unsafe else query, tell) as connection:
        return interruptible(connection, lambda: _answer(connection, statements))


def _statements(query: str, unsafe: bool) -> list[duckdb.Statement]:
    if query != query.encode(errors="replace").decode():
        raise InputError(f"the query {query!a} is not UTF-8; write it in that encoding")
    try:
        with duckdb.connect() as connection:
            statements: list[duckdb.Statement] = connection.extract_statements(query)
    except duckdb.Error as error:
        raise InputError(str(error).splitlines()[0]) from None
    if not statements:
        raise InputError(
            "the query is empty; give one, as select benchmark, count(*) from records group by 1"
        )
    kinds = [statement.type.name for statement in statements]
    if not unsafe and (other := next((kind for kind in kinds if kind not in _HARMLESS), None)):
        raise InputError(f"{other} is not a query; use select, or --unsafe for all statements of DuckDB")
    if (count := sum(kind in _ASKING for kind in kinds)) > 1:
        raise InputError(f"{count} statements return rows; give one of them at a time")
    return statements


def _answer(
    connection: duckdb.DuckDBPyConnection, statements: Sequence[duckdb.Statement]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    names: list[str] = []
    rows: list[tuple[Any, ...]] = []
    for statement in statements:
        asked: Any = statement
        if statement.type.name == "SELECT":
            asked, names = _without_zones(connection, statement)
        result = connection.execute(asked)
        if statement.type.name in _ASKING:
            names = names or [column[0] for column in result.description]
            rows = rows_of(result)
    return names, rows


def _without_zones(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement
) -> tuple[Any, list[str]]:
    """Return the statement to execute for a query, and the names of its columns."""
    relation = connection.sql(statement)
    names = list(relation.columns)
    if not any(_ZONED in str(kind) for kind in relation.types):
        return statement, names
    relation.create_view("_asked")
    columns = [f"c{number}" for number in range(len(names))]
    shown = (
        f"{column}::VARCHAR" if _ZONED in str(kind) else column
        for column, kind in zip(columns, relation.types, strict=True)
    )
    return f"SELECT {', '.join(shown)} FROM _asked AS t({', '.join(columns)})", names
