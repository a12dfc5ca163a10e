from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kiviat.launch.build import build, cache_folder
from kiviat.launch.toolchain import Toolchain
from kiviat.record import InputError

# Without MPI, which the build itself does not look at.
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
    assert len(told) == 1


def test_the_key_knows_the_mpi_and_the_flags(
    openmpi: Toolchain, mpich: Toolchain, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kiviat.launch.build import _key

    keys = {_key(openmpi, source), _key(mpich, source)}
    monkeypatch.setenv("CXXFLAGS", "-g")
    keys.add(_key(openmpi, source))
    assert len(keys) == 3
    assert {key.partition("-")[0] for key in keys} == {"openmpi", "mpich"}


def test_a_failure_is_one_line_with_the_log(openmpi: Toolchain, source: Path, tmp_path: Path) -> None:
    (source / "main.cpp").write_text("int main() { return nonsense; }\n")
    with pytest.raises(InputError) as raised:
        build(openmpi, source=source, cache=tmp_path / "cache")
    message = str(raised.value)
    assert "nonsense" in message and "\n" not in message
    log = Path(message.rpartition("log: ")[2])
    assert "nonsense" in log.read_text()
    leavings = [path for path in (tmp_path / "cache/build").iterdir() if path.suffix not in (".lock", ".log")]
    assert leavings == []


def test_missing_tools_are_named(
    openmpi: Toolchain, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kiviat.launch.build.shutil.which", lambda tool: None if tool == "ninja" else tool)
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
