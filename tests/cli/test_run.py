"""`kiviat run` with a real MPI and the real benchmarks, in short runs."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.record import schema
from tests.cli.conftest import Kiviat, on_terminal

PLANS = (
    "applications, full, gears, gears-quick, hpcc, hpcc-modelled, hpcc-quick, hpccg, hpccg-quick, lammps, "
    "lj, lj-quick, network-sharing, npb, npb-quick, quick, standard"
)
PLAN = """
schema = "kiviat.plan/1"
name = "tiny"
launches = 2
controls = { budget_s = 0.03, min_samples = 5 }
[[cases]]
benchmarks = ["pingpong", "allreduce"]
bytes = [8, 1024]
[[cases]]
benchmarks = "barrier"
"""


@pytest.fixture(autouse=True)
def one_mpi(openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build once for all tests, before a test could mistake the compiler for a hang."""
    build(openmpi)
    monkeypatch.setenv("MPICXX", str(openmpi.mpicxx))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(PLAN)
    return path


def run_json(folder: Path) -> tuple[Path, dict[str, Any]]:
    (path,) = (folder / "runs").iterdir()
    return path, json.loads((path / "run.json").read_text())


def measured(path: Path, run: dict[str, Any]) -> Counter[tuple[int, str]]:
    """Return the number of records of each case in each repetition."""
    repetition = {launch["index"]: launch["repetition"] for launch in run["launches"]}
    records = map(json.loads, (path / "records.jsonl").read_text().splitlines())
    return Counter((repetition[record["launch"]], record["case"]) for record in records)


CASES = {
    *(f"{name}/ranks=2/bytes={size}" for name in ("pingpong", "allreduce") for size in (8, 1024)),
    "barrier/ranks=2",
}
EVERYTHING = Counter((repetition, case) for repetition in range(2) for case in CASES)


def test_quiet_prints_where_the_run_is(kiviat: Kiviat, plan: Path, tmp_path: Path) -> None:
    done = kiviat("run", plan, "-n", "2", "-q")
    path, _ = run_json(tmp_path)
    # If other programs are running here, Kiviat warns that the machine is busy.
    said = [line for line in done.stderr.splitlines() if not line.startswith("kiviat: this machine is busy")]
    assert (done.returncode, done.stdout, said) == (0, f"{path.relative_to(tmp_path)}\n", [])
    assert (path / "report.html").exists()


def test_verbose_shows_each_command_and_case(kiviat: Kiviat, plan: Path, tmp_path: Path) -> None:
    done = kiviat("run", plan, "-n", "2", "--verbose")
    assert done.returncode == 0, done.stderr
    _, run = run_json(tmp_path)
    lines = done.stderr.splitlines()
    for launch in run["launches"]:
        assert sum(line.endswith(shlex.join(launch["command"])) for line in lines) == 1
    assert [line for line in lines if line.endswith(": ok")][-1].startswith("  10 of 10  ")
    assert Counter(line.split()[3].rstrip(":") for line in lines if line.endswith(": ok")) == Counter(
        dict.fromkeys(CASES, 2)
    )


