"""The native program: its command line, its output."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kiviat.launch.run.program import CANNOT_WRITE
from kiviat.record import schema
from kiviat.record.valid import first_wrong

from .conftest import Driven

if TYPE_CHECKING:
    from .conftest import Native

CHECKOUT = Path(__file__).resolve().parents[2]
BENCH = CHECKOUT / "native" / "bench"


# --- registered benchmarks ---------------------------------------------------------------------


def listed(native: Native) -> list[dict[str, str]]:
    loaded: list[dict[str, str]] = json.loads(native.alone("--list").stdout)
    return loaded


def test_the_list_equals_the_files(native: Native) -> None:
    files = {str(path.relative_to(BENCH).with_suffix("")) for path in BENCH.rglob("*.cpp")}
    assert {one["file"] for one in listed(native)} == files
    assert all(one["name"] == Path(one["file"]).name for one in listed(native))
    assert len(listed(native)) == len(files)


def test_descriptions_say_everything(native: Native) -> None:
    metric = schema("record")["$defs"]["metric"]["properties"]
    descriptions = {one["name"]: one for one in json.loads(native.alone("--describe").stdout)}
    assert list(descriptions) == [one["name"] for one in listed(native)]
    for name, one in descriptions.items():
        assert set(one) == {
            *("name", "file", "summary", "source", "aka", "sampling"),
            *("ranks", "sized", "sizes", "element_bytes", "threads", "nominal_s"),
            *("options", "axes", "metrics", "report"),
        }, name
        assert one["summary"] and one["source"], name
        assert one["sampling"] in {"batched", "per_call", "round_trips", "overlapped", "study"}
        assert (one["nominal_s"] > 0) == (one["sampling"] == "study"), name
        assert one["ranks"]["min"] >= 1 and one["ranks"]["multiple"] >= 1
        assert one["ranks"]["max"] is None or one["ranks"]["max"] >= one["ranks"]["min"]
        assert one["element_bytes"] >= 1
        axes = [axis["name"] for axis in one["axes"]]
        # An axis or option that has no effect on a benchmark is not listed for it.
        assert "group" in axes and len(set(axes)) == len(axes), name
        assert ("report" in axes) == (one["sampling"] != "study"), name
        assert one["sized"] <= ("buffer" in axes) == ("cache" in axes), name
        assert ("-m" in one["options"]) == one["sized"] >= bool(one["sizes"]), name
        assert ("-i" in one["options"]) == (one["sampling"] != "study"), name
        for axis in one["axes"]:
            assert axis["help"], (name, axis)
            # Each axis states what it accepts, and accepts its default.
            if axis["default"] not in (axis["values"] or ()):
                assert axis["least"] <= int(axis["default"]) <= axis["most"], (name, axis)
        # A study declares its own metrics.
        assert one["metrics"] and (one["sampling"] == "study" or one["metrics"][0]["name"] == "time")
        report, metrics = one["report"], {each["name"] for each in one["metrics"]}
        assert first_wrong(report, "run", "traits") is None, name
        named = {report["headline"], report["scales"], *(each["metric"] for each in report["headlines"])}
        assert named <= metrics, name
        assert (report["section"] == "") <= (one["sampling"] == "study"), name
        for each in one["metrics"]:
            assert each["unit"] in metric["unit"]["enum"] and each["better"] in metric["better"]["enum"]


# --- without launcher: formats and command lines
# ----------------------------------------------------------------


FEWEST_FOR_AN_INTERVAL = 6  # native/results/statistics.cpp


def formatted(native: Native, form: str, *arguments: str) -> str:
    done = native.run(
        2, native.program, "pingpong", "allreduce", "barrier", *arguments,
        *("--format", form, "--budget", "0.02"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def sections(text: str) -> list[list[str]]:
    """Return the blocks of lines between blank lines."""
    return [block.splitlines() for block in re.split(r"\n\s*\n", text.strip())]


def test_osu_format(native_openmpi: Native) -> None:
    pingpong, allreduce, barrier = sections(formatted(native_openmpi, "osu", "-m", "0,8,1024"))
    for block, sizes in ((pingpong, [0, 8, 1024]), (allreduce, [0, 8, 1024]), (barrier, [0])):
        assert block[0].startswith("# Kiviat ") and block[1].startswith("# Size")
        assert "Latency" in block[1]
        rows = [line.split() for line in block[2:]]
        assert [int(row[0]) for row in rows] == sizes
        assert all(len(row) == 2 and float(row[1]) > 0 for row in rows)


@pytest.mark.parametrize("form", ["osu", "imb", "table"])
def test_a_heading_comes_before_the_first_row_after_a_skipped_size(native_openmpi: Native, form: str) -> None:
    """Reductions skip 1 and 2 B; the heading was skipped with them."""
    lines = formatted(native_openmpi, form, "-m", "2,8").splitlines()
    skipped = next(place for place, line in enumerate(lines) if "skipped" in line)
    row = next(place for place in range(skipped, len(lines)) if lines[place].split()[:1] == ["8"])
    assert any(words in line for line in lines[skipped + 1 : row] for words in ("# Size", "bytes"))


def test_imb_format(native_openmpi: Native) -> None:
    text = formatted(native_openmpi, "imb", "-m", "8,1024")
    assert text.count("# Benchmarking") == 3 and "# #processes = 2" in text
    columns = {"pingpong": 4, "allreduce": 5, "barrier": 5}
    for block in re.split(r"# Benchmarking ", text)[1:]:
        rows = [line.split() for line in block.splitlines() if re.match(r" +\d", line)]
        assert rows and all(len(row) == columns[block.split()[0]] for row in rows)
        for row in rows:
            assert int(row[1]) > 0 and all(float(cell) > 0 for cell in row[2:])
            if len(row) == 4:  # Mbytes/sec is 10^6 bytes divided by the time in the same row
                assert float(row[3]) == pytest.approx(int(row[0]) / float(row[2]), rel=0.05)
            else:
                low, high, mean = map(float, row[2:])
                assert low <= mean <= high


def test_table_format(native_openmpi: Native) -> None:
    text = formatted(native_openmpi, "table", "-m", "8,1024")
    assert re.findall(r"^# (\w+), 2 ranks$", text, re.MULTILINE) == ["pingpong", "allreduce", "barrier"]
    rows = [line.split() for line in text.splitlines() if re.match(r" +\d", line)]
    assert len(rows) == 5
    for row in rows:
        bytes_, samples, median, low, high, least, rate, check = row
        assert int(bytes_) in (0, 8, 1024) and int(samples) >= 1 and check == "passed"
        assert float(least) <= float(median)
        if int(samples) < FEWEST_FOR_AN_INTERVAL:  # the processors were busy
            assert (low, high) == ("-", "-")
        else:
            assert float(least) <= float(low) <= float(median) <= float(high)
        assert rate == "-" or float(rate) == pytest.approx(int(bytes_) / float(median), rel=0.05)


def test_table_format_of_one_sample(native_openmpi: Native) -> None:
    """An interval that few samples do not have is unavailable, not `nan`."""
    words = ["pingpong", "-m", "8", "--format", "table", "-i", "5"]
    done = native_openmpi.run(2, native_openmpi.program, *words)
    (row,) = (line.split() for line in done.stdout.splitlines() if re.match(r" +\d", line))
    assert (row[1], row[3:5]) == ("1", ["-", "-"]) and float(row[2]) == float(row[5]) > 0


def test_csv_format(native_openmpi: Native) -> None:
    rows = list(csv.DictReader(io.StringIO(formatted(native_openmpi, "csv", "-m", "8,1024"))))
    assert {row["case"] for row in rows} == {
        *("pingpong/bytes=8", "pingpong/bytes=1024", "allreduce/bytes=8", "allreduce/bytes=1024", "barrier")
    }
    for row in rows:
        # each row has as many cells as there are headings
        assert None not in row and None not in row.values()
        assert row["outcome"] == "ok" and float(row["min"]) <= float(row["p50"]) <= float(row["max"])
        assert (row["bytes"] == "") == (row["benchmark"] == "barrier")
    assert {row["metric"] for row in rows if row["benchmark"] == "pingpong"} == {"time", "bandwidth"}


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_formats(native_openmpi: Native, form: str) -> None:
    text = formatted(native_openmpi, form, "-m", "8,1024")
    events = json.loads(text) if form == "json" else [json.loads(line) for line in text.splitlines()]
    assert [event["event"] for event in events] == ["launch", *["result"] * 5]
    assert events[0]["world"] == 2


def test_failures_are_rows_too(native_openmpi: Native) -> None:
    done = native_openmpi.run(2, native_openmpi.program, "pingpong", "--ranks", "5", "--format", "osu")
    assert done.returncode == 0  # skipped cases are not failures
    assert "skipped: needs 5 ranks, but the launch has 2" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no benchmark given"),
        (["pingpnog"], "unknown benchmark 'pingpnog'"),
        (["pingpong", "--frobnicate"], "option '--frobnicate' is unknown"),
        (["pingpong", "-m"], "-m needs a value"),
        (["pingpong", "-m", "8k"], "size is '8k'"),
        (["pingpong", "-m", "8:4"], "'8:4'"),
        (["pingpong", "-m", "5:7"], "'5:7'"),
        (["pingpong", "--target", "tight"], "'tight'"),
        (["pingpong", "--set", "window"], "'window'"),
        (["all_pairs", "-m", "8"], "-m 8 is not used by all_pairs; all_pairs takes --set concurrent/"),
        (["b_eff", "hpl", "--budget", "1"], "--budget 1 is not used by b_eff, hpl; b_eff takes --set"),
        (["iallreduce", "--pallas2"], "--pallas2 is not used by iallreduce; iallreduce takes -m, -i, --"),
        (["latency", "--sync", "barrier"], "--sync barrier is not used by latency"),
        (["pingpong", "-x", "3"], "-x 3: without -i"),
        (
            ["pingpong", "-i", "3", "--budget", "1"],
            "--budget 1: -i and --pallas2 fix the number of iterations",
        ),
        (
            ["pingpong", "--cases", "x", "--out", "y"],
            "--cases FILE already names benchmarks and their options",
        ),
        (["pingpong", "--format", "xml"], "format 'xml' is unknown"),
        (["--cases", "cases.txt"], "--cases needs --out"),
        (["--cases", "/nonexistent/cases.txt", "--out", "/dev/null"], "'/nonexistent/cases.txt'"),
        (["pingpong", "--json", "/nonexistent/out.jsonl"], "'/nonexistent/out.jsonl'"),
    ],
)
def test_bad_command_lines(native: Native, arguments: list[str], said: str) -> None:
    done = native.alone(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("kiviat-bench: ") and said in lines[0]


@pytest.mark.both_mpis
def test_a_bad_command_line_is_reported_once_for_all_ranks(native: Native) -> None:
    """An invalid command line is reported once, not by every rank."""
    done = native.run(2, native.program, "pingpnog")
    assert done.returncode != 0  # Open MPI's mpiexec returns its own exit code if MPI_Init was not called
    assert done.stderr.count("unknown benchmark 'pingpnog'") == 1


def test_help_and_version(native: Native) -> None:
    assert "usage: mpirun" in native.alone("--help").stdout
    version = (CHECKOUT / "native" / "version.txt").read_text().strip()
    assert native.alone("--version").stdout == f"kiviat-bench {version}\n"


# --- driven by a cases file -----------------------------------------------------------------------------


@pytest.mark.both_mpis
def test_events_tell_the_launch_every_case_and_the_end(driven: Driven) -> None:
    done = driven(
        2, "a pingpong bytes=8 budget_s=0.05", "b allreduce bytes=64 budget_s=0.05", "c barrier budget_s=0.05"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    kinds = [(event["event"], event.get("case")) for event in driven.events]
    cases = [(kind, case) for case in "abc" for kind in ("start", "result")]
    assert kinds == [("launch", None), *cases, ("end", None)]
    launch = driven.events[0]
    assert launch["world"] == 2 and [rank["rank"] for rank in launch["ranks"]] == [0, 1]
    assert len({rank["pid"] for rank in launch["ranks"]}) == 2
    assert driven.native.toolchain.vendor.title == launch["mpi"]
    assert 0 < launch["clock_cost_s"] < 1e-5


@pytest.mark.both_mpis
def test_a_budget_that_is_over_at_once_still_gives_a_sample(driven: Driven) -> None:
    names = ("pingpong", "allreduce", "iallreduce")
    done = driven(2, *(f"{name} {name} bytes=8 budget_s=1e-9" for name in names))
    assert done.returncode == 0, done.stderr
    results = [event for event in driven.events if event["event"] == "result"]
    assert [result["outcome"] for result in results] == ["ok"] * 3, results
    assert all(result["stopped_by"] == "budget" for result in results)


def test_an_alias_of_a_family_means_all_of_it(native_openmpi: Native) -> None:
    words = ["-m", "64", "--set", "phase_ms=1", "--format", "jsonl"]
    done = native_openmpi.run(2, native_openmpi.program, "dense", *words)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    names = [event["benchmark"] for event in events if event["event"] == "result"]
    assert names == ["dense_cumulative", "dense_pairwise", "dense_random", "dense_total_exchange"]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("b_eff lmax=100", "lmax=100: give 4096 to 134217728, or 0"),
        ("dense_random bytes=64 phases=0", "phases=0: give 1 to 10000"),
        ("dense_pairwise bytes=64 phase_ms=0", "phase_ms=0: give 1 to 60000"),
        ("dense_pairwise bytes=64 matching=near", "matching=near: give one of disjoint, halves, both"),
        ("dense bytes=64", "'dense' is ambiguous: give one of dense_cumulative, "),
        ("all_pairs long=4", "long=4: give 8 to 1000000000"),
        ("streaming time_ms=-1", "time_ms=-1: give 1 to 60000"),
        ("bisection halves=x", "halves=x: give 0 to 1000"),
    ],
)
def test_settings_of_studies_that_make_no_sense(
    native_openmpi: Native, tmp_path: Path, case: str, said: str
) -> None:
    driven = Driven(native_openmpi, tmp_path)
    driven(2, f"a {case}")
    (result,) = driven.results
    assert result["outcome"] == "failed" and result["phase"] == "setup"
    assert said in result["reason"]


def test_an_invalid_case_fails_on_all_ranks(driven: Driven) -> None:
    """An invalid message size fails on all ranks.

    Only rank 0 once threw an exception while recording the size, and the others waited for ever.
    """
    done = driven(2, "a pingpong bytes=many", "b pingpong bytes=8 budget_s=0.02")
    assert done.returncode == 0, done.stderr
    assert [result["outcome"] for result in driven.results] == ["failed", "ok"]
    assert driven.results[0]["bytes"] is None and "'many'" in driven.results[0]["reason"]


def test_a_full_disk_ends_the_run_with_one_line(driven: Driven) -> None:
    """A full disk ends the run with one line of message.

    Every event that could not be written once printed a message, and the case was measured in vain.
    """
    done = driven(2, *(f"{i} pingpong bytes=8" for i in range(5)), out=Path("/dev/full"))
    assert done.returncode == CANNOT_WRITE
    said = [line for line in done.stderr.splitlines() if "kiviat-bench" in line and "cannot write" in line]
    assert len(said) == 1
    assert "'/dev/full': No space left on device" in said[0]


def test_cases_that_cannot_be_read_are_refused(driven: Driven) -> None:
    done = driven(2, "a pingpong bytes=8", "b pingpong bytes")
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if line.startswith("kiviat-bench: ")]
    assert said == ["kiviat-bench: cases file, line 4: 'bytes' is not of the form key=value"]


def test_ranks_at_a_distance_and_in_groups(native_openmpi: Native, tmp_path: Path) -> None:
    driven = Driven(native_openmpi, tmp_path)
    done = driven(
        4,
        "near pingpong bytes=64 mode=fixed iterations=5",
        "far pingpong bytes=64 mode=fixed iterations=5 distance=3",
        "groups allreduce bytes=64 mode=fixed iterations=5 group=2",
        "beyond pingpong bytes=64 distance=4",
    )
    assert done.returncode == 0, done.stderr
    near, far, groups, beyond = driven.results
    assert [near["outcome"], far["outcome"], groups["outcome"], beyond["outcome"]] == [
        *("ok", "ok", "ok", "skipped")
    ]
    assert near["check"] == far["check"] == groups["check"] == "passed"
    assert (near["ranks"], far["ranks"], groups["ranks"]) == (2, 2, 4)
    assert far["axes"] == {"distance": 3} and groups["axes"] == {"group": 2}
