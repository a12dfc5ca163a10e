"""kiviat sql: permitted queries, their output, and interruption."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.store import RunDirectory

Make = Callable[..., RunDirectory]
Sql = Callable[..., tuple[int, str, str]]
FOREVER = "select sum(a.range * b.range) from range(10_000_000) a, range(1_000_000) b"


@pytest.fixture
def sql(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Sql:
    """Return a function that runs `kiviat sql` and returns its exit code, output and errors.

    The folder has a run and a file "secret".
    """
    make_run(launches=2)
    (tmp_path / "secret").write_text("secret words")
    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> tuple[int, str, str]:
        status = main(["sql", *arguments])
        return status, *capfd.readouterr()

    return ask


def test_the_help_names_the_tables(sql: Sql, capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = sql("select view_name from duckdb_views() where not internal", "--format", "csv")
    with pytest.raises(SystemExit):
        main(["sql", "--help"])
    said = " ".join(capfd.readouterr().out.split())
    tables = re.split(", | and ", said.partition("the tables are ")[2].partition(" options:")[0])
    assert sorted(tables) == sorted(out.split()[1:])


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select * from read_text('secret')", 'Cannot access file "secret"'),
        ("select * from 'secret'", "Table with name secret does not exist"),
        ("select * from glob('*')", "Cannot access file"),
        ("select * from read_csv('http://127.0.0.1:9/')", "Cannot access"),
        ("explain analyze copy (select 1) to 'made'", 'Cannot access file "made"'),
        ("copy (select 1) to 'made'", "COPY is not a query; use select, or --unsafe for all statements"),
        ("copy (pivot (select 1 a) on a using sum(a)) to 'made'", ""),
        ("create table t(a int); copy t from 'secret'", "COPY is not a query"),
        ("attach 'made'", "ATTACH is not a query"),
        ("install httpfs", "LOAD is not a query"),
        ("set threads = 1", "SET is not a query"),
        ("pragma version", "PRAGMA is not a query"),
        ("export database 'made'", "EXPORT is not a query"),
        ("create persistent secret (type http, bearer_token 'x')", "Persistent secrets are disabled"),
        ("", "the query is empty; give one, as select benchmark, count(*) from records group by 1"),
        (" ; -- nothing", "the query is empty"),
        ("select 1; select 2", "2 statements return rows; give one of them at a time"),
        ("select * from query('from sam' || 'ples')", "samples are there if the query has the word samples"),
    ],
)
def test_a_query_reads_the_tables_alone(sql: Sql, tmp_path: Path, query: str, said: str) -> None:
    """A query can read only the tables of runs.

    Queries could once write files, read any file, attach databases and install extensions from the network.
    """
    before = sorted(tmp_path.rglob("*"))
    status, out, err = sql(query)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err and "unexpected" not in err
    assert "secret words" not in err
    assert sorted(tmp_path.rglob("*")) == before


def test_no_table_expression_overwrites_a_run(sql: Sql, tmp_path: Path) -> None:
    """No table expression can overwrite a run.

    In DuckDB 2 such an expression may be a COPY, which once wrote to the files that the query could read.
    """
    (records,) = (tmp_path / "runs").glob("*/records.jsonl")
    before = records.read_bytes()
    copy = f"with x as (copy (select 1 as a) to '{records}' (use_tmp_file false, format csv)) from x"
    assert sql(copy)[0] == 2
    assert records.read_bytes() == before


def test_unsafe_opens_it(sql: Sql, tmp_path: Path) -> None:
    status, out, _ = sql("select content from read_text('secret')", "--unsafe")
    assert (status, out) == (0, "content\nsecret words\n")
    assert sql("copy (select count(*) as n from samples) to 'made.csv'", "--unsafe") == (0, "", "")
    assert (tmp_path / "made.csv").read_text() == "n\n18\n"
    assert sql("set threads = 1; select 1 as a", "--unsafe") == (0, "a\n1\n", "")


def test_several_statements_and_one_result(sql: Sql) -> None:
    query = "create table t as select count(*) n from runs; create macro f(x) as x + 1; select f(n) n from t"
    assert sql(query) == (0, "n\n2\n", "")
    assert sql("pivot (select 1 as a) on a using count(*)") == (0, "1\n1\n", "")


def test_times_are_text(sql: Sql) -> None:
    """Times are returned as text.

    now() once required a library of time zones, and dates could not be written as JSON.
    """
    assert sql("select now() > '2020-01-01'::timestamptz as later")[1] == "later\nTrue\n"
    status, out, err = sql(
        "select '2026-01-02 03:04:05+00'::timestamptz as z, ['2026-01-02 03:04:05+00'::timestamptz] as zs, "
        "date '2026-01-02' as d, timestamp '2026-01-02 03:04:05' as t, [date '2026-01-02'] as ds, "
        "time '03:04' as c, 1.5 as x, interval 1 day as i, 1 as a, 2 as a order by z",
        "--format",
        "json",
    )
    assert (status, err) == (0, "")
    (row,) = json.loads(out)
    zone, zones = row.pop("z"), row.pop("zs")
    assert zone[:2] == "20" and zone in zones
    assert row == {
        "d": "2026-01-02",
        "t": "2026-01-02T03:04:05",
        "ds": ["2026-01-02"],
        "c": "03:04:00",
        "x": 1.5,
        "i": "1 day, 0:00:00",
        "a": 1,
        "a_1": 2,
    }
    assert sql("select [date '2026-01-02'] as d", "--format", "csv")[1] == 'd\n"[""2026-01-02""]"\n'


def test_a_run_named_twice_counts_once(sql: Sql, tmp_path: Path) -> None:
    """A run named twice, even by path or link, counts once; its records were once counted twice."""
    (run,) = (tmp_path / "runs").iterdir()
    (tmp_path / "link").symlink_to(run)
    query = "select count(*) from records"
    once = sql("--run", "last", query)
    assert once[0] == 0
    assert sql("--run", "last", "--run", str(run), "--run", "link", query) == once


def test_few_remarks_are_printed(sql: Sql, tmp_path: Path) -> None:
    """At most five remarks are printed, because a query reads all runs, and dozens may be torn."""
    (run,) = (tmp_path / "runs").iterdir()
    records = run / "records.jsonl"
    os.truncate(records, records.stat().st_size - 20)
    for copy in range(6):
        shutil.copytree(run, run.with_name(f"copy-{copy}"))
    status, _, error = sql("select count(*) from records")
    *remarks, last = error.splitlines()
    assert (status, len(remarks)) == (0, 5)
    assert all("ends within a record: the last" in remark for remark in remarks)
    assert last == "kiviat: and 2 more remarks; `kiviat show` prints those of a run"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("date '2024-01-01'", "2024-01-01"),
        ("timestamp '2024-01-01 12:00:00'", "2024-01-01T12:00:00"),
        ("1.50::decimal(3, 2)", "1.50"),
        ("'nan'::double", "nan"),
        ("true", "true"),
        ("7", "7"),
        ("'a'::blob", "b'a'"),
    ],
)
def test_keys_of_maps_are_text(sql: Sql, key: str, text: str) -> None:
    """JSON keys must be text; date and decimal keys of maps once raised unexpected errors."""
    status, out, error = sql("--format", "json", f"select map {{{key}: 1}} m")
    assert (status, error, json.loads(out)) == (0, "", [{"m": {text: 1}}])
    status, out, error = sql("--format", "csv", f"select map {{{key}: 1}} m")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (status, error, json.loads(row["m"])) == (0, "", {text: 1})


def test_the_order_asked_for_stays(sql: Sql) -> None:
    out = sql("select range as r, now() as t from range(1000) order by r desc", "--format", "csv")[1]
    assert [int(line.partition(",")[0]) for line in out.splitlines()[1:]] == list(reversed(range(1000)))


def test_a_signal_ends_a_query_at_once(make_run: Make, tmp_path: Path) -> None:
    """A signal ends a query at once.

    DuckDB once continued to compute and then raised an "unexpected RuntimeError".
    """
    make_run()
    process = subprocess.Popen(
        [sys.executable, "-m", "kiviat.cli.main", "sql", FOREVER],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    while process.poll() is None and not _computes(process.pid):
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "kiviat: interrupted\n")


def _computes(pid: int) -> bool:
    """Return whether other threads have computed for more than half a second."""
    clocks = []
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            clocks.append(sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13])))
        except OSError:
            continue
    return sum(clocks[1:]) > os.sysconf("SC_CLK_TCK") / 2
