"""The native code with AddressSanitizer and UndefinedBehaviorSanitizer, whose reports end the process.

Leaks are not checked, because the MPI libraries have many. Only `make test-full` runs this file, because
building takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kiviat.launch.mpi.build import PROFILER, RECORDER, REPLAYER, build
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process import children
from kiviat.launch.substrates.simulated import Simulated
from kiviat.machine.modelled.machine import find_machine
from kiviat.trace import read_trace, unpack
from tests import builds
from tests.fuzz import streams
from tests.fuzz.formats import SEEDS
from tests.native.conftest import Native
from tests.native.test_faults import cases_of

pytestmark = pytest.mark.full

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1 -O1"
PROGRAMS = builds.CHECKOUT / "tests" / "trace" / "programs"
REPORTS = ("AddressSanitizer", "runtime error:", "UndefinedBehaviorSanitizer")
LIMIT_S = 1200


def clean(said: str) -> bool:
    return not any(word in said for word in REPORTS)


@pytest.fixture(autouse=True)
def options(monkeypatch: pytest.MonkeyPatch) -> None:
    # Preloaded libraries must come before the sanitizer's own library.
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0")
    monkeypatch.setenv("UBSAN_OPTIONS", "print_stacktrace=1")


@pytest.fixture(scope="module")
def sanitized(openmpi: Toolchain) -> Native:
    """Build with the preset `sanitized` of CMakePresets.json."""
    for command in (["cmake", "--preset", "sanitized"], ["cmake", "--build", "--preset", "sanitized"]):
        done = subprocess.run(command, cwd=builds.CHECKOUT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return Native(openmpi, builds.CHECKOUT / "build" / "sanitized")


def test_a_fault_is_reported(openmpi: Toolchain, tmp_path: Path) -> None:
    """The sanitizers report errors; all other tests of this file rely on it."""
    (tmp_path / "a.cpp").write_text("int main(int n, char**) { int a[2] = {}; return a[n + 1]; }\n")
    compiled = subprocess.run(
        [openmpi.mpicxx, *FLAGS.split(), "a.cpp", "-o", "a"], cwd=tmp_path, capture_output=True
    )
    assert compiled.returncode == 0
    done = subprocess.run([tmp_path / "a"], capture_output=True, text=True)
    assert done.returncode != 0 and not clean(done.stderr)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_native_tests(sanitized: Native, ranks: int) -> None:
    done = sanitized.run(ranks, sanitized.folder / "kiviat-tests", limit_s=LIMIT_S)
    assert clean(done.stdout + done.stderr), done.stderr[-4000:]
    assert "tests, " in done.stdout  # with a sanitizer some tests may exceed their time limits


@pytest.mark.parametrize("ranks", [2, 4])
def test_benchmarks(sanitized: Native, ranks: int, tmp_path: Path) -> None:
    """Every benchmark runs without a report, with all values of its axes."""
    lines = [line for one in sanitized.described().values() for line in cases_of(one)]
    (tmp_path / "cases").write_text("\n".join(line for line in lines if "cache=off" not in line) + "\n")
    done = sanitized.run(
        ranks, sanitized.program, "--cases", tmp_path / "cases", "--out", tmp_path / "out", limit_s=LIMIT_S
    )
    assert done.returncode == 0 and clean(done.stderr), done.stderr[-4000:]
    events = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    results = [event for event in events if event["event"] == "result"]
    assert len(results) > 200 and events[-1]["event"] == "end"
    assert [(one["case"], one["reason"]) for one in results if one["outcome"] == "failed"] == []


def test_cases_of_strangers(sanitized: Native, tmp_path: Path) -> None:
    """Cases files with replaced words yield results, or are refused in one line."""
    from tests.fuzz.mutate import change_lines

    rng, refused = Random(7), 0
    described = sanitized.described()
    lines = [cases_of(described[name])[-1] for name in ("pingpong", "allreduce", "b_eff", "dgemm", "ep")]
    for _ in range(40):
        text, told = change_lines(rng, "\n".join(lines) + "\n")
        (tmp_path / "cases").write_bytes(text.encode("utf-8", "surrogatepass"))
        done = sanitized.run(
            2, sanitized.program, "--cases", tmp_path / "cases", "--out", tmp_path / "out", limit_s=LIMIT_S
        )
        assert clean(done.stderr) and done.returncode in (0, 1, 2), (
            told,
            done.returncode,
            done.stderr[-2000:],
        )
        refused += done.returncode != 0
    assert refused < 40


@pytest.fixture
def own_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make kiviat build with sanitizers."""
    monkeypatch.setenv("CXXFLAGS", FLAGS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(builds.CHECKOUT / "build" / "sanitized-cache"))


