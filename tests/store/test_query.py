from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kiviat.record import InputError
from kiviat.store import RunDirectory
from kiviat.store.query import add_table, connect, export
from store.made_up import MACHINE, record


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
def test_what_is_wrong_with_a_query(finished: RunDirectory, query: str) -> None:
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


def test_exports_can_be_read_again(finished: RunDirectory, tmp_path: Path) -> None:
    with connect([finished.path]) as connection:
        for form in ("csv", "json", "parquet"):
            export(connection, "SELECT * FROM samples", tmp_path / f"x.{form}", form)  # type: ignore[arg-type]
            reader = {"csv": "read_csv", "json": "read_json", "parquet": "read_parquet"}[form]
            total = connection.sql(
                f"SELECT count(*), sum(value) FROM {reader}('{tmp_path}/x.{form}')"
            ).fetchall()
            assert total == [(12, pytest.approx(28e-6))]
    assert isinstance(json.loads((tmp_path / "x.json").read_text()), list)
    assert not list(tmp_path.glob(".kiviat-*"))


def test_a_failed_export_leaves_the_old_file(finished: RunDirectory, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    target.write_text("old")
    with pytest.raises(InputError), connect([finished.path]) as connection:
        export(connection, "SELECT nothing FROM records", target, "csv")
    assert target.read_text() == "old"


def test_a_table_of_our_own(finished: RunDirectory) -> None:
    with connect([finished.path]) as connection:
        add_table(
            connection,
            "mine",
            {"a": "BIGINT", "b": "DOUBLE[]"},
            [{"a": 1, "b": [0.5]}, {"a": None, "b": None}],
        )
        assert connection.sql("SELECT * FROM mine").fetchall() == [(1, [0.5]), (None, None)]
