"""SQL over the files of runs. DuckDB reads the files themselves, or cached copies of complete runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import duckdb

from kiviat.record import InputError, schema
from kiviat.record.earlier_metrics import current_name_sql
from kiviat.record.scratch import scratch_folder
from kiviat.store.check import first_bad_line, refuse_damaged
from kiviat.store.columns import columns
from kiviat.store.duck import interruptible, plain_names
from kiviat.store.files import RECORDS_FILE, RUN_FILE, read_run
from kiviat.store.kept import LEFT_OUT, Kept
from kiviat.store.read import refuse_wrong, remarks, whole_lines
from kiviat.store.reader import Reader, read_json, reader
from kiviat.store.tail import torn_tail

Format = Literal["csv", "json", "parquet"]

_COPY = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json, ARRAY true", "parquet": "FORMAT parquet"}
_CLOSED = ("allow_persistent_secrets = false", "enable_external_access = false", "lock_configuration = true")
_IDENTITY = 'run, launch, "case", benchmark, ranks, bytes, axes'
_RUN_COLUMNS = """
    id, state, version, created, finished, substrate, clock, plan.name AS plan, plan.hash AS plan_hash,
    machine.name AS machine, len(launches) AS launches
"""


# The properties of records and metrics that the view `samples` needs.
_SAMPLED = {
    *("schema", "run", "launch", "case", "benchmark", "ranks", "bytes", "axes", "metrics"),
    *("name", "unit", "samples"),
}
_METRIC = schema("record")["$defs"]["metric"]["properties"]
_NOT_OF_SAMPLES = frozenset({*schema("record")["properties"], *_METRIC} - _SAMPLED)

# Minimum number of runs for which cached copies (kiviat.store.kept) are used.
_MANY = 50


@contextmanager
def connect(
    runs: Sequence[Path],
    closed_for: str | None = None,
    tell: Callable[[str], None] = lambda remark: None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with the tables runs, launches, records, metrics, tables and samples of these runs.

    If `closed_for` is given, the data that this query needs is loaded; then no file can be read
    or written, no extension loaded and no setting changed. `tell` is called with each remark on the files.
    """
    if not runs:
        raise InputError("there are no runs to query; `kiviat run` makes one")
    with ExitStack() as stack:
        kept = None
        if closed_for is not None and len(runs) >= _MANY and not _reads(closed_for, *LEFT_OUT):
            kept = stack.enter_context(Kept(runs[0].parent, runs))
        fresh = kept.others if kept else runs
        about = [read_run(run) for run in fresh]
        records = [run / RECORDS_FILE for run in fresh]
        torn = [torn_tail(file) for file in records]
        readable = [stack.enter_context(whole_lines(*pair)) for pair in zip(records, torn, strict=True)]
        checked = [
            refuse_damaged(whole, file) if whole else None
            for whole, file in zip(readable, records, strict=True)
        ]
        of_records = max((one.longest for one in checked if one), default=0)
        there = [(whole, file) for whole, file in zip(readable, records, strict=True) if whole]
        refuse_wrong(there, of_records)
        unverified = [one.unverified if one else 0 for one in checked]
        for facts in zip(fresh, about, torn, unverified, strict=True):
            for remark in remarks(*facts):
                tell(remark)
        longest = max(of_records, *((run / RUN_FILE).stat().st_size for run in fresh), 0)
        read = stack.enter_context(reader(longest))
        connection = read.connection
        files = [file for file in readable if file]
        named = [*(run / RUN_FILE for run in fresh), *files]
        names = stack.enter_context(plain_names(named))
        sources = _sources(read, names[: len(fresh)], names[len(fresh) :])
        try:
            if kept:
                read.lift_limits()  # segments of the cache are written at once
                facts_of = zip(fresh, about, records, readable, unverified, strict=True)
                kept.keep(
                    read,
                    [
                        path
                        for path, run, file, found, older in facts_of
                        if run.state == "complete" and found == file and not older
                    ],
                )
                sources = _with_kept(sources, kept, bool(fresh))
            if closed_for is not None:
                sources = read.run(lambda: _loaded(connection, sources, closed_for))
            read.lift_limits()
            if closed_for is not None:
                _close(connection)
            _define(connection, sources)
            yield connection
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            raise InputError(_first_of(files) or _first_line(error)) from None
        except duckdb.Error as error:
            said = _first_line(error)
            if closed_for is not None and isinstance(error, duckdb.PermissionException):
                said += "; --unsafe lets queries read and write files"
            for name, file in zip(names, named, strict=True):
                said = said.replace(f'"{name}"', str(file))
            raise InputError(said) from None


def export(connection: duckdb.DuckDBPyConnection, select: str, target: BinaryIO, form: Format) -> None:
    """Write the result of a query to `target`."""
    name = f"/dev/fd/{target.fileno()}"
    copy = f"COPY ({select}) TO '{name}' ({_COPY[form]}, USE_TMP_FILE false)"
    try:
        interruptible(connection, lambda: connection.execute(copy))
    except duckdb.IOException as error:
        raise InputError(_first_line(error).replace(f'"{name}"', "of the export")) from None


