"""Reads a run: run.json and one Row per metric and record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from kiviat.record import InputError
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.scratch import scratch_folder
from kiviat.record.types import LEVEL, WATCHED_LEVEL
from kiviat.record.units import counted
from kiviat.store.by_column import UndecodableError, by_column
from kiviat.store.check import first_bad_line, is_suspect, refuse_damaged
from kiviat.store.columns import columns
from kiviat.store.duck import plain_names
from kiviat.store.files import RECORDS_FILE, read_run
from kiviat.store.names import call_run
from kiviat.store.reader import Reader, reader
from kiviat.store.tail import TornTail, torn_tail

_BLOCK = 1 << 20
_SMALL = columns("record", frozenset({"samples", "tables"}))  # columns that are never large


def load(path: Path) -> tuple[Run, Rows, list[str]]:
    """Return the run, its rows in the order written, and warnings for the user."""
    run = read_run(path)
    records = path / RECORDS_FILE
    torn = torn_tail(records)
    level = WATCHED_LEVEL if run.plan and run.plan.interval else LEVEL
    rows = Rows.of([])
    with whole_lines(records, torn) as readable:
        if readable:
            checked = refuse_damaged(readable, records)
            if checked.unverified:
                run = replace(run, unverified=checked.unverified)
            if checked.longest:
                rows = _rows(readable, records, checked.longest, level)
    if (foreign := next((case.run for case in rows.cases if case.run != run.id), None)) is not None:
        raise InputError(
            f"{records} holds records of run {foreign!r}, not of {run.id!r}; files were mixed up"
        )
    return run, rows, remarks(path, run, torn, run.unverified)


def any_failed(path: Path) -> bool:
    """Return whether a case of a run failed."""
    return any(outcome.outcome == "failed" for outcome in load(path)[1].outcomes)


def remarks(path: Path, run: Run, torn: TornTail | None, unverified: int) -> list[str]:
    """Return warnings about the files of a run.

    `torn`: the incomplete record at the end; `unverified`: number of records without a checksum.
    """
    found = []
    if run.state == "interrupted":
        found.append(f"run {run.id} was interrupted; `kiviat run --resume {call_run(path)}` goes on")
    if torn:
        found.append(f"{path / RECORDS_FILE} ends within a record: the last {torn.length} bytes were dropped")
    if unverified:
        found.append(
            f"run {run.id} has {counted(unverified, 'unverified record')}: "
            "an older version of kiviat wrote them, without checksums"
        )
    return found


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


def _rows(readable: Path, records: Path, longest: int, level: float) -> Rows:
    with reader(longest) as read, read.connection.cursor() as beside, plain_names([readable]) as (name,):
        try:
            suspect, rows = read.run(lambda: _values(read, beside, name, level), beside)
        except (duckdb.Error, UndecodableError, UnicodeDecodeError) as error:  # by a message that was cut
            reason = str(error).replace(name, str(records))
            raise InputError(
                first_bad_line(readable, records) or f"{records} cannot be read: {reason}"
            ) from None
    if suspect and (bad := first_bad_line(readable, records)):
        raise InputError(bad)
    return rows


def _values(read: Reader, beside: duckdb.DuckDBPyConnection, name: str, level: float) -> tuple[bool, Rows]:
    """Return whether records may break the schema, and their rows.

    Meanwhile the other cores check the schema, on the connection `beside`.
    """
    read.connection.execute(f"CREATE OR REPLACE TABLE records AS SELECT * FROM {read.json(_SMALL, name)}")
    with ThreadPoolExecutor(1) as pool:
        suspect = pool.submit(is_suspect, beside, read.lines(name), "records")
        rows = by_column(read.connection, level)
        return suspect.result(), rows


def refuse_wrong(files: Sequence[tuple[Path, Path]], longest: int) -> None:
    """Raise InputError for the first line that violates the schema.

    `files` are pairs: the file to read, and its name for the message; `longest`: bytes of their longest line.
    """
    if not files:
        return
    with reader(longest) as read, plain_names([readable for readable, _ in files]) as names:
        try:
            suspect = read.run(
                lambda: is_suspect(read.connection, read.lines(*names), read.json(_SMALL, *names))
            )
        except (duckdb.Error, UnicodeDecodeError):
            suspect = True
    for readable, called in files if suspect else ():
        if bad := first_bad_line(readable, called):
            raise InputError(bad)