@pytest.mark.parametrize(
    ("product", "words"), [(RECORDER, ("trace",)), (PROFILER, ("profile", "--wait-states"))]
)
def test_recorder_and_profiler_pass_the_sanitizers(
    product: str, words: tuple[str, ...], openmpi: Toolchain, own_builds: None, tmp_path: Path
) -> None:
    """The recorder and the profiler handle all kinds of MPI calls without a report."""
    build(openmpi, product=product)
    wrapper = openmpi.mpicxx.with_name(openmpi.mpicxx.name.replace("mpicxx", "mpicc"))
    compile_: list[str | Path] = [
        wrapper,
        "-w",
        "-g",
        "-fsanitize=address,undefined",
        PROGRAMS / "calls.c",
        "-o",
        "calls",
    ]
    subprocess.run(compile_, check=True, cwd=tmp_path)
    kinds = ("ring", "requests", "collectives", "communicators", "anybody", "others")
    launch = (openmpi.mpiexec, "--oversubscribe", "-n", "4", "./calls", *kinds)
    done = children.run(
        [sys.executable, "-m", "kiviat.cli.main", *words, "-o", "result", "--", *launch],
        folder=tmp_path,
        timeout_s=LIMIT_S,
    )
    assert done.returncode == 0 and clean(done.stdout + done.stderr), done.stderr[-4000:]


def test_the_replayer(own_builds: None, tmp_path: Path) -> None:
    """The replayer handles the streams of a recorded program, and damaged ones, without a report."""
    toolchain = find_toolchain(SIMULATOR)
    replayer = build(toolchain, product=REPLAYER)
    machine = find_machine(str(builds.CHECKOUT / "tests" / "simulated" / "small.toml"))
    start = Simulated(machine, REPLAYER).start(toolchain, 4, tmp_path, LauncherOptions())
    start.write(tmp_path)
    trace, rng = read_trace(SEEDS / "calls.trace"), Random(3)
    unpack(trace, tmp_path / "intact")
    for number in range(12):
        unpack(trace, tmp_path / "streams")
        if number:
            rank = rng.randrange(4)
            intact = (tmp_path / "intact" / f"{rank}.stream").read_bytes()
            (tmp_path / "streams" / f"{rank}.stream").write_bytes(streams.mutated_stream(rng, intact))
        spec = start.of([replayer, tmp_path / "streams", tmp_path / "result.json", "1", "1", "0"])
        done = subprocess.run(
            spec.command,
            env={**os.environ, **start.environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
        )
        assert clean(done.stderr), done.stderr[-4000:]
        assert done.returncode in ((0, 2) if number else (0,)) or "Deadlock" in done.stderr, done.stderr[
            -2000:
        ]


def test_the_reader_of_streams(tmp_path: Path) -> None:
    """The reader of the replayer handles many damaged streams, with an MPI that does nothing, without a
    report.
    """
    folder = builds.CHECKOUT / "build" / "fuzz-reader"
    source = builds.CHECKOUT / "native" / "trace" / "fuzz"
    commands: tuple[list[str | Path], ...] = (
        ["cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_CXX_COMPILER=g++"],
        ["cmake", "--build", folder],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:]
    unpack(read_trace(SEEDS / "calls.trace"), tmp_path / "intact")
    intact = [path.read_bytes() for path in sorted((tmp_path / "intact").iterdir())]
    rng, names = Random(5), []
    for number in range(3000):
        names.append(tmp_path / str(number))
        stream = rng.choice(intact)
        for _ in range(rng.choice((1, 1, 3))):
            stream = streams.mutated_stream(rng, stream) or b"\0"
        names[-1].write_bytes(stream)
    done = subprocess.run(
        [folder / "kiviat-fuzz-reader", *names], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-4000:])
    assert len(done.stdout.splitlines()) == len(names)