def test_one_command_from_nothing_to_a_report(kiviat: Kiviat, plan: Path, tmp_path: Path) -> None:
    done = kiviat("run", plan, "-n", "2", "--machine", "here")
    assert done.returncode == 0, done.stderr
    path, run = run_json(tmp_path)
    assert list(Draft202012Validator(schema("run")).iter_errors(run)) == []
    assert (run["state"], run["plan"]["name"], run["plan"]["cases"], run["machine"]["name"]) == (
        "complete",
        "tiny",
        5,
        "here",
    )
    assert measured(path, run) == EVERYTHING
    validator = Draft202012Validator(schema("record"))
    for line in (path / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert list(validator.iter_errors(record)) == []
        assert (record["outcome"], record["check"]) == ("ok", "passed")

    assert done.stdout.startswith("plan tiny: 5 cases on 2 ranks in 2 launches with Open MPI")
    assert "5 cases measured in 2 launches" in done.stdout
    assert "\n1. " in done.stdout
    assert f"results  runs/{path.name}  (`kiviat show {path.name}`)" in done.stdout
    assert (path / "report.html").stat().st_size > 50_000
    assert "launch 2 of 2 on 2 ranks, 5 of 10 results, about " in done.stderr
    assert "\r" not in done.stderr and "\033" not in done.stderr
    assert not (path / "writer").exists()


def test_a_dry_run_says_what_it_would_do_and_does_nothing(kiviat: Kiviat, plan: Path, tmp_path: Path) -> None:
    done = kiviat("run", plan, "-n", "2", "--dry-run")
    assert done.returncode == 0
    commands = [line for line in done.stdout.splitlines() if "kiviat-bench --cases launches/" in line]
    commands = [line for line in commands if "launches/probe" not in line]
    assert len(commands) == 2
    assert all("mpiexec" in command and " -n 2 " in command for command in commands)
    assert (
        "  pingpong/ranks=2/bytes=8 pingpong ranks=2 bytes=8 budget_s=0.03 min_samples=5 seed=1"
        in done.stdout
    )
    assert not (tmp_path / "runs").exists()


def test_an_interrupted_run_is_resumed_where_it_was(kiviat: Kiviat, plan: Path, tmp_path: Path) -> None:
    # Take samples until the time budget is spent; on a quiet machine a target would be reached at once,
    # because equal samples have an interval of width 0.
    endless = "budget_s = 0.6, min_samples = 1_000_000, max_samples = 1_000_000"
    plan.write_text(PLAN.replace("budget_s = 0.03, min_samples = 5", endless))
    started = subprocess.Popen(
        [sys.executable, "-m", "kiviat.cli.main", "run", plan, "-n", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not any(file.stat().st_size for file in (tmp_path / "runs").glob("*/records.jsonl")):
        assert started.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, stderr = started.communicate(timeout=60)
    assert started.returncode == 130
    path, run = run_json(tmp_path)
    told = f"runs/{path.name} keeps what is finished, `kiviat run --resume {path.name}` goes on"
    assert stderr.splitlines()[-1] == f"kiviat: interrupted; {told}"
    assert run["state"] == "interrupted"
    first = measured(path, run)
    assert 0 < first.total() < 10

    refused = kiviat("run", "--resume", "last", "--budget", "1")
    assert (refused.returncode, "leave --budget 1.0 out" in refused.stderr) == (2, True)

    other = kiviat("run", "--resume", "last", "--mpi", "mpich")
    assert (other.returncode, "--resume uses the MPI of the run" in other.stderr) == (2, True)

    command = [sys.executable, "-m", "kiviat.cli.main", "run", "--resume", "last"]
    both = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = {one.communicate(timeout=120)[1]: one.returncode for one in both}
    assert sorted(said.values()) == [0, 2], said
    assert any(" is being written by process " in line for line in said)
    path, run = run_json(tmp_path)
    assert run["state"] == "complete"
    assert measured(path, run) == EVERYTHING
    again = kiviat("run", "--resume", "last")
    assert (again.returncode, "is complete; there is nothing to resume" in again.stderr) == (2, True)


def test_a_terminal_has_a_line_that_changes(plan: Path, tmp_path: Path) -> None:
    seen = on_terminal(tmp_path, {}, "run", "--plan", str(plan), "-n", "2")
    assert "\r\033[K" in seen
    assert "launch 2/2" in seen
    assert " left  " in seen


def test_options_reach_the_cases(kiviat: Kiviat, plan: Path) -> None:
    options = ["-m", "64", "--budget", "0.5", "--target", "5"]
    options += ["--sync", "barrier", "--seed", "7", "--launches", "3"]
    done = kiviat("run", plan, "allreduce", "-n", "2", *options, "--dry-run")
    assert done.stdout.startswith("plan tiny: 1 case on 2 ranks in 3 launches")
    assert (
        "  allreduce/ranks=2/bytes=64/sync=barrier allreduce ranks=2 bytes=64 "
        "budget_s=0.5 min_samples=5 sync=barrier target=0.05 seed=7\n"
    ) in done.stdout
    done = kiviat(
        "run", "uniband", "-m", "8", "-n", "4", "--set", "window=1", "-i", "50", "-x", "5", "--dry-run"
    )
    assert "uniband/ranks=4/bytes=8/window=1 uniband ranks=4 bytes=8 window=1 " in done.stdout
    assert " mode=fixed iterations=50 warmup=5 " in done.stdout
    done = kiviat("run", "allreduce", "-m", "8", "-n", "2:6", "--dry-run")
    assert {line.split()[0] for line in done.stdout.splitlines() if "/bytes=" in line} == {
        f"allreduce/ranks={ranks}/bytes=8" for ranks in (2, 4, 6)
    }
    assert "ranks=2 " in kiviat("run", "allreduce", "-m", "8", "-n", "doubling", "--dry-run").stdout
    done = kiviat("run", "bcast", "-m", "8", "-n", "2,4", "--set", "root=0, 3", "--dry-run")
    assert {line.split()[0] for line in done.stdout.splitlines() if "/bytes=" in line} == {
        "bcast/ranks=2/bytes=8",
        "bcast/ranks=4/bytes=8",
        "bcast/ranks=4/bytes=8/root=3",
    }
    done = kiviat("run", "pingpong", "-m", "8", "-n", "4", "--groups", "2", "--dry-run")
    assert "  pingpong/ranks=4/bytes=8/group=2 pingpong ranks=4 bytes=8 group=2 " in done.stdout


def test_cases_are_launched_until_their_interval_is_narrow(kiviat: Kiviat, tmp_path: Path) -> None:
    """A case gets as many launches as its interval needs, up to the limit, also in a resumed run."""
    words = ("run", "pingpong", "-m", "8", "-n", "2", "--launches", "1", "--budget", "0.01")
    wide = kiviat(*words, "--interval", "99")
    assert wide.stdout.startswith("plan pingpong: 1 case on 2 ranks in 1 launch, at most 25 of a case, with ")
    assert "launch 6 of at most 25" in wide.stderr and "launch 7" not in wide.stderr
    narrow = kiviat(*words, "--interval", "0.0001", "--launches-max", "7", "-o", "narrow")
    assert "launch 7 of at most 7" in narrow.stderr and narrow.returncode == 0
    (run,) = (tmp_path / "narrow").iterdir()
    document = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(document | {"state": "interrupted", "finished": None}))
    records = run / "records.jsonl"
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:-1]))
    again = kiviat("run", "--resume", run)
    assert again.returncode == 0, again.stderr
    assert "launch 7 of at most 7" in again.stderr and "launch 6" not in again.stderr
    refused = kiviat("run", "pingpong", "--on", "simulated:altix-bx2", "--interval", "5")
    assert refused.returncode == 2 and "the same in every launch" in refused.stderr


