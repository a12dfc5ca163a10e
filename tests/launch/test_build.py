from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kiviat.launch.mpi import build_cache
from kiviat.launch.mpi.build import BASIC, PLATFORM, PROGRAM, REPLAYER, build, product_for, program_path
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process import processes
from kiviat.plan import shipped_benchmarks
from kiviat.record import InputError
from kiviat.record.cache import cache_folder

# Needs no MPI, because the build step does not check for one.
CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(tiny LANGUAGES CXX)
add_executable(kiviat-bench main.cpp)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "native"
    (folder / "tests").mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "main.cpp").write_text("int main() {}\n")
    (folder / "tests/test.cpp").write_text("int tests;\n")
    return folder


def test_built_once_for_what_it_depends_on(openmpi: Toolchain, source: Path, tmp_path: Path) -> None:
    told: list[str] = []

    def built() -> Path:
        return build(openmpi, source=source, cache=tmp_path / "cache", tell=told.append)

    first = built()
    assert first.name == "kiviat-bench" and first.stat().st_mode & 0o111
    assert built() == first and len(told) == 1
    (source / "tests/test.cpp").write_text("int other_tests;\n")
    assert built() == first, "tests are no part of the program"
    (source / "main.cpp").write_text("int main() { return 1; }\n")
    assert built() != first and len(told) == 2
    names = [path.name for path in (tmp_path / "cache/build").iterdir()]
    assert sorted(name.rpartition(".")[2] == "lock" for name in names) == [False, False, True, True], names


def test_programs_share_the_library_with_the_simulated_machine(
    openmpi: Toolchain, source: Path, tmp_path: Path
) -> None:
    """The replayer takes the library that the benchmarks' build made; its own project has none here."""
    (source / "CMakeLists.txt").write_text(CMAKE + "add_library(kiviat-platform SHARED main.cpp)\n")
    (source / "trace").mkdir()
    (source / "trace/CMakeLists.txt").write_text(
        CMAKE.replace("kiviat-bench main.cpp", "kiviat-replay ../main.cpp")
    )
    simulator, cache = replace(openmpi, family=SIMULATOR), tmp_path / "cache"
    program = build(simulator, source=source, cache=cache)
    replayer = build(simulator, source=source, cache=cache, product=REPLAYER)
    assert replayer.parent != program.parent
    assert replayer.with_name(PLATFORM).read_bytes() == program.with_name(PLATFORM).read_bytes()


# The second build step waits for a file; the test counts how often the first step runs.
STEPS = """\
cmake_minimum_required(VERSION 3.20)
project(steps LANGUAGES CXX)
add_custom_command(OUTPUT first.h VERBATIM COMMAND sh -c "echo once >>{here}/first && touch first.h")
add_custom_command(OUTPUT second.h DEPENDS first.h VERBATIM COMMAND sh -c
    "echo $$ >{here}/pid.new; mv {here}/pid.new {here}/pid; \
     while [ ! -e {here}/go ]; do sleep 0.05; done; touch second.h")
add_executable(kiviat-bench main.cpp first.h second.h)
"""
BUILD = """
import sys
from pathlib import Path
from kiviat.launch.mpi.build import build
from kiviat.launch.process.signals import Interrupted, Interruptible
from kiviat.launch.mpi.toolchain import find_toolchain

family, source, cache = sys.argv[1:]
try:
    with Interruptible():
        build(find_toolchain(family), source=Path(source), cache=Path(cache))
except Interrupted as interrupted:
    sys.exit(interrupted.kept)
"""


