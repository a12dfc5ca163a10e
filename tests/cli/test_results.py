"""show, report, compare, runs, export, sql, ingest and host, on fabricated runs."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pytest

from kiviat.cli.main import main
from kiviat.cli.text.verdict import print_verdict
from kiviat.record import UNSEALED_RECORD_SCHEMA
from kiviat.store import RunDirectory
from kiviat.store.checksum import seal
from tests.cli.conftest import Kiviat, on_terminal
from tests.ingest import test_stated, test_tree
from tests.store.made_up import MACHINE, PLAN, launch, metric, record

Make = Callable[..., RunDirectory]
DATA = Path(__file__).parents[1] / "ingest" / "data"


def test_show_has_median_interval_and_unit(kiviat: Kiviat, make_run: Make) -> None:
    run = make_run()
    done = kiviat("show")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"run {run.id} testbed, Open MPI 4.1.4, {run.run.created}"
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
    with (run.path / "records.jsonl").open("ab") as records:
        for launch in range(8):
            for case, size in (("ring", None), ("dense_random", 8), ("dense_random", 64)):
                notes = {"grid": "1 × 2"} if case == "ring" else {}
                one = record(
                    run.id, f"{case}/{size}", launch, benchmark=case, bytes=size, metrics=metrics, notes=notes
                )
                records.write(seal(one.to_json()))
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
    assert [float(row["ratio"]) for row in rows] == [pytest.approx(factor)] * 4
    assert [(row["group"], row["cases"]) for row in rows] == [("", "1")] * 3 + [("pingpong", "3")]


def stored(folder: Path, name: str, times: Mapping[int, Sequence[float]]) -> str:
    """Make a ping-pong run with these times, by message size and launch, and return its identifier."""
    with RunDirectory.create(folder / "runs", name, machine=MACHINE, plan=PLAN) as run:
        for index in range(5):
            run.set_launch(launch(index, index, outcome="ok", exit=0))
            for size, seconds in times.items():
                case = f"pingpong/ranks=2/bytes={size}"
                one = metric(samples=None, p50=seconds[index], mean=seconds[index])
                run.append(record(run.id, case, index, bytes=size, metrics=(one,)))
        run.finish()
    return run.id


def test_compare_tells_programs_of_a_group_that_alone_is_worse(kiviat: Kiviat, tmp_path: Path) -> None:
    """Forty cases that are each 2.5 % slower are worse by their mean only, which CSV and JSON once lacked."""
    logs = 0.02 * np.random.default_rng(6).standard_normal((2, 40, 5))
    before, after = 1e-6 * np.exp(logs[0]), 1.025e-6 * np.exp(logs[1])
    names = [
        stored(tmp_path, name, {1 + place: one for place, one in enumerate(times.tolist())})
        for name, times in (("before", before), ("after", after))
    ]
    done = kiviat("compare", *names)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == (
        "worse: no single case is shown to be, but the geometric mean of pingpong (40 cases) is, even after "
        "correction for the number of comparisons"
    )
    data = json.loads(kiviat("compare", *names, "--format", "json").stdout)
    assert len(data["cases"]) == 40 and not any(case["survives"] for case in data["cases"])
    (group,) = data["groups"]
    assert (group["group"], group["cases"], group["verdict"]) == ("pingpong", 40, "worse")
    assert group["survives"] and group["adjusted_p"] < 0.05 and group["low"] > 1
    rows = list(csv.DictReader(io.StringIO(kiviat("compare", *names, "--format", "csv").stdout)))
    assert [(row["group"], row["verdict"]) for row in rows if row["survives"] == "True"] == [
        ("pingpong", "worse")
    ]


def test_compare_tells_programs_of_lost_cases(kiviat: Kiviat, tmp_path: Path) -> None:
    """CSV once lacked the cases that B lost, which alone make the comparison incomplete."""
    times = [1.00e-6, 1.01e-6, 1.02e-6, 1.03e-6, 1.04e-6]
    names = [stored(tmp_path, "before", {8: times, 64: times}), stored(tmp_path, "after", {8: times})]
    done = kiviat("compare", *names)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        2,
        "incomplete: 1 of 2 cases of A is missing in B or cannot be judged there; none of the others is "
        "shown to be worse",
    )
    lost = "pingpong/ranks=2/bytes=64"
    assert json.loads(kiviat("compare", *names, "--format", "json").stdout)["lost"] == [lost]
    rows = list(csv.DictReader(io.StringIO(kiviat("compare", *names, "--format", "csv").stdout)))
    assert [(row["case"], row["note"]) for row in rows if row["lost"] == "True"] == [(lost, "only in A")]


def test_compare_by_bandwidth_knows_that_more_is_better(kiviat: Kiviat, make_run: Make) -> None:
    a, b = make_run(), make_run(1.3, name="other")
    assert kiviat("compare", a.id, b.id, "--metric", "bandwidth").returncode == 1
    assert kiviat("compare", b.id, a.id, "--metric", "bandwidth").returncode == 0


def test_compare_by_a_threshold(kiviat: Kiviat, make_run: Make) -> None:
    a, b = make_run(), make_run(1.3, name="other")
    assert kiviat("compare", a.id, b.id, "--threshold", "50").returncode == 0
    assert kiviat("compare", a.id, b.id, "--threshold", "20").returncode == 1
    refused = kiviat("compare", a.id, b.id, "--threshold", "-3")
    assert refused.returncode == 2 and "--threshold is -3; give percent from 0 to 100" in refused.stderr


def test_too_few_launches_give_no_verdict(kiviat: Kiviat, make_run: Make) -> None:
    a, b = make_run(launches=2), make_run(1.3, launches=2, name="other")
    done = kiviat("compare", a.id, b.id)
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1].startswith("no verdict: too few launches")


def test_runs_lists_good_ones_and_names_bad_ones(kiviat: Kiviat, make_run: Make, tmp_path: Path) -> None:
    nothing = "runs; `kiviat run` makes one, KIVIAT_RUNS names another folder\n"
    assert kiviat("runs").stdout == f"no runs in {tmp_path / nothing}"
    run = make_run()
    (tmp_path / "runs" / "bad").mkdir()
    (tmp_path / "runs" / "bad" / "run.json").write_text("{")
    done = kiviat("runs")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert done.stderr.startswith("kiviat: left out: runs/bad/run.json is not JSON") and len(lines) == 2
    assert lines[1].split() == [run.id, "complete", "test", "2", "8", "testbed", "Open", "MPI", "4.1.4"]
    assert json.loads(kiviat("runs", "--format", "json").stdout)[0]["path"] == f"runs/{run.id}"


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


def test_openmetrics_has_no_samples(kiviat: Kiviat, make_run: Make) -> None:
    """`--what samples` once wrote summaries."""
    make_run()
    done = kiviat("export", "--format", "openmetrics", "--what", "samples")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--what samples: OpenMetrics has summaries only" in done.stderr


def test_an_output_may_be_called_as_a_value_is(kiviat: Kiviat, make_run: Make) -> None:
    """The second export once was refused, because the value of --what is the name of the file."""
    make_run()
    for _ in range(2):
        done = kiviat("export", "--format", "csv", "--what", "samples", "-o", "samples")
        assert done.returncode == 0, done.stderr


def test_no_output_replaces_results(kiviat: Kiviat, make_run: Make, tmp_path: Path) -> None:
    """An export once overwrote a run's records.jsonl, and a placement the profile that it was made from."""
    path = make_run().path
    (tmp_path / "link").symlink_to(path / "records.jsonl")
    (tmp_path / "a.profile").write_text("profile")
    for command, said in (
        (("export", "last", "--format", "csv", "-o", path / "records.jsonl"), "results of a run are there"),
        (("export", "last", "--format", "json", "-o", path / "run.json"), "results of a run are there"),
        (("export", "last", "--format", "csv", "-o", "link"), "results of a run are there"),
        (("place", "a.profile", "--nodes", "1x2", "-o", "./a.profile"), "is also what the command reads"),
        (("profile", "-o", "a.profile", "--", "./a.profile"), "is also what the command reads"),
    ):
        done = kiviat(*map(str, command))
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
    assert (tmp_path / "a.profile").read_text() == "profile"
    assert kiviat("show").returncode == 0


