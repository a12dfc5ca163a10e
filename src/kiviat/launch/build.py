"""Builds kiviat-bench, the profiler, the recorder or the replayer, once, into the cache of the user."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kiviat.launch.toolchain import Toolchain, answer
from kiviat.launch.vendors import SIMULATOR
from kiviat.record import InputError, data_path

PROGRAM = "kiviat-bench"
# What SimGrid loads beside the program.
PLATFORM = "libkiviat-platform.so"
# What any program preloads, and what makes its calls again; projects of their own, which compile in seconds.
PROFILER = "libkiviat-profile.so"
RECORDER = "libkiviat-trace.so"
REPLAYER = "kiviat-replay"
_PROJECTS = {PROGRAM: ".", PROFILER: "prof", RECORDER: "trace", REPLAYER: "trace"}
# What each is made of, below native/; the rest is none of its business.
_NOT_OF = {
    PROGRAM: ("tests", "prof", "trace", "preloaded.cmake"),
    PROFILER: ("tests", "bench", "emulated", "trace"),
    RECORDER: ("tests", "bench", "sim", "emulated"),
    REPLAYER: ("tests", "bench", "prof", "emulated"),
}
_NAMES = {PROGRAM: "", PROFILER: "profiler-", RECORDER: "recorder-", REPLAYER: "replayer-"}
_LEAST_ROOM_BYTES = 1 << 20
_VARIABLES = ("CXX", "CXXFLAGS", "LDFLAGS")


def build(
    toolchain: Toolchain,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
    product: str = PROGRAM,
) -> Path:
    """The path of kiviat-bench, or of another product, for this MPI, built if the cache does not have it;
    `tell` hears of that.
    """
    source = data_path("native") if source is None else source
    if not (source / "CMakeLists.txt").is_file():
        raise InputError(f"no native sources in {source}; reinstall kiviat")
    folder = (cache_folder() if cache is None else cache) / "build"
    home = folder / _key(toolchain, source, product)
    program = home / product
    if program.exists():
        return program
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / f"{home.name}.lock"):
            if not program.exists():
                tell(f"building {product} with {toolchain.name} ({toolchain.mpicxx}), once")
                _build_into(home, toolchain, source, product)
    except OSError as error:
        raise InputError(
            f"cannot build {product} in {folder}: {error.strerror}; set XDG_CACHE_HOME to a folder with room"
        ) from error
    return program


def cache_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named.startswith("/") else Path.home() / ".cache") / "kiviat"


def is_full(folder: Path) -> bool:
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _LEAST_ROOM_BYTES
    return False


def _key(toolchain: Toolchain, source: Path, product: str = PROGRAM) -> str:
    """Changes with everything that the binary depends on."""
    wrapper = str(toolchain.mpicxx)
    digest = hashlib.sha256()
    for fact in (
        wrapper,
        str(toolchain.mpicxx.resolve()),
        toolchain.version,
        answer([wrapper, "-show"]),
        answer([os.environ.get("CXX", "c++"), "--version"]),
        platform.machine(),
        *(os.environ.get(name, "") for name in _VARIABLES),
    ):
        digest.update(fact.encode() + b"\0")
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.relative_to(source).parts[0] not in _NOT_OF[product]:
            digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{_NAMES[product]}{toolchain.family}-{toolchain.version}-{digest.hexdigest()[:16]}"


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Lets a second kiviat wait instead of building the same.

    Some network file systems have no locks; then both build, and the last rename wins.
    """
    with path.open("w") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_into(home: Path, toolchain: Toolchain, source: Path, product: str) -> None:
    """Builds beside the place and moves the product there, so that no half of one is ever seen."""
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            raise InputError(
                f"{tool} is needed to build {product}; "
                f"`apt install {_PACKAGES[tool]}` or `pip install {tool}`"
            )
    work = Path(tempfile.mkdtemp(prefix=f"{home.name}.", dir=home.parent))
    try:
        log = work / "build.log"
        products = [product, PLATFORM] if toolchain.family == SIMULATOR else [product]
        project = str(source / _PROJECTS[product])
        configure = [
            *("cmake", "-G", "Ninja", "-S", project, "-B", str(work), "-DCMAKE_BUILD_TYPE=Release"),
            *_definitions(toolchain),
        ]
        with log.open("w") as output:
            for command in (configure, ["cmake", "--build", str(work), "--target", *products]):
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    # CMake's questions to smpicxx are about a compiler, not about a simulator.
                    env={**os.environ, "SMPI_PRETEND_CC": "1"} if command is configure else None,
                )
                if done.returncode != 0:
                    raise InputError(_failure(log, home, toolchain, product))
        home.mkdir(exist_ok=True)
        log.replace(home / "build.log")
        # The program last: where it is, all is there.
        for name in reversed(products):
            built = next(path for path in sorted(work.rglob(name)) if path.is_file())
            built.replace(home / name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _definitions(toolchain: Toolchain) -> list[str]:
    if toolchain.family == SIMULATOR:
        return [f"-DCMAKE_CXX_COMPILER={toolchain.mpicxx}", "-DKIVIAT_SIMULATED=ON"]
    return [
        f"-DMPI_CXX_COMPILER={toolchain.mpicxx}",
        f"-DMPIEXEC_EXECUTABLE={toolchain.mpiexec}",
        "-DMPI_CXX_SKIP_MPICXX=ON",
    ]


_PACKAGES = {"cmake": "cmake", "ninja": "ninja-build"}


def _failure(log: Path, home: Path, toolchain: Toolchain, product: str) -> str:
    kept = home.parent / f"{home.name}.log"
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    first = next(
        (line for line in lines if "error:" in line or "CMake Error" in line), lines[-1] if lines else ""
    )
    log.replace(kept)
    if is_full(kept.parent):
        first = f"no room in {kept.parent}; make room, or set XDG_CACHE_HOME to a folder with room"
    return f"building {product} with {toolchain.mpicxx} ({toolchain.name}) failed: {first}; log: {kept}"