def wait_until(condition: Callable[[], object], limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_build_is_continued(
    openmpi: Toolchain, source: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """An interrupted build is continued by the next one.

    It once lost all its work and left its folder and running compilers behind.
    """
    (source / "CMakeLists.txt").write_text(STEPS.format(here=tmp_path))
    cache = tmp_path / "cache"
    command = [sys.executable, "-c", BUILD, "openmpi", str(source), str(cache)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until((tmp_path / "pid").exists)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    if number == signal.SIGTERM:
        assert stderr == "what is built of kiviat-bench is kept, and the next command goes on with it\n"
    wait_until(lambda: int((tmp_path / "pid").read_text()) not in processes.our_processes())
    assert not list(cache.rglob("kiviat-bench")), "no half of one is seen"
    (tmp_path / "go").touch()
    told: list[str] = []
    assert build(openmpi, source=source, cache=cache, tell=told.append).exists()
    assert [line for line in told if line.startswith("going on with the build of kiviat-bench")]
    assert (tmp_path / "first").read_text() == "once\n"
    assert not list((cache / "build").glob("*.work"))


def test_a_damaged_build_starts_again(openmpi: Toolchain, source: Path, tmp_path: Path) -> None:
    """A build whose folder is damaged starts again from nothing."""
    home = tmp_path / "cache/build" / build(openmpi, source=source, cache=tmp_path / "other").parent.name
    work = home.with_name(f"{home.name}.work")
    work.mkdir(parents=True)
    (work / "source").write_text(str(source))
    (work / "CMakeCache.txt").write_text("nonsense")
    (work / "build.ninja").write_text("nonsense")
    assert build(openmpi, source=source, cache=tmp_path / "cache").parent == home


def test_one_mpi_by_two_names_is_one(openmpi: Toolchain, source: Path, tmp_path: Path) -> None:
    """An MPI that is found under two names is built for only once, such as Open MPI as mpicxx and as
    mpicxx.openmpi.
    """
    from kiviat.launch.mpi.build import _key

    alias = tmp_path / openmpi.mpicxx.name.replace("mpicxx", "mpic++")
    alias.symlink_to(openmpi.mpicxx.with_name(alias.name))
    assert _key(replace(openmpi, mpicxx=alias), source) == _key(openmpi, source)
    for_c = openmpi.mpicxx.with_name(openmpi.mpicxx.name.replace("mpicxx", "mpicc"))
    assert for_c.resolve() == openmpi.mpicxx.resolve(), "all of its wrappers are one file"
    assert _key(replace(openmpi, mpicxx=for_c), source) != _key(openmpi, source)


def test_where_kiviat_is_has_no_part_in_what_is_built(
    toolchain: Toolchain, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of a build does not depend on the working directory.

    If the working directory was removed while Kiviat started, its MPI was taken for a new one.
    """
    from kiviat.launch.mpi.build import _key

    key = _key(toolchain, source)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert _key(toolchain, source) == key


def test_remains_of_interrupted_builds_are_removed(tmp_path: Path) -> None:
    """Folders that interrupted builds of earlier versions left are removed, unless a process uses them."""
    now = time.time()

    def folder(name: str, age_s: float = 0.0) -> Path:
        path = tmp_path / name
        path.mkdir()
        os.utime(path, (now - age_s, now - age_s))
        return path

    home = folder(f"openmpi-4.1.4-{0:016x}")
    earlier = [folder(f"openmpi-4.1.4-{1:016x}.work"), folder(f"openmpi-4.1.4-{2:016x}.ab_cd12e")]
    built = [folder(f"openmpi-4.1.{number}-{number:016x}", 100.0 * number) for number in range(10, 20)]
    old = folder(f"mpich-4.0.2-{1:016x}.work", 8 * 86400)
    stay = [folder(f"mpich-4.0.2-{2:016x}.work"), folder(f"openmpi-4.1.4-{0:016x}.work"), folder("slices-1")]
    at_work = folder(f"openmpi-4.1.4-{3:016x}.work")
    told: list[str] = []
    build_cache.use(built[-1])
    os.utime(built[-1], (0, 0))
    with build_cache.locked(at_work.with_suffix("")) as held:
        assert held
        build_cache.clean(home, "openmpi-", told.append)
    left = {path for path in tmp_path.iterdir() if path.is_dir()}
    assert left == {home, at_work, *stay, *built[:7], built[-1]}
    assert not left & {old, *earlier}
    assert told == [f"removed 5 old builds, 0 MB, from {tmp_path}"]


def test_two_that_build_the_same_build_it_once(openmpi: Toolchain, source: Path, tmp_path: Path) -> None:
    told: list[str] = []
    found: list[Path] = []

    def one() -> None:
        found.append(build(openmpi, source=source, cache=tmp_path / "cache", tell=told.append))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 3
    assert len([line for line in told if line.startswith("building")]) == 1


def test_the_key_knows_the_mpi_and_the_flags(
    openmpi: Toolchain, mpich: Toolchain, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kiviat.launch.mpi.build import _key

    keys = {_key(openmpi, source), _key(mpich, source)}
    monkeypatch.setenv("CXXFLAGS", "-g")
    keys.add(_key(openmpi, source))
    assert len(keys) == 3
    assert {key.partition("-")[0] for key in keys} == {"openmpi", "mpich"}


def test_the_basic_program_is_built_where_it_suffices(
    openmpi: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick plan once waited for the NAS Parallel Benchmarks to compile."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert product_for(openmpi, {"pt2pt", "collective"}) == BASIC
    assert product_for(openmpi, {"pt2pt", "npb"}) == PROGRAM
    monkeypatch.setenv("KIVIAT_SITE", str(tmp_path / "site"))
    (tmp_path / "site/benchmarks").mkdir(parents=True)
    (tmp_path / "site/benchmarks/ours.cpp").touch()
    assert product_for(openmpi, {"pt2pt"}) == PROGRAM, "only it has benchmarks of sites"
    monkeypatch.delenv("KIVIAT_SITE")
    whole = program_path(openmpi)
    assert whole != program_path(openmpi, product=BASIC)
    whole.parent.mkdir(parents=True)
    whole.touch()
    assert product_for(openmpi, {"pt2pt"}) == PROGRAM, "it is built"


def test_nodes_without_a_compiler_take_what_a_login_node_built(
    openmpi: Toolchain, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key named the compiler, so that compute nodes without one never found a build."""
    built = build(openmpi, source=source, cache=tmp_path)
    monkeypatch.setattr("kiviat.launch.mpi.build.compiler.compiler", lambda: None)
    assert build(openmpi, source=source, cache=tmp_path) == built
    (source / "main.cpp").write_text("int main() { return 1; }\n")
    with pytest.raises(InputError, match="a C\\+\\+ compiler is needed"):
        build(openmpi, source=source, cache=tmp_path)


@pytest.mark.full
def test_the_basic_program_has_the_benchmarks_of_its_folders(openmpi: Toolchain, tmp_path: Path) -> None:
    program = build(openmpi, cache=tmp_path, product=BASIC)
    listed = json.loads(subprocess.run([program, "--describe"], capture_output=True, check=True).stdout)
    known = {entry["name"]: entry["file"].partition("/")[0] for entry in shipped_benchmarks()}
    assert {entry["name"] for entry in listed} == {
        name for name, folder in known.items() if folder in ("pt2pt", "collective")
    }


def test_a_failure_is_one_line_with_the_log(openmpi: Toolchain, source: Path, tmp_path: Path) -> None:
    """A failed build is reported in one line with the path of its log, which is kept until that build
    succeeds.
    """
    missing = tmp_path / "nonsense.hpp"
    (source / "main.cpp").write_text(f'#include "{missing}"\nint main() {{ return 0; }}\n')
    with pytest.raises(InputError) as raised:
        build(openmpi, source=source, cache=tmp_path / "cache")
    message = str(raised.value)
    assert "nonsense" in message and "\n" not in message
    log = Path(message.rpartition("log: ")[2])
    assert "nonsense" in log.read_text()
    leavings = [path for path in (tmp_path / "cache/build").iterdir() if path.suffix not in (".lock", ".log")]
    assert leavings == []
    missing.touch()
    assert build(openmpi, source=source, cache=tmp_path / "cache").exists()
    assert not log.exists()


def test_missing_tools_are_named(
    openmpi: Toolchain, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = "kiviat.launch.mpi.build.shutil.which"
    monkeypatch.setattr(which, lambda tool: None if tool == "ninja" else tool)
    with pytest.raises(InputError, match=r"ninja is needed to build .*apt install ninja-build"):
        build(openmpi, source=source, cache=tmp_path / "cache")


def test_a_cache_that_cannot_be_written(openmpi: Toolchain, source: Path) -> None:
    with pytest.raises(
        InputError, match=r"cannot build kiviat-bench in /proc/cache/build: .*; set XDG_CACHE_HOME"
    ):
        build(openmpi, source=source, cache=Path("/proc/cache"))


def test_no_sources(openmpi: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no native sources"):
        build(openmpi, source=tmp_path)


def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/kiviat")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache/kiviat"
