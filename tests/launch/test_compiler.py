"""Where there is no C++ compiler, that of PyPI's ziglang compiles."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from kiviat.launch.emulated.compiling import compiled
from kiviat.launch.mpi import compiler
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.record import InputError


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    tools = {"cmake", "ninja"}
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in tools else None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def ziglang(no_compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package ziglang whose compiler prints its arguments, each on a line."""
    package = tmp_path / "site packages" / "ziglang"
    package.mkdir(parents=True)
    program = package / "zig"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    spec = ModuleSpec("ziglang", None, origin=str(package / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "ziglang" else None)
    return program


def test_a_missing_compiler_is_one_line(no_compiler: None, openmpi: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "native"
    source.mkdir()
    (source / "CMakeLists.txt").touch()
    told: list[str] = []
    with pytest.raises(
        InputError, match=r"needed to build kiviat-bench; .*g\+\+.* or `pip install ziglang`$"
    ):
        build(openmpi, source=source, cache=tmp_path / "cache", tell=told.append)
    assert not told


def test_ziglang_is_a_compiler_for_cmake(ziglang: Path, tmp_path: Path) -> None:
    (option,) = compiler.definition(tmp_path)
    name, _, file = option.partition("=")
    assert name == "-DCMAKE_CXX_COMPILER"
    said = subprocess.run([file, "-c", "a b.cpp"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0] == "c++" and said.splitlines()[-2:] == ["-c", "a b.cpp"]


def test_the_users_and_the_systems_compiler_come_first(
    ziglang: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (compiler.compiler() or [""])[0] == str(ziglang)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/g++" if name == "g++" else None)
    assert compiler.compiler() == ["/usr/bin/g++"] and not compiler.definition(tmp_path)
    monkeypatch.setenv("CXX", "ccache clang++")
    assert compiler.compiler() == ["ccache", "clang++"] and not compiler.definition(tmp_path)
    monkeypatch.setenv("CXX", "g++ '")
    with pytest.raises(InputError, match=r"CXX=.* is no command: No closing quotation; correct it"):
        compiler.compiler()


@pytest.mark.skipif(not shutil.which("c++"), reason="no c++")
@pytest.mark.parametrize("given", ["env c++", "", None])
def test_programs_of_emulated_clusters_are_compiled_with_it(
    given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CXX="ccache g++" was once taken as the path of one file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if given is None:
        monkeypatch.delenv("CXX", raising=False)
    else:
        monkeypatch.setenv("CXX", given)
    assert compiled("slices", ["emulated/slices.cpp"]).is_file()


@pytest.mark.parametrize("folder", ["a b", "a:b"])
def test_programs_that_scripts_cannot_name_are_refused(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
    with pytest.raises(InputError, match="blank or colon, which an emulated cluster cannot handle; set XDG_"):
        compiled("slices", ["emulated/slices.cpp"])
    assert not (tmp_path / folder).exists()


def test_without_a_compiler_one_line_tells_what_to_do(
    no_compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"there is no C\+\+ compiler; install g\+\+, or name one in CXX"):
        compiled("slices", ["emulated/slices.cpp"])
