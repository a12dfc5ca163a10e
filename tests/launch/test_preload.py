"""Kiviat's library in commands that preload other libraries, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.tools.profile import TOOL
from kiviat.record import InputError

OWN, FOLDER = Path("/own.so"), Path("/counts")


@pytest.fixture(autouse=True)
def nothing_preloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)


def preloading(words: str) -> str:
    """Return the command with the profiler."""
    return " ".join(TOOL.preloading(LaunchSpec(tuple(words.split()), {}), OWN, FOLDER).command)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("srun -x LD_PRELOAD=/a.so:/b.so ./program", "srun -x LD_PRELOAD=/own.so:/a.so:/b.so ./program"),
        ("srun -genv LD_PRELOAD /a.so ./program", "srun -genv LD_PRELOAD /own.so:/a.so ./program"),
        ("srun -genv LD_PRELOAD=/a.so ./program", "srun -genv LD_PRELOAD=/own.so:/a.so ./program"),
        ("srun -env LD_PRELOAD /a.so ./program", "srun -env LD_PRELOAD /own.so:/a.so ./program"),
        ("srun -n 2 env LD_PRELOAD=/a.so ./program", "srun -n 2 env LD_PRELOAD=/own.so:/a.so ./program"),
        ("srun -x LD_PRELOAD= ./program", "srun -x LD_PRELOAD=/own.so ./program"),
        ("srun -genv OTHER /a.so ./program", "srun -genv OTHER /a.so ./program"),
    ],
)
def test_other_libraries_are_kept(words: str, expected: str) -> None:
    """The library is added to every option that sets LD_PRELOAD, which ranks would else get without it."""
    assert preloading(words) == expected


@pytest.mark.parametrize("library", ["/a b/own.so", "/a:b/own.so"])
def test_a_library_that_cannot_be_named_is_refused(library: str) -> None:
    """The dynamic linker splits LD_PRELOAD at blanks and colons, and no rank was once profiled."""
    start = LaunchSpec(("srun", "./program"), {})
    with pytest.raises(
        InputError, match="blank or colon, which LD_PRELOAD cannot handle; set XDG_CACHE_HOME"
    ):
        TOOL.preloading(start, Path(library), FOLDER)


def test_open_mpi_exports_each_variable_once(openmpi: Toolchain) -> None:
    """A variable that the command exports itself is not exported once more."""
    launcher = str(openmpi.mpiexec)
    expected = f"{launcher} -x KIVIAT_PROFILE -x LD_PRELOAD=/own.so:/a.so ./program"
    assert preloading(f"{launcher} -x LD_PRELOAD=/a.so ./program") == expected
    expected = f"{launcher} -x KIVIAT_PROFILE -x LD_PRELOAD ./program"
    assert preloading(f"{launcher} -x LD_PRELOAD ./program") == expected


def test_a_program_on_other_nodes_may_preload_too() -> None:
    """A program that a substrate starts may be `env` with other libraries."""
    start = LaunchSpec(("srun",), {}).of(["env", "LD_PRELOAD=/a.so", "./program"])
    command = TOOL.preloading(start, OWN, FOLDER).command
    assert command == ("srun", "env", "LD_PRELOAD=/own.so:/a.so", "./program")


def test_a_list_of_variables_is_refused() -> None:
    """Options whose value contains LD_PRELOAD among other variables are refused in one line."""
    with pytest.raises(InputError, match=r"^--export=ALL,LD_PRELOAD=/a\.so sets LD_PRELOAD"):
        preloading("srun --export=ALL,LD_PRELOAD=/a.so ./program")