def test_an_empty_name_is_no_run(kiviat: Kiviat, make_run: Make) -> None:
    """`kiviat show "$unset"` once showed the only run."""
    make_run(launches=1)
    assert "the name of a run is empty" in kiviat("show", "").stderr


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


def test_a_metric_forges_no_lines_of_openmetrics(kiviat: Kiviat, tmp_path: Path) -> None:
    """Line breaks in a metric's name were once exported, and forged metrics of other machines."""
    forged = 'x 1\nkiviat_time_seconds{machine="prod"} 1e-9\nkiviat_y'
    with RunDirectory.create(tmp_path / "runs", "forged", machine=MACHINE, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        run.append(record(run.id, metrics=(metric(forged),)))
        run.finish()
    lines = kiviat("export", "--format", "openmetrics").stdout.splitlines()
    assert lines[0].startswith("# TYPE kiviat_x_1_kiviat_time_seconds_machine__prod___1e_9_kiviat_y_seconds ")
    assert not any("prod" in line.partition("{")[2] for line in lines)
    assert [line for line in lines if line.startswith("kiviat_time_seconds{")] == []


def test_exports_and_queries_tell_what_is_missing(kiviat: Kiviat, make_run: Make) -> None:
    """`kiviat export` and `kiviat sql` once silently dropped a torn record."""
    path = make_run().path
    records = path / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    older = {**json.loads(lines[0]), "schema": UNSEALED_RECORD_SCHEMA}
    del older["crc32"]
    records.write_text(json.dumps(older, separators=(",", ":")) + "\n" + "".join(lines[1:]))
    os.truncate(records, records.stat().st_size - 20)
    about = json.loads((path / "run.json").read_text()) | {"state": "running"}
    (path / "run.json").write_text(json.dumps(about))
    shown = kiviat("show").stderr
    assert shown.count("\n") == 3
    for part in ("was interrupted", "ends within a record", "has 1 unverified record"):
        assert part in shown
    for words in (
        ("export",),
        ("export", "--what", "samples"),
        ("export", "--format", "openmetrics"),
        ("sql", "select 1"),
    ):
        done = kiviat(*words)
        assert (done.returncode, done.stderr) == (0, shown), words


def test_export_into_a_folder_that_is_not_there(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    done = kiviat("export", "-o", "nowhere/x.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the export cannot be written to nowhere/x.csv: No such file or directory" in done.stderr


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
    assert "target not reached" not in shown
    run = json.loads(kiviat("runs", "--format", "json").stdout)[0]
    assert (run["state"], run["machine"], run["plan"]) == ("complete", "elsewhere", None)


def test_a_log_named_twice_is_one_launch(kiviat: Kiviat, tmp_path: Path) -> None:
    (tmp_path / "osu.log").write_text("# OSU MPI Latency Test v5.6.2\n# Size Latency (us)\n1 1.10\n")
    (tmp_path / "link").symlink_to("osu.log")
    assert kiviat("ingest", "osu.log", "./osu.log", "link").stdout.startswith("1 result in")


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
    assert "measured by Kiviat in run" in done.stderr and "reported by another program" in done.stderr


def test_machine(kiviat: Kiviat) -> None:
    facts = json.loads(kiviat("host", "--format", "json").stdout)
    lines = kiviat("host").stdout.splitlines()
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


def test_a_run_writes_its_report_though_nothing_reads_its_output(
    make_run: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run writes its report even if no process reads its output.

    `kiviat run --report report.html | head -1` once measured everything and ended without a report.
    """

    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    path = make_run().path
    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(BrokenPipeError):
        print_verdict(path, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().rstrip().endswith("</html>")


def test_an_export_through_a_pipe(make_run: Make, tmp_path: Path) -> None:
    """An export to /dev/stdout goes through the pipe.

    /dev/stdout was once replaced by a file, and the reader got nothing.
    """
    make_run()
    command = f"{sys.executable} -m kiviat.cli.main export --what samples -o /dev/stdout | head -n 2"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith("run,launch,case,benchmark,")
    assert done.stdout.count("\n") == 2
    assert Path("/dev/stdout").is_symlink()


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "openmetrics"])
def test_exports_into_a_named_pipe(kiviat: Kiviat, make_run: Make, tmp_path: Path, form: str) -> None:
    make_run()
    os.mkfifo(tmp_path / "pipe.dat")
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe.dat").read_bytes()))
    reader.start()
    done = kiviat("export", "--format", form, "-o", "pipe.dat")
    reader.join()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert heard[0].startswith({"csv": b"run,", "json": b"[", "parquet": b"PAR1", "openmetrics": b"# "}[form])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "-o", "x.xlsx"), "x.xlsx: exports are CSV, JSON, Parquet or OpenMetrics; name a file"),
        (("export", "-o", "runs"), "the export cannot be written to runs: Is a directory"),
        (("report", "-o", "x.pdf"), "-o x.pdf: the report is HTML; name a file that ends in .html or .htm"),
        (("report", "-o", "runs"), "the report cannot be written to runs: Is a directory"),
        (("balance", "-o", "runs"), "the report cannot be written to runs: Is a directory"),
        (("scaling", "-o", "x.csv"), "-o x.csv: the report is HTML"),
        (
            ("model", "fit", "last", "-o", "runs"),
            "the machine file cannot be written to runs: ",
        ),
        (("run", "--report", "no/x.html"), "the report cannot be written to no/x.html: No such file"),
        (("place", "x", "-o", "runs"), "the placement cannot be written to runs: Is a directory"),
    ],
)
def test_where_nothing_can_be_written(
    kiviat: Kiviat, make_run: Make, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """An unwritable report path is refused before the measurement, not after hours of it."""
    make_run()
    done = kiviat(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_report_into_a_device_has_no_name(kiviat: Kiviat, make_run: Make) -> None:
    make_run()
    done = kiviat("report", "-o", "/dev/stdout")
    assert done.returncode == 0
    assert done.stdout.endswith("</html>")


ODD_NAMES = ("run[12]", "a*", "a?", "it's", "') to 'x", "two\nlines", "caf\udce9")


@pytest.fixture
def odd_runs(make_run: Make, tmp_path: Path) -> Path:
    """Create slow runs with odd names, and fast runs that these names would match as patterns."""
    slow, fast = make_run(3.0, launches=3).path, make_run(1.0, launches=3, name="fast").path
    for name in ODD_NAMES:
        shutil.copytree(slow, tmp_path / "runs" / name)
    for name in ("run1", "a", "ab"):
        shutil.copytree(fast, tmp_path / "runs" / name)
    shutil.rmtree(slow)
    shutil.rmtree(fast)
    return tmp_path / "runs"


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_run_in_a_folder_of_any_name(
    odd_runs: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """A run is found in a folder of any name.

    DuckDB once interpreted names as patterns and showed another run, and names that are not UTF-8 raised
    `bad_cast`.
    """
    monkeypatch.chdir(tmp_path)
    assert main(["show", name, "pingpong"]) == 0
    assert "3.29 µs" in capfd.readouterr().out
    assert main(["sql", "--run", name, "select min(value) from samples", "--format", "csv"]) == 0
    assert float(capfd.readouterr().out.splitlines()[1]) == pytest.approx(3.0e-6, rel=0.02)
    assert main(["export", name, "-o", "x.csv"]) == 0
    with (tmp_path / "x.csv").open() as file:
        assert float(next(csv.DictReader(file))["median"]) == pytest.approx(3.0e-6, rel=0.02)
    assert main(["compare", "run1", name]) == 2  # three launches give no verdict
    assert "3.29 µs" in capfd.readouterr().out


def test_all_odd_runs_at_once(odd_runs: Path, kiviat: Kiviat) -> None:
    assert kiviat("sql", "select count(*) as n from runs").stdout.split() == ["n", "10"]
    assert len(kiviat("runs").stdout.splitlines()) == 11
    assert "3.29 µs" in kiviat("show", odd_runs / "run[12]").stdout
    assert kiviat("report", "run[12]", odd_runs / "caf\udce9").stdout == "report.html\n"


@pytest.mark.parametrize("folder", ["it's", "o'); create table x as (select 1", "t[m]p*", "caf\udce9"])
def test_folders_for_temporary_files_and_exports_of_any_name(
    kiviat: Kiviat, make_run: Make, tmp_path: Path, folder: str
) -> None:
    """Folders of temporary files and of exports may have any name.

    Names were once inserted into SQL unquoted.
    """
    make_run()
    (tmp_path / folder).mkdir()
    done = kiviat("export", "-o", f"{folder}/x.csv", TMPDIR=str(tmp_path / folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / folder).iterdir()] == ["x.csv"]
    done = kiviat("sql", "select count(*) as n from samples", TMPDIR=str(tmp_path / folder))
    assert (done.stdout.split(), done.stderr) == (["n", "72"], "")


@pytest.mark.parametrize("command", [["runs"], ["run", "pingpong"], ["report"]])
def test_a_deleted_working_directory_is_named(tmp_path: Path, command: list[str]) -> None:
    """A deleted working directory is reported as such.

    Once only the compiler noticed it, after a new build had begun.
    """
    gone = tmp_path / "gone"
    gone.mkdir()
    words = [sys.executable, "-m", "kiviat.cli.main", *command]
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    done = subprocess.run(["sh", "-c", script, gone, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kiviat: the working directory has been deleted; cd to one that exists\n"


def test_a_folder_of_logs_becomes_runs(kiviat: Kiviat, tmp_path: Path) -> None:
    for name, text in {
        "a/x-1001.out": test_tree.ALLREDUCE,
        "a/x-1002.out": test_tree.ALLREDUCE.replace("6.76", "7.00"),
        "a/x.sh": test_tree.SCRIPT,
        "a/x-1001.err": "",
        "b/l.out": test_tree.LATENCY,
        "b/m.out": test_stated.FLUX,
        "b/n.out": "nothing\n",
    }.items():
        (tmp_path / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "logs" / name).write_text(text)
    dry = kiviat("ingest", "logs", "--dry-run")
    assert dry.stdout.startswith("4 of 7 files have results: 6 results (dry run: no run written)")
    assert not (tmp_path / "runs").exists()
    done = kiviat("ingest", "logs", "--details")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "4 of 7 files have results: 6 results in 3 runs\n       4  OSU micro-benchm"
    )
    assert "logs/a/x-1001.err is empty\n" in done.stdout
    assert "logs/b/n.out has no results that kiviat reads; it begins with 'nothing'\n" in done.stdout
    runs = json.loads(kiviat("runs", "--format", "json").stdout)
    assert sorted((run["machine"], run["launches"]) for run in runs) == [("a", 2), ("b", 1), ("b", 1)]
    of_a = next(run["run"] for run in runs if run["machine"] == "a")
    shown = kiviat("show", of_a).stdout
    assert "allreduce on 8 ranks" in shown and re.search(r"4 B +6\.88 µs .* 2$", shown, re.MULTILINE)
    whole = json.loads(kiviat("ingest", "logs", "--depth", "0", "--machine", "m", "--format", "json").stdout)
    assert {one["machine"] for one in whole} == {"m"} and len([one for one in whole if one["run"]]) == 2


def test_names_of_files_that_are_not_utf8(kiviat: Kiviat, tmp_path: Path) -> None:
    """A log named r\\xe9sultat.out once made `kiviat ingest` fail, because run.json holds its name."""
    folder = os.fsdecode(b"d\xe9j\xe0")
    log = tmp_path / folder / os.fsdecode(b"r\xe9sultat.out")
    log.parent.mkdir()
    log.write_text(test_tree.ALLREDUCE)
    (log.parent / os.fsdecode(b"t\xe2che.sh")).write_text(test_tree.SCRIPT)
    for name in (folder, str(log.relative_to(tmp_path))):
        done = kiviat("ingest", name)
        assert done.returncode == 0, done.stderr
        assert "4 B" in kiviat("show", "last").stdout
        run = json.loads((max((tmp_path / "runs").iterdir()) / "run.json").read_text())
        evidence = r"results from d\xe9j\xe0/r\xe9sultat.out, ranks and nodes from t\xe2che.sh"
        assert run["launches"][0]["transport"]["evidence"] == evidence
        assert run["machine"]["name"] == (r"d\xe9j\xe0" if name == folder else "unknown")


def test_a_folder_without_results_is_an_error(kiviat: Kiviat, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.err").write_text("")
    for form in ("table", "json"):
        done = kiviat("ingest", "logs", "--format", form)
        assert done.returncode == 2 and "no file in logs has results that kiviat reads" in done.stderr
        assert done.stderr.count("\n") == 1 and not (tmp_path / "runs").exists()


def test_a_named_log_has_the_ranks_of_its_job_script(kiviat: Kiviat, tmp_path: Path) -> None:
    (tmp_path / "x.out").write_text(test_tree.ALLREDUCE)
    (tmp_path / "x.sh").write_text(test_tree.SCRIPT)
    assert kiviat("ingest", "x.out").returncode == 0
    assert "allreduce on 8 ranks" in kiviat("show", "last").stdout


def test_what_is_not_read_of_a_log_is_said(kiviat: Kiviat, tmp_path: Path) -> None:
    """One table that Kiviat does not know once made it refuse the others of a log, or leave no word of it."""
    table = "# Size          Latency (us)\n8 1.0\n"
    (tmp_path / "job.out").write_text(
        f"# OSU MPI Latency Test v5.9\n{table}\n# OSU OpenSHMEM Put Test v5.9\n{table}"
    )
    done = kiviat("ingest", "job.out")
    assert done.returncode == 0 and done.stdout.startswith("1 result in ")
    assert done.stderr.startswith("kiviat: job.out") and "OpenSHMEM Put Test" in done.stderr
