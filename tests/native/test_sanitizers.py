"""The native code with AddressSanitizer and UndefinedBehaviorSanitizer, whose reports end the process, and
its threads with ThreadSanitizer.

Leaks are not checked, because the MPI libraries have many, and neither are races inside them. Only `make
test-full` runs this file, because building takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
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
from tests.native.test_threads import THREADED

pytestmark = pytest.mark.full

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1 -O1"
PROGRAMS = builds.CHECKOUT / "tests" / "trace" / "programs"
REPORTS = ("AddressSanitizer", "runtime error:", "UndefinedBehaviorSanitizer", "ThreadSanitizer")
# A native test asks for more memory than there is.
EXPECTED = "WARNING: AddressSanitizer failed to allocate 0x"
THREADS = "-fsanitize=thread -fno-omit-frame-pointer -g1 -O1"
LIMIT_S = 1200


def clean(said: str) -> bool:
    return not any(word in line for line in said.splitlines() for word in REPORTS if EXPECTED not in line)


@pytest.fixture(autouse=True)
def options(monkeypatch: pytest.MonkeyPatch) -> None:
    # Preloaded libraries must come before the sanitizer's own. malloc() fails as it does without sanitizers.
    own = "detect_leaks=0:verify_asan_link_order=0:allocator_may_return_null=1"
    monkeypatch.setenv("ASAN_OPTIONS", own)
    monkeypatch.setenv("UBSAN_OPTIONS", "print_stacktrace=1")
    monkeypatch.setenv("TSAN_OPTIONS", "ignore_noninstrumented_modules=1 detect_deadlocks=0")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):  # for our own mpiexec
        monkeypatch.setenv(name, "1")


def built(preset: str, toolchain: Toolchain) -> Native:
    """Build with a preset of CMakePresets.json."""
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset]):
        done = subprocess.run(command, cwd=builds.CHECKOUT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return Native(toolchain, builds.CHECKOUT / "build" / preset)


@pytest.fixture(scope="module")
def sanitized(openmpi: Toolchain) -> Native:
    return built("sanitized", openmpi)


OVERRUN = "int main(int n, char**) { int a[2] = {}; return a[n + 1]; }\n"
RACE = """#include <thread>
int count = 0;
int main() {
  std::thread other([] { ++count; });
  ++count;
  other.join();
}
"""


@pytest.mark.parametrize(("flags", "program"), [(FLAGS, OVERRUN), (THREADS, RACE)], ids=["overrun", "race"])
def test_a_fault_is_reported(openmpi: Toolchain, tmp_path: Path, flags: str, program: str) -> None:
    """The sanitizers report errors; all other tests of this file rely on it."""
    (tmp_path / "a.cpp").write_text(program)
    compiled = subprocess.run(
        [openmpi.mpicxx, *flags.split(), "a.cpp", "-o", "a"], cwd=tmp_path, capture_output=True
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


def test_threaded_benchmarks_have_no_races(openmpi: Toolchain, tmp_path: Path) -> None:
    native = built("thread-sanitized", openmpi)
    tests = ("a_team_does_each_task_once_on_each_thread", "a_team_works_at_the_same_time")
    team = native.run(1, native.folder / "kiviat-tests", *tests, limit_s=LIMIT_S)
    assert team.returncode == 0 and clean(team.stderr), team.stderr[-4000:]
    assert "2 tests, 0 failed" in team.stdout
    lines = [f"{name} bytes=8 threads={threads}" for name in THREADED for threads in (2, 3)]
    lines += [f"{name} bytes=65536 channel=communicator" for name in THREADED]
    cases = "".join(f"{number} {line} budget_s=0.1\n" for number, line in enumerate(lines))
    (tmp_path / "cases").write_text(cases)
    words = ("--threads", "multiple", "--cases", tmp_path / "cases", "--out", tmp_path / "out")
    done = native.run(2, native.program, *words, limit_s=LIMIT_S)
    assert done.returncode == 0 and clean(done.stderr), done.stderr[-4000:]
    results = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert {one["outcome"] for one in results if one["event"] == "result"} == {"ok"}


@pytest.fixture
def own_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make kiviat build with sanitizers."""
    monkeypatch.setenv("CXXFLAGS", FLAGS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(builds.CHECKOUT / "build" / "sanitized-cache"))


def observe(
    toolchain: Toolchain, folder: Path, words: Sequence[str], ranks: int, source: str, flags: str, *names: str
) -> None:
    """Compile a program of PROGRAMS and run it under `kiviat` with `words`, without a report."""
    wrapper = toolchain.mpicxx.with_name(toolchain.mpicxx.name.replace("mpicxx", "mpicc"))
    compile_: list[str | Path] = [wrapper, "-w", "-g", *flags.split(), PROGRAMS / source, "-o", "program"]
    subprocess.run(compile_, check=True, cwd=folder)
    launch: list[str | Path] = [toolchain.mpiexec, "--oversubscribe", "-n", str(ranks), "./program", *names]
    done = children.run(
        [sys.executable, "-m", "kiviat.cli.main", *words, "-o", "result", "--", *launch],
        folder=folder,
        timeout_s=LIMIT_S,
    )
    assert done.returncode == 0 and clean(done.stdout + done.stderr), done.stderr[-4000:]


@pytest.mark.parametrize("name", ["turns", "hidden", "chain", "allreduce"])
def test_the_recorder_has_no_races(
    name: str, openmpi: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Threads call MPI one at a time (`turns`, `hidden`) and at once."""
    monkeypatch.setenv("CXXFLAGS", THREADS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(builds.CHECKOUT / "build" / "thread-sanitized-cache"))
    build(openmpi, product=RECORDER)
    observe(openmpi, tmp_path, ("trace",), 2, "threads.c", f"{THREADS} -pthread", name)


@pytest.mark.parametrize(
    ("product", "words"), [(RECORDER, ("trace",)), (PROFILER, ("profile", "--wait-states"))]
)
def test_recorder_and_profiler_pass_the_sanitizers(
    product: str, words: tuple[str, ...], openmpi: Toolchain, own_builds: None, tmp_path: Path
) -> None:
    """The recorder and the profiler handle all kinds of MPI calls without a report."""
    build(openmpi, product=product)
    kinds = ("ring", "requests", "collectives", "communicators", "anybody", "others")
    observe(openmpi, tmp_path, words, 4, "calls.c", "-fsanitize=address,undefined", *kinds)


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
