"""show, report, compare, runs, export, sql, ingest and machine, on made-up runs."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from store.made_up import metric, record

from cli.conftest import Kiviat, on_terminal
from kiviat.store import RunDirectory

Make = Callable[..., RunDirectory]
DATA = Path(__file__).parents[1] / "ingest" / "data"


def test_show_has_median_interval_and_unit(kiviat: Kiviat, make_run: Make) -> None:
    run = make_run()
    done = kiviat("show")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"run {run.id} testbed, Open MPI 4.1.4, {run.run['created']}"
    assert lines[2] == "pingpong on 2 ranks"
    assert lines[3].split() == ["bytes", "time", "95", "%", "interval", "bandwidth", "launches"]
    assert re.fullmatch(r"  8 B +1\.00 µs +\d+ ns – 1\.\d\d µs +[78]\.\d\d MB/s +8", lines[4]), lines[4]
    assert "\033" not in done.stdout


def test_percentiles_are_shown_where_there_are_any(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    shown = kiviat("show", "--percentiles").stdout
    assert "p90" in shown and "p99" in shown
    assert "unavailable" in shown.splitlines()[4]


def test_studies_are_shown_quantity_by_quantity(kiviat: Kiviat, make_run: Make) -> None:
    run = make_run()
    metrics = tuple(
        metric(name, (value,), unit=unit, p50=value, ci_low=None, ci_high=None)
        for name, unit, value in (("natural_latency", "s", 2e-6), ("random_bandwidth", "B/s", 3e9))
    )
    with (run.path / "records.jsonl").open("a") as records:
        for launch in range(8):
            for case, size in (("ring", None), ("dense_random", 8), ("dense_random", 64)):
                notes = {"grid": "1 × 2"} if case == "ring" else {}
                one = record(
                    run.id, f"{case}/{size}", launch, benchmark=case, bytes=size, metrics=metrics, notes=notes
                )
                records.write(json.dumps(one.to_json()) + "\n")
    shown = kiviat("show", "last", "ring", "dense_random").stdout.splitlines()
    at = shown.index("ring on 2 ranks")
    assert [line.split() for line in shown[at + 1 : at + 4]] == [
        ["quantity", "median", "95", "%", "interval", "launches"],
        ["natural", "latency", "2.00", "µs", "2.00", "–", "2.00", "µs", "8"],
        ["random", "bandwidth", "3.00", "GB/s", "3.00", "–", "3.00", "GB/s", "8"],
    ]
    assert shown[at + 4 : at + 6] == ["grid: 1 × 2"]
    at = shown.index("dense_random on 2 ranks")
    assert [line[:5].strip() for line in shown[at + 2 : at + 6]] == ["8 B", "", "64 B", ""]


def test_show_for_programs(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    as_json = json.loads(kiviat("show", "--format", "json").stdout)
    as_csv = list(csv.DictReader(io.StringIO(kiviat("show", "--format", "csv").stdout)))
    assert len(as_json) == len(as_csv) == 6
    assert {row["metric"] for row in as_csv} == {"time", "bandwidth"}
    for one, other in zip(as_json, as_csv, strict=True):
        assert float(other["median"]) == one["median"]
        assert json.loads(other["launch_medians"]) == one["launch_medians"]
        assert other["p99"] == "" and one["p99"] is None


def test_show_chooses_benchmarks(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    done = kiviat("show", "last", "allreduce")
    assert done.returncode == 2
    assert done.stderr == "kiviat: the run has no benchmark 'allreduce'; it has pingpong\n"


def test_a_torn_run_is_shown_with_a_warning(kiviat: Kiviat, make_run: Make) -> None:
    records = make_run().path / "records.jsonl"
    os.truncate(records, records.stat().st_size - 20)
    done = kiviat("show")
    assert done.returncode == 0
    assert "ends within a record" in done.stderr
    assert "pingpong on 2 ranks" in done.stdout


@pytest.mark.parametrize(
    ("factor", "verdict", "status"), [(1.0, "no difference", 0), (1.3, "worse", 1), (0.7, "better", 0)]
)
def test_compare(kiviat: Kiviat, make_run: Make, factor: float, verdict: str, status: int) -> None:
    a, b = make_run(), make_run(factor, name="other")
    done = kiviat("compare", a.id, b.id)
    assert done.returncode == status, done.stdout
    assert verdict in done.stdout.splitlines()[-1]
    data = json.loads(kiviat("compare", a.id, b.id, "--format", "json").stdout)
    assert data["verdict"] == verdict
    assert [case["ratio"] for case in data["cases"]] == [pytest.approx(factor)] * 3
    rows = list(csv.DictReader(io.StringIO(kiviat("compare", a.id, b.id, "--format", "csv").stdout)))
    assert [float(row["ratio"]) for row in rows] == [pytest.approx(factor)] * 3


def test_compare_by_bandwidth_knows_that_more_is_better(kiviat: Kiviat, make_run: Make) -> None:
    a, b = make_run(), make_run(1.3, name="other")
    assert kiviat("compare", a.id, b.id, "--metric", "bandwidth").returncode == 1
    assert kiviat("compare", b.id, a.id, "--metric", "bandwidth").returncode == 0


def test_compare_by_a_threshold(kiviat: Kiviat, make_run: Make) -> None:
    a, b = make_run(), make_run(1.3, name="other")
    assert kiviat("compare", a.id, b.id, "--threshold", "50").returncode == 0
    assert kiviat("compare", a.id, b.id, "--threshold", "20").returncode == 1


def test_too_few_launches_give_no_verdict(kiviat: Kiviat, make_run: Make) -> None:
    a, b = make_run(launches=2), make_run(1.3, launches=2, name="other")
    done = kiviat("compare", a.id, b.id)
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1].startswith("no verdict: too few launches")


def test_runs_lists_good_and_bad_ones(kiviat: Kiviat, make_run: Make, tmp_path: Path) -> None:
    assert kiviat("runs").stdout == "no runs in runs; `kiviat run` makes one\n"
    run = make_run()
    (tmp_path / "runs" / "bad").mkdir()
    (tmp_path / "runs" / "bad" / "run.json").write_text("{")
    lines = kiviat("runs").stdout.splitlines()
    assert lines[1].startswith("bad") and "unreadable: " in lines[1]
    assert lines[2].split() == [run.id, "complete", "test", "2", "8", "testbed", "Open", "MPI", "4.1.4"]
    assert json.loads(kiviat("runs", "--format", "json").stdout)[1]["path"] == f"runs/{run.id}"


@pytest.mark.parametrize(("what", "rows"), [("summaries", 6), ("metrics", 48), ("samples", 72)])
@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_export(kiviat: Kiviat, make_run: Make, tmp_path: Path, what: str, rows: int, suffix: str) -> None:
    make_run()
    target = tmp_path / f"x.{suffix}"
    done = kiviat("export", "--what", what, "-o", target)
    assert (done.returncode, done.stderr) == (0, "")
    reader = {"csv": "read_csv", "json": "read_json", "parquet": "read_parquet"}[suffix]
    with duckdb.connect() as connection:
        assert connection.sql(f"SELECT count(*) FROM {reader}('{target}')").fetchall() == [(rows,)]


def test_export_to_standard_output(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    assert len(list(csv.DictReader(io.StringIO(kiviat("export").stdout)))) == 6


def test_export_as_openmetrics(kiviat: Kiviat, make_run: Make) -> None:
    run = make_run()
    lines = kiviat("export", "--format", "openmetrics").stdout.splitlines()
    assert lines[-1] == "# EOF"
    assert "# TYPE kiviat_time_seconds gauge" in lines
    (median,) = [
        line for line in lines if "time_seconds{" in line and 'bytes="8"' in line and "median" in line
    ]
    assert f'machine="testbed",run="{run.id}",case="pingpong/ranks=2/bytes=8"' in median
    assert float(median.rpartition(" ")[2]) == pytest.approx(1.0008e-6, rel=0.01)


def test_export_into_a_folder_that_is_not_there(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    done = kiviat("export", "-o", "nowhere/x.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nowhere is not a folder" in done.stderr


def test_sql(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    query = "select bytes, count(*) as n from records group by 1 order by 1"
    assert kiviat("sql", query).stdout.split() == ["bytes", "n", "8", "8", "1024", "8", "1048576", "8"]
    assert kiviat("sql", query, "--format", "csv").stdout == "bytes,n\n8,8\n1024,8\n1048576,8\n"
    done = kiviat("sql", "select nothing from records")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert 'Referenced column "nothing" not found' in done.stderr


def test_report(kiviat: Kiviat, make_run: Make, tmp_path: Path) -> None:
    a, b = make_run(), make_run(1.1, name="other")
    done = kiviat("report", a.id, b.id, "-o", "page.html")
    assert (done.returncode, done.stdout) == (0, "page.html\n")
    page = (tmp_path / "page.html").read_text()
    assert a.id in page and b.id in page


def test_a_report_that_cannot_be_written(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    done = kiviat("report", "-o", "nowhere/page.html")
    assert done.returncode == 2
    assert done.stderr.startswith("kiviat: the report cannot be written to nowhere/page.html: No such file")
    assert done.stderr.count("\n") == 1


def test_ingest_makes_a_run(kiviat: Kiviat) -> None:
    done = kiviat("ingest", DATA / "imb-2021.txt", "--machine", "elsewhere")
    assert (done.returncode, done.stderr) == (0, "")
    shown = kiviat("show", "last", "pingping", "barrier").stdout
    assert "elsewhere" in shown.splitlines()[0]
    assert "400 ns" in shown
    assert "not converged" not in shown
    run = json.loads(kiviat("runs", "--format", "json").stdout)[0]
    assert (run["state"], run["machine"], run["plan"]) == ("complete", "elsewhere", None)


def test_ingest_asks_for_what_is_not_printed(kiviat: Kiviat, tmp_path: Path) -> None:
    done = kiviat("ingest", DATA / "osu-7.4-collective.txt")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "give --ranks" in done.stderr
    assert not (tmp_path / "runs").exists()
    assert kiviat("ingest", "--ranks", "2", DATA / "osu-7.4-collective.txt").returncode == 0


def test_reported_and_measured_times_are_not_compared(kiviat: Kiviat, make_run: Make) -> None:
    run = make_run()
    kiviat("ingest", DATA / "osu-7.4-pt2pt.txt")
    done = kiviat("compare", run.id, "last")
    assert done.returncode == 2
    assert "clock" in done.stderr


def test_machine(kiviat: Kiviat) -> None:
    facts = json.loads(kiviat("machine", "--format", "json").stdout)
    lines = kiviat("machine").stdout.splitlines()
    assert lines[0].split() == ["name", facts["name"]]
    assert any(line.startswith("processor ") for line in lines)


@pytest.mark.parametrize(
    ("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_for_terminals_that_want_them(
    make_run: Make, tmp_path: Path, variables: dict[str, str], coloured: bool
) -> None:
    make_run()
    seen = on_terminal(tmp_path, variables, "show")
    assert ("\033[1m" in seen) == coloured
