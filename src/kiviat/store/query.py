"""SQL over the files of runs. Nothing is copied or indexed: DuckDB reads the files themselves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import duckdb

from kiviat.record import InputError
from kiviat.store.columns import columns, sql_columns
from kiviat.store.files import RECORDS_FILE, RUN_FILE, read_run
from kiviat.store.read import LARGEST_LINE_BYTES, first_bad_line, read_json, whole_lines
from kiviat.store.tail import torn_tail

Format = Literal["csv", "json", "parquet"]

_COPY = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json, ARRAY true", "parquet": "FORMAT parquet"}
_IDENTITY = 'run, launch, "case", benchmark, ranks, bytes, axes'
_RUN_COLUMNS = """
    id, state, version, created, finished, substrate, clock, plan.name AS plan, plan.hash AS plan_hash,
    machine.name AS machine, len(launches) AS launches
"""


@contextmanager
def connect(runs: Sequence[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the tables runs, launches, records, metrics, tables and samples of these runs."""
    if not runs:
        raise InputError("there are no runs to query; `kiviat run` makes one")
    for run in runs:
        read_run(run)
    with ExitStack() as stack:
        connection = stack.enter_context(duckdb.connect())
        records = [run / RECORDS_FILE for run in runs]
        readable = [stack.enter_context(whole_lines(file, torn_tail(file))) for file in records]
        files = [file for file in readable if file]
        _define(connection, [run / RUN_FILE for run in runs], files)
        try:
            yield connection
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            raise InputError(_first_of(files) or _first_line(error)) from None
        except duckdb.Error as error:
            raise InputError(_first_line(error)) from None


def export(connection: duckdb.DuckDBPyConnection, select: str, target: Path, form: Format) -> None:
    """Writes the result of a query; readers see the old file or the new one, never a part."""
    with TemporaryDirectory(prefix=".kiviat-", dir=target.parent) as folder:
        new = Path(folder) / "export"
        connection.execute(f"COPY ({select}) TO '{new}' ({_COPY[form]})")
        shutil.move(new, target)


def add_table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    types: Mapping[str, str],
    rows: Iterable[Mapping[str, Any]],
) -> None:
    """A table of `rows`. By way of a file, since inserting row by row takes a millisecond each."""
    with TemporaryDirectory(prefix="kiviat-") as folder:
        file = Path(folder) / "rows"
        with file.open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {read_json(types, file)}")


def _define(connection: duckdb.DuckDBPyConnection, runs: Sequence[Path], records: Sequence[Path]) -> None:
    names = ", ".join("'" + str(run).replace("'", "''") + "'" for run in runs)
    run_source = (
        f"read_json([{names}], format='unstructured', columns={sql_columns(columns('run'))}, "
        f"maximum_object_size={LARGEST_LINE_BYTES})"
    )
    source = _records(records)
    without = _records(records, frozenset({"samples"}))
    views = {
        "runs": f"SELECT {_RUN_COLUMNS} FROM {run_source}",
        "launches": f"SELECT run, unnest(l) FROM (SELECT id AS run, unnest(launches) AS l FROM {run_source})",
        "records": f"SELECT * EXCLUDE (metrics, tables) FROM {without}",
        "tables": f"SELECT {_IDENTITY}, unnest(t) FROM (SELECT *, unnest(tables) AS t FROM {without})",
        "metrics": (
            f"SELECT {_IDENTITY}, outcome, unnest(m) FROM (SELECT *, unnest(metrics) AS m FROM {without})"
        ),
        "samples": (
            f"SELECT {_IDENTITY}, m.name AS metric, m.unit AS unit, "
            "generate_subscripts(m.samples, 1) - 1 AS index, unnest(m.samples) AS value FROM "
            f"(SELECT *, unnest(metrics) AS m FROM {source})"
        ),
    }
    for name, select in views.items():
        connection.execute(f"CREATE VIEW {name} AS {select}")


def _records(files: Sequence[Path], without: frozenset[str] = frozenset()) -> str:
    types = columns("record", without)
    if files:
        return read_json(types, *files)
    nothing = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in types.items())
    return f"(SELECT {nothing} WHERE false)"


def _first_of(files: Sequence[Path]) -> str | None:
    return next((bad for file in files if (bad := first_bad_line(file, file))), None)


def _first_line(error: duckdb.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2])
