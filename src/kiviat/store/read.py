"""Reads a run: run.json and one Row per metric and record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from kiviat.record import RECORD_SCHEMA, InputError, Row, refuse_other_version, schema
from kiviat.record.types import Scalar
from kiviat.store.columns import columns, required, sql_columns
from kiviat.store.files import RECORDS_FILE, read_run
from kiviat.store.names import call_run
from kiviat.store.tail import TornTail, torn_tail

# A record of a million samples per metric is about 80 MB.
LARGEST_LINE_BYTES = 1 << 27


def load(path: Path) -> tuple[dict[str, Any], list[Row], list[str]]:
    """The run, its rows in the order written, and warnings for the reader."""
    run = read_run(path)
    warnings = []
    if run["state"] == "interrupted":
        warnings.append(f"run {run['id']} was interrupted; `kiviat run --resume {call_run(path)}` goes on")
    records = path / RECORDS_FILE
    if torn := torn_tail(records):
        warnings.append(f"{records} ends within a record: the last {torn.length} bytes were dropped")
    with whole_lines(records, torn) as readable:
        rows = _rows(readable, records) if readable else []
    foreign = next((row.run for row in rows if row.run != run["id"]), None)
    if foreign:
        raise InputError(
            f"{records} holds records of run {foreign!r}, not of {run['id']!r}; files were mixed up"
        )
    return run, rows, warnings


@contextmanager
def whole_lines(records: Path, torn: TornTail | None) -> Iterator[Path | None]:
    """A file with the whole lines of `records`: itself, or a copy without its torn end."""
    if not records.exists() or (torn and not torn.start):
        yield None
    elif torn is None:
        yield records
    else:
        with TemporaryDirectory(prefix="kiviat-") as folder:
            copy = Path(folder) / RECORDS_FILE
            with records.open("rb") as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target)
                target.truncate(torn.start)
            yield copy


def read_json(types: Mapping[str, str], *files: Path) -> str:
    """The table function that reads files of one JSON object a line."""
    names = ", ".join("'" + str(file).replace("'", "''") + "'" for file in files)
    return (
        f"read_json([{names}], format='newline_delimited', columns={sql_columns(types)}, "
        f"maximum_object_size={LARGEST_LINE_BYTES})"
    )


# What a Row has of its record, and what of its metric: in that order, and the notes last.
_NAMES = [field.name for field in fields(Row)]
_OF_RECORD = _NAMES[: _NAMES.index("metric")]
_OF_METRIC = _NAMES[_NAMES.index("metric") : _NAMES.index("notes")]
_UNKNOWN = {"per_call": False, "count": 0}  # of a metric that is not there; all else is None
_NO_METRIC = [_UNKNOWN.get(name) for name in _OF_METRIC]


def _rows(readable: Path, records: Path) -> list[Row]:
    if not readable.stat().st_size:
        return []
    with duckdb.connect() as connection:
        try:
            # Records and metrics are asked for apart: a record has several metrics, and each value that
            # becomes a Python object takes its time.
            connection.execute(_table(readable))
            of_records = connection.sql(_of_records()).fetchall()
            of_metrics = connection.sql(_of_metrics()).fetchall()
        except duckdb.Error as error:
            raise InputError(
                first_bad_line(readable, records) or f"{records} cannot be read: {error}"
            ) from None
    if any(value[-1] for value in chain(of_records, of_metrics)):
        raise InputError(first_bad_line(readable, records) or f"{records} holds lines that are no records")
    place, rows, metrics = _OF_RECORD.index("axes"), [], iter(of_metrics)
    for *identity, notes, count, _ in of_records:
        identity[place] = _axes(identity[place])
        said = _notes(notes)
        if not count:
            rows.append(Row(*[*identity, *_NO_METRIC, said]))
        for *values, _ in islice(metrics, count):
            rows.append(Row(*[*identity, *values, said]))
    return rows


def _table(readable: Path) -> str:
    """Reads the file, once."""
    names = ", ".join(f'"{name}"' for name in (*_OF_RECORD, "notes", "metrics"))
    wrong = [f"schema IS DISTINCT FROM '{RECORD_SCHEMA}'"]
    wrong += [f'"{name}" IS NULL' for name in required("record")]
    source = read_json(columns("record", frozenset({"samples"})), readable)
    return f"CREATE TEMP TABLE records AS SELECT {names}, ({' OR '.join(wrong)}) AS bad FROM {source}"


def _of_records() -> str:
    selected = ", ".join(f'"{name}"' for name in _OF_RECORD)
    return f"SELECT {selected}, notes, coalesce(len(metrics), 0), bad FROM records"


def _of_metrics() -> str:
    known = {"metric": "m.name"} | {name: f"coalesce(m.{name}, {other})" for name, other in _UNKNOWN.items()}
    selected = ", ".join(known.get(name, f'm."{name}"') for name in _OF_METRIC)
    wrong = " OR ".join(f'm."{name}" IS NULL' for name in required("record", "metric"))
    return f"SELECT {selected}, m IS NOT NULL AND ({wrong}) FROM (SELECT unnest(metrics) AS m FROM records)"


@lru_cache(maxsize=4096)
def _axes(text: str) -> dict[str, Scalar]:
    axes: dict[str, Scalar] = json.loads(text)
    return axes


@lru_cache(maxsize=4096)
def _notes(text: str | None) -> dict[str, str]:
    notes: dict[str, str] = json.loads(text or "{}")
    return notes


def first_bad_line(readable: Path, name: Path) -> str | None:
    """Which line is no record of ours and why, in one line that calls the file `name`."""
    with readable.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if reason := _reason(line):
                return f"{name} line {number}: {reason}"
    return None


def _reason(line: bytes) -> str | None:
    try:
        data = json.loads(line)
    except ValueError:
        return "not JSON; the file is damaged or not ours"
    if not isinstance(data, dict):
        return f"{type(data).__name__} instead of a record; the file is not ours"
    try:
        refuse_other_version(data.get("schema"), RECORD_SCHEMA)
    except InputError as error:
        return str(error)
    wrong = _wrong(data, schema("record"), "")
    return f"{wrong}; the file is damaged or not ours" if wrong else None


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def _wrong(value: Any, part: Mapping[str, Any], name: str) -> str | None:
    """The first thing in `value` that is missing or of another type than the schema says."""
    if "$ref" in part:
        return _wrong(value, schema("record")["$defs"][part["$ref"].rsplit("/", 1)[1]], name)
    kinds = part.get("type")
    if kinds is not None:
        allowed = [kind for word in ([kinds] if isinstance(kinds, str) else kinds) for kind in _TYPES[word]]
        if type(value) not in allowed:
            return f"{name} is {value!r}"
    elif "enum" in part and value not in part["enum"]:
        return f"{name} is {value!r}"
    if isinstance(value, dict):
        missing = (key for key in part.get("required", ()) if key not in value)
        inner = ((value[key], one, key) for key, one in part.get("properties", {}).items() if key in value)
        return next((f"lacks {key!r}" for key in missing), None) or _first_wrong(inner)
    if isinstance(value, list):
        return _first_wrong((item, part["items"], name) for item in value)
    return None


def _first_wrong(parts: Iterable[tuple[Any, Mapping[str, Any], str]]) -> str | None:
    return next((wrong for part in parts if (wrong := _wrong(*part))), None)