def test_a_run_of_some_benchmarks_is_named_after_them(kiviat: Kiviat) -> None:
    """A run of some benchmarks is named after them.

    Such runs were once called quick, after a plan from which they took only the number of launches.
    """
    one = kiviat("run", "osu_latency", "-m", "8", "-n", "2", "--dry-run").stdout
    assert one.startswith("plan osu_latency: 1 case on 2 ranks in ")
    several = kiviat("run", "pingpong", "bcast", "stream", "fft", "-m", "8", "-n", "2", "--dry-run").stdout
    assert several.startswith("plan pingpong-bcast-stream-and-1-more: ")
    of_plan = kiviat("run", "standard", "pingpong", "-m", "8", "-n", "2", "--dry-run").stdout
    assert of_plan.startswith("plan standard: 1 case on 2 ranks in ")


def test_a_plan_is_named_like_a_benchmark(kiviat: Kiviat) -> None:
    by_old_option = kiviat("run", "--plan", "standard", "-n", "2", "barrier", "--dry-run").stdout
    by_name = kiviat("run", "standard", "barrier", "-n", "2", "--dry-run").stdout
    assert by_name.startswith("plan standard: 1 case on 2 ranks in 5 launches")
    assert by_name == by_old_option


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pingpog",), "unknown benchmark or plan 'pingpog' in the command line; did you mean 'pingpong'?"),
        (("npb-quik",), "plan 'npb-quik' in the command line; did you mean 'npb-quick'?"),
        (("hpc",), "unknown benchmark or plan 'hpc' in the command line; did you mean 'hpcc'?"),
        (("xyz",), f"plans are {PLANS}"),
        (("quick", "full"), "several plans in the command line: quick, full; give one"),
        (("-m", "8Q"), "size '8Q' in the command line is not a size"),
        (("cg", "-n", "3"), "-n 3 does not fit: cg runs on 1, 2, 4, 8 or another power of two ranks"),
        (("cg", "--class", "D"), "class of cg is 'D' in the command line; give S, W, A, B or C"),
        (
            ("lj", "--set", "nx=65537"),
            "nx of lj is 65537 in the command line; give a whole number from 1 to 65536",
        ),
        (("lj", "--groups", "-1"), "group of lj is -1 in the command line; give a whole number from 0 on"),
        (
            ("stream", "--memory", "100"),
            "memory of stream is 100 in the command line; give 1 KiB to 1 PiB, auto or auto:BYTES",
        ),
        (
            ("stream", "--memory", "auto:100"),
            "memory of stream is 'auto:100' in the command line; give 1 KiB to 1 PiB",
        ),
        (
            ("hpl", "--set", "n=auto:9"),
            "n of hpl is 'auto:9' in the command line; give a whole number from 1 to 100000000 or auto",
        ),
        (
            ("b_eff", "--set", "lmax=100"),
            "is 100 in the command line; give 4 KiB to 128 MiB or 0",
        ),
        (
            ("b_eff", "--set", "lmax=1G"),
            "is '1G' in the command line; give 4 KiB to 128 MiB or 0",
        ),
        (
            ("bisection", "--set", "halves=1,000"),
            "is '000' in the command line; give a whole number from 0 to 1000",
        ),
        (
            ("bcast", "-n", "4", "--set", "root=4"),
            "root of bcast is 4 in the command line, too large for cases of 4 ranks; give 0 to 3, or more",
        ),
        (
            ("bcast", "-n", "8", "--set", "root=3", "--groups", "2"),
            "too large for groups of 2 ranks; give 0 to 1, or larger groups",
        ),
        (
            ("hpl", "-n", "4", "--set", "p=3"),
            "hpl has p=3 in the command line, which is no grid of 4 ranks; give p and q with p x q = 4",
        ),
        (("ptrans", "-n", "4", "--set", "p=2", "--set", "q=1"), "ptrans has p=2 and q=1 in the command line"),
        (
            ("pingpong", "-n", "4", "--groups", "3"),
            "group of pingpong is 3 in the command line; give a group of exactly 2 ranks, or 0",
        ),
        (("pingpong", "-n", "4", "--set", "distance=4"), "distance of pingpong is 4 in the command line"),
        (("stream", "--set", "threads=2:2"), "threads of stream is '2:2' in the command line"),
        (("lj", "--set", "nx=-5"), "nx of lj is '-5' in the command line; give a whole number from 1 to"),
        (("pingpong", "-n", "1"), "no case for -n 1: pingpong needs exactly 2 ranks"),
        (("-n", "many"), "number of ranks 'many' in -n cannot be read"),
        (("fast.toml",), "there is no plan 'fast.toml'"),
        (("--set", "window"), "--set 'window' is not of the form AXIS=VALUE"),
        (("--set", "windw=1"), "none of the selected benchmarks has the axis 'windw'"),
        (("pingpong", "-o", "/dev/null/x"), "no run can be created in /dev/null/x: Not a directory"),
        (("--mpi", "nonsense"), "--mpi 'nonsense' was not found"),
        (("--launches", "0"), "launches is 0 in the command line; give at least 1"),
        (("--resume", "last"), "there is no run 'last'"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    kiviat: Kiviat, arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = kiviat("run", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert message in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_report_without_room_does_not_hide_the_results(kiviat: Kiviat, plan: Path) -> None:
    done = kiviat("run", plan, "barrier", "-n", "2", "--report", "/dev/full")
    assert done.returncode == 2
    assert "results  runs/" in done.stdout
    told = "kiviat: the report cannot be written to /dev/full: No space left on device"
    assert done.stderr.splitlines()[-1].startswith(told)


def test_a_disk_that_fills_up(kiviat: Kiviat, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", "size=120k", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.xfail("only root, and not in every container, can mount a small disk")
    try:
        done = kiviat("run", "pingpong", "-m", "0:64", "--launches", "20", "--budget", "0.02", "-o", disk)
        assert done.returncode == 2
        # The write that fails may be that of a record or of run.json.
        told = done.stderr.splitlines()[-1]
        assert "is full; finished results are kept" in told or "No space left on device; finished" in told
        (path,) = disk.iterdir()
        shown = kiviat("show", path)
        assert shown.returncode == 0
        assert "pingpong on 2 ranks" in shown.stdout
        assert json.loads((path / "run.json").read_text())["state"] in ("running", "interrupted")
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_wrong_name_is_refused_before_anything_is_built(kiviat: Kiviat, tmp_path: Path) -> None:
    done = kiviat("run", "-n", "2", "pingpnog", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 2 and "'pingpnog'" in done.stderr
    assert done.stderr.count("\n") == 1 and not list((tmp_path / "cache").rglob("build"))


def test_list_tells_what_there_is(kiviat: Kiviat) -> None:
    lines = kiviat("list").stdout.splitlines()
    assert any(line.startswith("pt2pt/pingpong ") and "osu_latency" in line for line in lines)
    detail = kiviat("list", "osu_latency").stdout
    assert "pingpong: " in detail and "exactly 2 ranks" in detail and "--set distance=1" in detail
    assert [entry["name"] for entry in json.loads(kiviat("list", "pingpong", "--format", "json").stdout)] == [
        "pingpong"
    ]


def test_list_says_how_each_benchmark_is_timed_and_what_it_takes(kiviat: Kiviat) -> None:
    """`kiviat list` says how each benchmark is timed and which options it supports.

    33 studies were once called "timed call by call, beside computation", and no options were listed.
    """
    known = {entry["name"]: entry for entry in json.loads(kiviat("list", "--format", "json").stdout)}
    told: dict[str, dict[str, str]] = {}
    text = kiviat("list", *known).stdout
    lines = " ".join(text.split())
    assert "--set nx=20: crystal cells along x, four atoms each (a whole number from 1 to 65536)" in lines
    assert "at most so much (1 KiB to 1 PiB, auto or auto:BYTES)" in lines
    assert "(a whole number from 0 on)" in lines and str(2**31 - 1) not in lines  # MPI's own bound
    for line in text.splitlines():
        if line and not line.startswith(" "):
            told[line.partition(":")[0]] = facts = {}
        elif line.startswith("  ") and not line.startswith(("  --set", "      ")):
            facts[line[2:14].strip()] = line[14:]
    assert told.keys() == known.keys()
    words = {
        "batched": "in batches of calls",
        "per_call": "call by call, all ranks starting together",
        "round_trips": "call by call, each round trip after the last",
        "overlapped": "call by call: alone, computation alone, and both at once",
        "study": "by a procedure of its own",
        "once": "by the program itself",
    }
    for name, entry in known.items():
        assert told[name]["timed"].startswith(words[entry["sampling"]]), name
        assert told[name].get("takes", "") == ", ".join(entry.get("options", [])), name
        assert ("-m does not apply" in told[name]["sizes"]) == (not entry["sized"]), name
    assert told["hpl"]["timed"] == "by a procedure of its own, about 60 s by default"
    assert told["dense_random"]["sizes"].startswith("1 KiB, 64 KiB, 1 MiB")


def test_pages_are_chosen_and_recorded(kiviat: Kiviat, tmp_path: Path) -> None:
    """`--pages` selects the page size, and records note the share of huge pages.

    With `small`, no rank gets huge pages; the effect of `huge` depends on the system.
    """
    case = ("stream", "-n", "2", "--set", "memory=40000000", "--launches", "1")
    for pages, share in (("small", r"0 %"), ("huge", r"\d+ %")):
        done = kiviat("run", "-q", *case, "--pages", pages)
        assert done.returncode == 0, done.stderr
        for line in (tmp_path / done.stdout.strip() / "records.jsonl").read_text().splitlines():
            note = json.loads(line)["notes"]["pages"]
            assert re.match(rf"{pages}, (?:{share} of the memory|share of huge pages unavailable)", note), (
                note
            )
    done = kiviat("run", *case, "--pages", "small", "--on", "simulated:altix-bx2")
    assert done.returncode == 2
    assert done.stderr.strip() == "kiviat: --pages small: a simulated machine has no pages; leave it out"


def test_watts_are_declared(kiviat: Kiviat, tmp_path: Path) -> None:
    small = ("stream", "-n", "2", "--set", "memory=100000", "--launches", "1")
    done = kiviat("run", *small, "--watts", "115W/node")
    assert done.returncode == 0, done.stderr
    path, run = run_json(tmp_path)
    assert list(Draft202012Validator(schema("run")).iter_errors(run)) == []
    assert run["machine"]["declared_watts"] == {"value": 115, "per": "node", "source": "command line"}
    records = [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]
    assert records
    for record in records:
        assert record["notes"]["energy"] == "declared: 115 W per node"
        tables = {table["name"]: table for table in record["tables"]}
        times = dict(
            zip(tables["kernel_time"]["axes"][0]["values"], tables["kernel_time"]["values"], strict=True)
        )
        assert set(times) == {"copy", "scale", "add", "triad"}
        assert [axis["name"] for axis in tables["energy"]["axes"]] == ["kernel", "node"]
        assert tables["power"]["values"] == [115] * 4
        assert tables["energy"]["values"] == pytest.approx([115 * time for time in times.values()], rel=1e-5)
    assert "energy: declared: 115 W per node" in kiviat("show", "last", "stream").stdout
    for nonsense in ("115", "much/node", "0/node", "115/rack"):
        done = kiviat("run", *small, "--watts", nonsense)
        assert done.returncode == 2
        wanted = "give watts per node or per socket, such as 115/node or 95/socket"
        assert done.stderr.strip() == f"kiviat: --watts {nonsense!r}: {wanted}"
