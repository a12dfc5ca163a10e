"""Reads a run: run.json and one Row per metric and record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from kiviat.record import InputError, Row
from kiviat.record.earlier_metrics import current_name_sql
from kiviat.record.run import Run
from kiviat.record.scratch import scratch_folder
from kiviat.record.types import WATCHED_LEVEL, Scalar
from kiviat.record.units import counted
from kiviat.store.check import first_bad_line, is_suspect, refuse_damaged
from kiviat.store.columns import columns, sql_columns
from kiviat.store.duck import interruptible, plain_names, rows_of
from kiviat.store.files import RECORDS_FILE, read_run
from kiviat.store.names import call_run
from kiviat.store.tail import TornTail, torn_tail

# A record with a million samples per metric has about 80 MB.
LARGEST_LINE_BYTES = 1 << 27
_BLOCK = 1 << 20


def load(path: Path) -> tuple[Run, list[Row], list[str]]:
    """Return the run, its rows in the order written, and warnings for the user."""
    run = read_run(path)
    warnings = []
    if run.state == "interrupted":
        warnings.append(f"run {run.id} was interrupted; `kiviat run --resume {call_run(path)}` goes on")
    records = path / RECORDS_FILE
    if torn := torn_tail(records):
        warnings.append(f"{records} ends within a record: the last {torn.length} bytes were dropped")
    with whole_lines(records, torn) as readable:
        if readable and (unverified := refuse_damaged(readable, records)):
            run = replace(run, unverified=unverified)
            warnings.append(
                f"run {run.id} has {counted(unverified, 'unverified record')}: "
                "an older version of kiviat wrote them, without checksums"
            )
        rows = _rows(readable, records) if readable else []
    if run.plan and run.plan.interval:
        for row in rows:
            row.level = WATCHED_LEVEL
    foreign = next((row.run for row in rows if row.run != run.id), None)
    if foreign:
        raise InputError(
            f"{records} holds records of run {foreign!r}, not of {run.id!r}; files were mixed up"
        )
    return run, rows, warnings


@contextmanager
def whole_lines(records: Path, torn: TornTail | None) -> Iterator[Path | None]:
    """Yield a file with the complete lines of `records`: itself, or a copy without its incomplete end."""
    if not records.exists() or (torn and not torn.start):
        yield None
    elif torn is None:
        yield records
    else:
        with scratch_folder() as folder:
            copy = Path(folder) / RECORDS_FILE
            with records.open("rb") as source, copy.open("wb") as target:
                left = torn.start  # what follows may be gigabytes of zeros, after a crash
                while part := source.read(min(left, _BLOCK)):
                    left -= target.write(part)
            yield copy


def read_json(
    types: Mapping[str, str], *names: str, form: str = "newline_delimited", named: bool = False
) -> str:
    """Return an SQL table function that reads files of JSON objects.

    They have one object per line unless `form` is given. `names` must not need quoting; with `named`, they
    are the column `filename`.
    """
    files = ", ".join(f"'{name}'" for name in names)
    return (
        f"read_json([{files}], format='{form}', columns={sql_columns(types)}, "
        f"maximum_object_size={LARGEST_LINE_BYTES}{', filename=true' if named else ''})"
    )


def read_lines(*names: str) -> str:
    """Return an SQL table function that reads the lines of files, whatever they contain, as column `json`."""
    files = ", ".join(f"'{name}'" for name in names)
    return f"read_ndjson_objects([{files}], maximum_object_size={LARGEST_LINE_BYTES})"


# Fields of a Row from its record, then from its metric; notes, numbers and disturbed come last.
_NAMES = [field.name for field in fields(Row)]
_OF_RECORD = _NAMES[: _NAMES.index("metric")]
_OF_METRIC = _NAMES[_NAMES.index("metric") : _NAMES.index("notes")]
_UNKNOWN = {"per_call": False, "count": 0}  # values of a missing metric that are not None
_NO_METRIC = [_UNKNOWN.get(name) for name in _OF_METRIC]


def _rows(readable: Path, records: Path) -> list[Row]:
    if not readable.stat().st_size:
        return []
    with duckdb.connect() as connection, connection.cursor() as beside, plain_names([readable]) as (name,):
        try:
            suspect, of_records, of_metrics = interruptible(
                connection, lambda: _values(connection, beside, name), beside
            )
        except (duckdb.Error, UnicodeDecodeError) as error:  # messages may end within a multi-byte character
            reason = str(error).replace(name, str(records))
            raise InputError(
                first_bad_line(readable, records) or f"{records} cannot be read: {reason}"
            ) from None
    if suspect and (bad := first_bad_line(readable, records)):
        raise InputError(bad)
    place, rows, metrics = _OF_RECORD.index("axes"), [], iter(of_metrics)
    for *identity, notes, numbers, disturbed, count in of_records:
        identity[place] = _axes(identity[place])
        said = _notes(notes), _numbers(numbers), disturbed
        if not count:
            rows.append(Row(*[*identity, *_NO_METRIC, *said]))
        for values in islice(metrics, count):
            rows.append(Row(*[*identity, *values, *said]))
    return rows


def _values(
    connection: duckdb.DuckDBPyConnection, beside: duckdb.DuckDBPyConnection, name: str
) -> tuple[bool, list[Any], list[Any]]:
    """Return whether records may break the schema, the rows of records, and those of metrics.

    Records and metrics are queried separately: a record has several metrics, and each value that becomes a
    Python object takes time. Meanwhile the other cores check the schema, on the connection `beside`.
    """
    connection.execute(f"CREATE TABLE records AS SELECT * FROM {_small(name)}")
    with ThreadPoolExecutor(1) as pool:
        suspect = pool.submit(is_suspect, beside, read_lines(name), "records")
        of_records = rows_of(connection.execute(_of_records()))
        of_metrics = rows_of(connection.execute(_of_metrics()))
        return suspect.result(), of_records, of_metrics


def refuse_wrong(files: Sequence[tuple[Path, Path]]) -> None:
    """Raise InputError for the first line that violates the schema.

    `files` are pairs: the file to read, and its name for the message.
    """
    if not files:
        return
    with duckdb.connect() as connection, plain_names([readable for readable, _ in files]) as names:
        lines, records = read_lines(*names), _small(*names)
        try:
            suspect = interruptible(connection, lambda: is_suspect(connection, lines, records))
        except (duckdb.Error, UnicodeDecodeError):
            suspect = True
    for readable, called in files if suspect else ():
        if bad := first_bad_line(readable, called):
            raise InputError(bad)


def _small(*names: str) -> str:
    """Return SQL for records without columns that may be large."""
    return read_json(columns("record", frozenset({"samples", "tables"})), *names)


def _of_records() -> str:
    selected = ", ".join(f'"{name}"' for name in _OF_RECORD)
    return f"SELECT {selected}, notes, numbers, disturbed, coalesce(len(metrics), 0) FROM records"


def _of_metrics() -> str:
    known = {"metric": current_name_sql("m.name")} | {
        name: f"coalesce(m.{name}, {other})" for name, other in _UNKNOWN.items()
    }
    selected = ", ".join(known.get(name, f'm."{name}"') for name in _OF_METRIC)
    return f'SELECT {selected} FROM (SELECT "schema", benchmark, unnest(metrics) AS m FROM records)'


@lru_cache(maxsize=4096)
def _axes(text: str) -> dict[str, Scalar]:
    axes: dict[str, Scalar] = json.loads(text)
    return axes


@lru_cache(maxsize=4096)
def _notes(text: str | None) -> dict[str, str]:
    notes: dict[str, str] = json.loads(text or "{}")
    return notes


@lru_cache(maxsize=4096)
def _numbers(text: str | None) -> dict[str, float]:
    numbers: dict[str, float] = json.loads(text or "{}")
    return numbers
