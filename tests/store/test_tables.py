"""Tables of records are read completely, in order, and one record at a time."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import fields

import pytest

from kiviat.record import InputError, Record, Table, TableRow
from kiviat.store import RunDirectory
from kiviat.store.tables import load_tables
from tests.store.made_up import metric, record

PHASES = Table(
    "phases",
    "B/s",
    "higher",
    (("phase", ("1", "2")), ("bytes", ("8", "64", "512"))),
    (1e6, None, 3e6, 4e6, 5e6, 6.5e6),
)
PAIRS = Table("latency", "s", "lower", (("from", ("0", "1")), ("to", ("0", "1"))), (None, 1e-6, 2e-6, None))


def study(run: RunDirectory, launch: int, *tables: Table) -> Record:
    return record(run.id, "dense/ranks=4", launch, ranks=4, bytes=None, axes={"order": 2}, tables=tables)


def test_tables_are_read_as_they_were_written(run: RunDirectory) -> None:
    run.append(record(run.id))
    written = study(run, 1, PHASES, PAIRS)
    run.append(written)
    run.append(record(run.id, 'a case named "tables":[{'))
    first, second = load_tables(run.path)
    assert (first.table, second.table) == (PHASES, PAIRS)
    for name in (field.name for field in fields(TableRow) if field.name != "table"):
        assert getattr(first, name) == getattr(second, name) == getattr(written, name)


def test_a_run_without_studies_has_none(run: RunDirectory, finished: RunDirectory) -> None:
    assert list(load_tables(finished.path)) == []


def test_a_run_without_records_has_none(run: RunDirectory) -> None:
    assert list(load_tables(run.path)) == []


def test_a_torn_end_is_left_out(run: RunDirectory) -> None:
    for launch in range(2):
        run.append(study(run, launch, PHASES))
    records = run.path / "records.jsonl"
    os.truncate(records, records.stat().st_size - 5)
    assert [row.launch for row in load_tables(run.path)] == [0]


def test_a_damaged_line_is_named(run: RunDirectory) -> None:
    run.append(record(run.id))
    run.append(study(run, 0, PHASES))
    records = run.path / "records.jsonl"
    records.write_text(records.read_text().replace('"name":"phase",', ""))
    with pytest.raises(InputError, match=r"line 2: tables\[0\].axes\[0\] lacks 'name'"):
        list(load_tables(run.path))


def test_one_record_is_held_at_a_time(run: RunDirectory) -> None:
    """Only one record is in memory at a time.

    Matrices of 128 ranks in 40 launches have 650,000 values, which take 20 MB as objects; at most 0.5 MB are
    used.
    """
    ranks = tuple(map(str, range(128)))
    matrix = Table("latency", "s", "lower", (("from", ranks), ("to", ranks)), (1.5e-6,) * 128**2)
    for launch in range(40):
        run.append(record(run.id, launch=launch, metrics=(metric(),), tables=(matrix,)))
    tracemalloc.start()
    try:
        assert sum(len(row.table.values) for row in load_tables(run.path)) == 40 * 128**2
        assert tracemalloc.get_traced_memory()[1] < 4e6
    finally:
        tracemalloc.stop()
