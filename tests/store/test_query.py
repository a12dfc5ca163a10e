from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from kiviat.record import InputError, replacing
from kiviat.store import RunDirectory
from kiviat.store.duck import interruptible
from kiviat.store.query import add_table, connect, export
from tests.store.made_up import MACHINE, record


def test_the_tables_join(finished: RunDirectory) -> None:
    with connect([finished.path]) as connection:
        count = {
            table: connection.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]
            for table in ("runs", "launches", "records", "metrics", "samples")
        }
        assert count == {"runs": 1, "launches": 2, "records": 4, "metrics": 4, "samples": 12}
        joined = connection.sql(
            "SELECT l.mpi, s.axes->>'root', sum(s.value) FROM samples s "
            'JOIN launches l ON s.run = l.run AND s.launch = l."index" '
            "WHERE s.benchmark = 'allreduce' GROUP BY 1, 2"
        ).fetchall()
    assert joined == [("Open MPI", "1", pytest.approx(14e-6))]


def test_samples_keep_their_order(finished: RunDirectory) -> None:
    with connect([finished.path]) as connection:
        values = connection.sql("SELECT index, value FROM samples LIMIT 3").fetchall()
    assert values == [(0, 1e-6), (1, 2e-6), (2, 4e-6)]


def test_a_torn_run_can_be_queried(finished: RunDirectory) -> None:
    records = finished.path / "records.jsonl"
    os.truncate(records, records.stat().st_size - 5)
    with connect([finished.path]) as connection:
        assert connection.sql("SELECT count(*) FROM records").fetchall() == [(3,)]


def test_runs_without_records_have_all_tables(run: RunDirectory) -> None:
    with connect([run.path]) as connection:
        assert connection.sql("SELECT * FROM samples").fetchall() == []
        assert connection.sql("SELECT state FROM runs").fetchall() == [("running",)]


def test_several_runs(home: Path, finished: RunDirectory) -> None:
    other = RunDirectory.create(home, "other", machine=MACHINE, plan=None)
    other.append(record(other.id))
    with connect([finished.path, other.path]) as connection:
        counted = connection.sql("SELECT run, count(*) FROM records GROUP BY 1").fetchall()
    assert dict(counted) == {finished.id: 4, other.id: 1}


def test_an_error_of_the_query_is_one_line() -> None:
    with pytest.raises(InputError, match="there are no runs to query"), connect([]):
        pass


@pytest.mark.parametrize("query", ["SELEC 1", "SELECT nothing FROM records", "SELECT 1/'x'"])
def test_errors_of_queries_are_reported(finished: RunDirectory, query: str) -> None:
    with pytest.raises(InputError) as refusal, connect([finished.path]) as connection:
        connection.execute(query).fetchall()
    assert "\n" not in str(refusal.value)
    assert "records.jsonl" not in str(refusal.value)


def test_a_damaged_file_is_named_with_its_line(finished: RunDirectory) -> None:
    path = finished.path / "records.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:50], lines[2]]) + "\n")
    with (
        pytest.raises(InputError, match=r"records.jsonl line 2: not JSON"),
        connect([finished.path]) as connection,
    ):
        connection.sql("SELECT count(*) FROM metrics").fetchall()


def test_of_several_runs_the_damaged_one_is_named(home: Path, finished: RunDirectory) -> None:
    with RunDirectory.create(home, "wrong", machine=MACHINE, plan=None) as other:
        other.append(replace(record(other.id), mode="slow"))
    with pytest.raises(InputError, match=f"{other.id}/records.jsonl line 1: mode is 'slow', where"):
        connect([finished.path, other.path]).__enter__()


def test_exports_can_be_read_again(finished: RunDirectory, tmp_path: Path) -> None:
    with connect([finished.path]) as connection:
        for form in ("csv", "json", "parquet"):
            with (tmp_path / f"x.{form}").open("wb") as target:
                export(connection, "SELECT * FROM samples", target, form)
            reader = {"csv": "read_csv", "json": "read_json", "parquet": "read_parquet"}[form]
            total = connection.sql(
                f"SELECT count(*), sum(value) FROM {reader}('{tmp_path}/x.{form}')"
            ).fetchall()
            assert total == [(12, pytest.approx(28e-6))]
    assert isinstance(json.loads((tmp_path / "x.json").read_text()), list)


def test_a_failed_export_leaves_the_old_file(finished: RunDirectory, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    target.write_text("old")
    with pytest.raises(InputError), connect([finished.path]) as connection, replacing(target) as file:
        export(connection, "SELECT nothing FROM records", file, "csv")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x.csv"]


def test_a_table_of_our_own(finished: RunDirectory) -> None:
    with connect([finished.path]) as connection:
        add_table(
            connection,
            "mine",
            {"a": "BIGINT", "b": "DOUBLE[]"},
            [{"a": 1, "b": [0.5]}, {"a": None, "b": None}],
        )
        assert connection.sql("SELECT * FROM mine").fetchall() == [(1, [0.5]), (None, None)]


def test_an_interrupt_is_heard_while_duckdb_computes() -> None:
    """Ctrl-C interrupts a running query of DuckDB, also while its thread starts.

    Queries once continued for minutes.
    """
    query = "select sum(a.range * b.range) from range(1_000_000) a, range(1_000_000) b"
    with duckdb.connect() as connection:

        def work() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            connection.execute(query).fetchall()

        for _ in range(20):
            with pytest.raises(KeyboardInterrupt):
                interruptible(connection, work)
        assert connection.execute("select 1").fetchall() == [(1,)]