def add_table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    types: Mapping[str, str],
    rows: Iterable[Mapping[str, Any]],
) -> None:
    """Create a table of `rows`. Uses a file, because inserting row by row takes a millisecond each."""
    with scratch_folder() as folder:
        file = Path(folder) / "rows"
        longest = 0
        with file.open("w", encoding="utf-8") as lines:
            for row in rows:
                longest = max(longest, lines.write(json.dumps(row) + "\n"))  # ASCII
        with plain_names([file]) as names:
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {read_json(types, longest, *names)}")


@dataclass(frozen=True)
class _Sources:
    """SQL expressions for FROM: runs, records without samples, records with samples."""

    runs: str
    records: str
    sampled: str


def _sources(read: Reader, runs: Sequence[str], records: Sequence[str]) -> _Sources:
    return _Sources(
        read.json(columns("run"), *runs, form="unstructured"),
        _records(read, records, frozenset({"samples"})),
        _records(read, records, _NOT_OF_SAMPLES),
    )


def _with_kept(sources: _Sources, kept: Kept, others: bool) -> _Sources:
    """Return SQL sources for the cached runs and, if there are any, for the `others`."""
    of_runs, of_records = kept.sources()
    nothing = ", ".join(
        f'NULL::{kind} AS "{name}"' for name, kind in columns("record").items() if name in LEFT_OUT
    )
    of_records = [f"SELECT *, {nothing} FROM ({select})" for select in of_records]
    if others:
        of_runs.append(f"SELECT * FROM {sources.runs}")
        of_records.append(f"SELECT * FROM {sources.records}")
    together = " UNION ALL BY NAME "
    return _Sources(f"({together.join(of_runs)})", f"({together.join(of_records)})", sources.sampled)


def _reads(query: str, *words: str) -> bool:
    return any(word in query.lower() for word in words)


def _loaded(connection: duckdb.DuckDBPyConnection, sources: _Sources, query: str) -> _Sources:
    """Load the data that the query needs, so that it needs no access to files."""
    kept = {"runs": sources.runs, "records": sources.records}
    if _reads(query, "samples"):
        kept["sampled"] = sources.sampled
    connection.execute("CREATE SCHEMA IF NOT EXISTS kept")
    for name, source in kept.items():
        connection.execute(f"CREATE OR REPLACE TABLE kept.{name} AS SELECT * FROM {source}")
    why = "error('samples are there if the query has the word samples')"
    unread = _nothing(columns("record", _NOT_OF_SAMPLES), why)
    return _Sources("kept.runs", "kept.records", "kept.sampled" if "sampled" in kept else unread)


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Deny DuckDB access to files. With it, a query could also write them: a table may be a COPY."""
    for setting in _CLOSED:
        connection.execute(f"SET {setting}")


def _define(connection: duckdb.DuckDBPyConnection, sources: _Sources) -> None:
    run_source, source, without = sources.runs, sources.sampled, sources.records
    views = {
        "runs": f"SELECT {_RUN_COLUMNS} FROM {run_source}",
        "launches": f"SELECT run, unnest(l) FROM (SELECT id AS run, unnest(launches) AS l FROM {run_source})",
        "records": f"SELECT * EXCLUDE (metrics, tables, crc32) FROM {without}",
        "tables": f"SELECT {_IDENTITY}, unnest(t) FROM (SELECT *, unnest(tables) AS t FROM {without})",
        "metrics": (
            f'SELECT * EXCLUDE "schema" REPLACE ({current_name_sql("name")} AS name) FROM '
            f'(SELECT "schema", {_IDENTITY}, outcome, unnest(m) FROM '
            f"(SELECT *, unnest(metrics) AS m FROM {without}))"
        ),
        "samples": (
            f"SELECT {_IDENTITY}, {current_name_sql('m.name')} AS metric, m.unit AS unit, "
            "generate_subscripts(m.samples, 1) - 1 AS index, unnest(m.samples) AS value FROM "
            f"(SELECT *, unnest(metrics) AS m FROM {source})"
        ),
    }
    for name, select in views.items():
        connection.execute(f"CREATE VIEW {name} AS {select}")


def _records(read: Reader, files: Sequence[str], without: frozenset[str]) -> str:
    types = columns("record", without)
    if files:
        return read.json(types, *files)
    return _nothing(types, "false")


def _nothing(types: Mapping[str, str], condition: str) -> str:
    nulls = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in types.items())
    return f"(SELECT {nulls} WHERE {condition})"


def _first_of(files: Sequence[Path]) -> str | None:
    return next((bad for file in files if (bad := first_bad_line(file, file))), None)


def _first_line(error: duckdb.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2])
