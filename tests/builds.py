"""Builds what tests need: kiviat-bench for every MPI, native tests with Open MPI, preloaded libraries.

python tests/builds.py

builds everything; a run of all tests does so during the tests that measure nothing (conftest.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from kiviat.launch.mpi import build_cache
from kiviat.launch.mpi.build import (
    PROFILER,
    PROGRAM,
    RECORDER,
    REPLAYER,
    build,
    definitions,
    products,
    program_path,
)
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process import children
from kiviat.launch.process.signals import Interrupted, Interruptible
from kiviat.record import InputError

CHECKOUT = Path(__file__).resolve().parents[1]
# The native program is cached inside the checkout, keyed by its sources, so the user's home is not touched.
FOLDERS = dict.fromkeys(("XDG_CACHE_HOME", "XDG_STATE_HOME"), str(CHECKOUT / "build" / "cache"))
FOLDERS["XDG_CONFIG_HOME"] = str(CHECKOUT / "build" / "config")  # ignores the user's own benchmarks and plans


class BuildError(Exception):
    """A build failed; the message is the compiler's."""


def native(toolchain: Toolchain, target: str = "all") -> Path:
    """Build kiviat-bench, and the parts of its tests that the target needs, with CMake alone; return the
    folder.
    """
    name = "wheel" if toolchain.embedded else toolchain.family
    folder = CHECKOUT / "build" / f"tests-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    configure = [
        *("cmake", "-G", "Ninja", "-S", str(CHECKOUT / "native"), "-B", str(folder)),
        *definitions(toolchain),
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
    ]
    if toolchain.family != SIMULATOR:
        configure += ["-DKIVIAT_TESTS=ON", "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"]
    home = program_path(toolchain).parent
    home.parent.mkdir(parents=True, exist_ok=True)
    with build_cache.locked(home, lambda text: None):  # tests that need the program wait meanwhile
        # makes smpicxx behave as a plain compiler for CMake's checks
        _done(configure, {**os.environ, "SMPI_PRETEND_CC": "1"})
        compiled(folder, target)
        _take_for_built(toolchain, folder)
    return folder


def compiled(folder: Path, target: str) -> None:
    """Build a target in a folder that `native` returned."""
    _done(["ninja", "-C", str(folder), target])


def _done(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = children.run(command, environment=environment)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")


def _take_for_built(toolchain: Toolchain, folder: Path) -> None:
    """Put the program into Kiviat's cache, so that Kiviat does not build for this MPI again.

    Tests of preloaded libraries test Kiviat's own builds.
    """
    program = program_path(toolchain)
    program.parent.mkdir(parents=True, exist_ok=True)
    # the program last, because its presence means that everything is there
    for name in reversed(products(toolchain)):
        shutil.copy2(folder / name, program.with_name(f"{name}.new"))
        program.with_name(f"{name}.new").replace(program.with_name(name))


def everything() -> None:
    """Build everything. Failures are left to the tests that need the parts, which then report them."""
    with suppress(InputError, BuildError):
        simulator = find_toolchain(SIMULATOR)
        native(simulator)
        for product in (REPLAYER, PROFILER):
            build(simulator, product=product)
    # The native tests with the second MPI belong to `make test-full`.
    for name, target in (("openmpi", "all"), ("mpich", PROGRAM)):
        with suppress(InputError, BuildError):
            toolchain = find_toolchain(name)
            native(toolchain, target)
            for product in (PROGRAM, PROFILER, RECORDER):
                build(toolchain, product=product)


def started() -> subprocess.Popen[bytes]:
    """Start this file in the background, to build everything; it ends with the process that started it."""
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, __file__],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
        preexec_fn=children.tied(),
    )


if __name__ == "__main__":
    os.environ.update(FOLDERS)
    sentinel = children.Sentinel(lambda: None)
    with suppress(Interrupted), Interruptible():
        sentinel.begin()
        everything()
    sentinel.dismiss()
