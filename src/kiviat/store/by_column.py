"""Makes rows of a table of records, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np

from kiviat.record.earlier_metrics import current_name_sql
from kiviat.record.rows import (
    NO_LAUNCH,
    NO_METRIC,
    VALUES,
    CaseFacts,
    Ints,
    MetricFacts,
    Outcome,
    Remark,
    Rows,
)
from kiviat.record.valid import parse_json

_RECORDS_AT_ONCE = 30_000
_TEXTS_AT_ONCE = 10_000


class UndecodableError(Exception):
    """A record has JSON that Python cannot represent."""


def _facts(*columns: str) -> str:
    """Return SQL for facts as one text, JSON; many records have it in common, and DuckDB numbers it."""
    return f"CAST(json_array({', '.join(columns)}) AS VARCHAR)"


def _quoted(form: type[Any]) -> list[str]:
    return [f'"{name}"' for name in form._fields if name != "level"]


_CASE, _OUTCOME, _REMARK = (_facts(*_quoted(form)) for form in (CaseFacts, Outcome, Remark))
_METRIC = _facts(current_name_sql("m.name"), "m.unit", "m.better", "coalesce(m.per_call, FALSE)")


def by_column(connection: duckdb.DuckDBPyConnection, level: float) -> Rows:
    """Return the rows of the table `records`; `level` is that of their intervals over launches.

    The table has been created in the order of the records, so `rowid` counts them, and DuckDB preserves this
    order in all that follows. Raise UndecodableError for JSON that Python cannot represent.
    """
    cases = [CaseFacts._make([*facts, level]) for facts in _encoded(connection, "cases", _CASE)]
    outcomes = [_outcome(facts) for facts in _encoded(connection, "outcomes", _OUTCOME)]
    remarks = [Remark._make(facts) for facts in _encoded(connection, "remarks", _REMARK)]
    metrics = [MetricFacts._make(facts) for facts in _encoded(connection, "metrics", _METRIC, _metrics())]
    launch_of = _column(connection, f"coalesce(launch, {NO_LAUNCH})", np.int64)
    case_of, outcome_of, remark_of = (
        _column(connection, _code(facts, name), np.int32)
        for facts, name in ((_CASE, "cases"), (_OUTCOME, "outcomes"), (_REMARK, "remarks"))
    )
    held = _column(connection, "coalesce(len(metrics), 0)", np.int64)
    rows_each = np.maximum(held, 1)  # a record without metrics has a row, too
    record_of = np.repeat(np.arange(len(held), dtype=np.int32), rows_each)
    metric_of = np.full(len(record_of), len(metrics), np.int32)
    samples = np.zeros(len(record_of), np.int64)
    values = np.full((len(VALUES), len(record_of)), np.nan)
    places = np.flatnonzero(held[record_of])
    selected = ", ".join(f"m.{name} AS {name}" for name in VALUES)
    done = 0
    for begin in range(0, len(held), _RECORDS_AT_ONCE):
        part = connection.execute(
            f"SELECT {_code(_METRIC, 'metrics')} AS metric, coalesce(m.count, 0) AS count, {selected} "
            f"FROM {_metrics(begin, begin + _RECORDS_AT_ONCE)}"
        ).fetchnumpy()
        at = places[done : done + len(part["metric"])]
        metric_of[at], samples[at] = part["metric"], part["count"]
        for of_value, name in zip(values, VALUES, strict=True):
            of_value[at] = np.ma.filled(part[name], np.nan)
        done += len(at)
    return Rows(
        cases,
        outcomes,
        remarks,
        [*metrics, NO_METRIC],
        launch_of=launch_of,
        case_of=case_of,
        outcome_of=outcome_of,
        remark_of=remark_of,
        record_of=record_of,
        metric_of=metric_of,
        samples=samples,
        values=values,
    )


def _metrics(begin: int = 0, end: int | None = None) -> str:
    """Return SQL for the metrics of the records from `begin` to `end`."""
    some = f"rowid >= {begin}" + ("" if end is None else f" AND rowid < {end}")
    return f'(SELECT rowid, "schema", benchmark, unnest(metrics) AS m FROM records WHERE {some})'


def _encoded(
    connection: duckdb.DuckDBPyConnection, name: str, facts: str, source: str = "records"
) -> Iterator[list[Any]]:
    """Create the type `name` of the distinct texts of `facts`, and yield these, decoded, by their numbers."""
    texts = f"SELECT {facts} FROM {source} GROUP BY 1 ORDER BY min(rowid)"
    connection.execute(f"DROP TYPE IF EXISTS {name}")  # of an attempt that ran out of memory
    connection.execute(f"CREATE TYPE {name} AS ENUM ({texts})")
    result = connection.execute(f"SELECT unnest(enum_range(NULL::{name}))::VARCHAR")
    seen: dict[str, Any] = {}
    while part := result.fetchmany(_TEXTS_AT_ONCE):
        for (text,) in part:
            try:
                found: list[Any] = parse_json(text)
            except ValueError as error:
                raise UndecodableError(str(error)) from None
            # Texts that differ in one fact have the others in common, which are kept once.
            yield [seen.setdefault(repr(one), one) if _is_short(one) else one for one in found]


_SHORT = 80


def _is_short(fact: Any) -> bool:
    """True for facts that probably are in other texts, too; long ones, such as names of cases, are not."""
    return not isinstance(fact, str) or len(fact) <= _SHORT


def _code(facts: str, name: str) -> str:
    return f"enum_code({facts}::{name})"


def _outcome(facts: list[Any]) -> Outcome:
    found = Outcome._make(facts)
    return found._replace(notes=found.notes or {}, numbers=found.numbers or {})


def _column(connection: duckdb.DuckDBPyConnection, values: str, kind: type[np.signedinteger[Any]]) -> Ints:
    """Return whole numbers, one for each record."""
    found = connection.execute(f"SELECT {values} AS it FROM records").fetchnumpy()["it"]
    return np.asarray(found, kind)
