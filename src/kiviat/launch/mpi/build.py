"""Builds kiviat-bench, the profiler, the recorder or the replayer, each once, into the user's cache."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from kiviat.launch.mpi import build_cache, compiler, ready
from kiviat.launch.mpi.toolchain import Toolchain, answer
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process import children
from kiviat.launch.process.signals import Interrupted
from kiviat.record import InputError, data_path
from kiviat.record.cache import cache_folder
from kiviat.record.site import site_files

PROGRAM = "kiviat-bench"
# The same with the benchmarks of two folders only, which compiles in a third of the time.
BASIC = "kiviat-bench-basic"
_BASIC_FOLDERS = ("pt2pt", "collective")
# The library with the simulated machine, which SimGrid loads.
PLATFORM = "libkiviat-platform.so"
# Libraries that any program can preload, and the replayer. They are separate projects, which compile in
# seconds.
PROFILER = "libkiviat-profile.so"
RECORDER = "libkiviat-trace.so"
REPLAYER = "kiviat-replay"
_PROJECTS = {PROGRAM: ".", BASIC: ".", PROFILER: "prof", RECORDER: "trace", REPLAYER: "trace"}
# Folders in native/ that a product does not use: changes there do not rebuild it.
_NOT_OF = {
    PROGRAM: ("tests", "prof", "trace", "preloaded.cmake"),
    BASIC: ("tests", "prof", "trace", "preloaded.cmake"),
    PROFILER: ("tests", "bench", "emulated", "trace"),
    RECORDER: ("tests", "bench", "simgrid", "emulated"),
    REPLAYER: ("tests", "bench", "prof", "emulated"),
}
_NAMES = {PROGRAM: "", BASIC: "basic-", PROFILER: "profiler-", RECORDER: "recorder-", REPLAYER: "replayer-"}
_TAKES = {PROGRAM: "; this takes a minute or two", BASIC: "; this takes half a minute"}
_LOG = "build.log"
_LEAST_ROOM_BYTES = 1 << 20
_VARIABLES = ("CXX", "CXXFLAGS", "LDFLAGS")
_COMPILERS_DIGITS = 6  # of the 16 digits in the name of a build


def build(
    toolchain: Toolchain,
    *,
    source: Path | None = None,
    cache: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
    product: str = PROGRAM,
) -> Path:
    """Return the path of kiviat-bench, or of another product, for this MPI, ready-made, cached or built.

    `tell` receives messages about the build, and about waiting for another process's build.
    """
    source = data_path("native") if source is None else source
    if not (source / "CMakeLists.txt").is_file():
        raise InputError(f"no native sources in {source}; reinstall kiviat")
    program = program_path(toolchain, source, cache, product)
    home, folder = program.parent, program.parent.parent
    build_cache.use(home)
    if program.exists():
        return program
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with build_cache.locked(home, tell) as held:
            if not program.exists():
                if held:
                    build_cache.clean(home, f"{_NAMES[product]}{toolchain.family}-", tell)
                _make(home, toolchain, source, product, held, tell)
            build_cache.use(home)
    except OSError as error:
        raise InputError(
            f"cannot build {product} in {folder}: {error.strerror}; set XDG_CACHE_HOME to a folder with room"
        ) from error
    return program


def program_path(
    toolchain: Toolchain, source: Path | None = None, cache: Path | None = None, product: str = PROGRAM
) -> Path:
    """Return the path at which `build` leaves the product for this MPI, whether or not it exists.

    Without a compiler, as on compute nodes of some clusters, that is the latest one that any compiler built.
    """
    key = _key(toolchain, data_path("native") if source is None else source, product)
    folder = (cache_folder() if cache is None else cache) / "build"
    if compiler.compiler() is None:
        others = f"{glob.escape(key[:-_COMPILERS_DIGITS])}{'[0-9a-f]' * _COMPILERS_DIGITS}/{product}"
        built = [*folder.glob(others)]
        if built:
            return max(built, key=lambda path: path.stat().st_mtime)
    return folder / key / product


def product_for(toolchain: Toolchain, folders: Iterable[str]) -> str:
    """Return the program that has the benchmarks of these folders of native/bench.

    That is the basic one if nothing else is needed, and the other is neither built nor ready-made.
    """
    whole = (
        not set(folders).issubset(_BASIC_FOLDERS)
        or toolchain.family == SIMULATOR
        or _site_benchmarks(PROGRAM)
        or program_path(toolchain).exists()
        or ready.ready_made(toolchain, PROGRAM)
    )
    return PROGRAM if whole else BASIC


def is_full(folder: Path) -> bool:
    """True if the file system has too little free space for a build; False if that cannot be read."""
    with suppress(OSError):
        return shutil.disk_usage(folder).free < _LEAST_ROOM_BYTES
    return False


def _key(toolchain: Toolchain, source: Path, product: str = PROGRAM) -> str:
    """Return the name of a build: a hash of everything that it depends on, the compiler's digits last."""
    digest = hashlib.sha256()
    for fact in (
        # The resolved path, because one MPI has several names. The command as well, because one file may be
        # several wrappers that behave differently.
        str(toolchain.mpicxx.resolve()),
        toolchain.version,
        toolchain.shown,
        platform.machine(),
        *(["standard ABI"] if toolchain.standard_abi else []),
        *(os.environ.get(name, "") for name in _VARIABLES),
    ):
        digest.update(fact.encode() + b"\0")
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.relative_to(source).parts[0] not in _NOT_OF[product]:
            digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes() + b"\0")
    for path in _site_benchmarks(product):
        digest.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    compiled_by = _version(*(compiler.compiler() or ["c++"]))
    by = hashlib.sha256(compiled_by.encode()).hexdigest()[:_COMPILERS_DIGITS]
    rest = digest.hexdigest()[: 16 - _COMPILERS_DIGITS]
    return f"{_NAMES[product]}{toolchain.family}-{toolchain.version}-{rest}{by}"


@cache
def _version(*compiler_words: str) -> str:
    """Return what the compiler says of its version."""
    return answer([*compiler_words, "--version"])


def _make(
    home: Path, toolchain: Toolchain, source: Path, product: str, held: bool, tell: Callable[[str], None]
) -> None:
    """Install a ready-made product where the package has one and no site adds to it, else build it."""
    preloaded = product in (PROFILER, RECORDER)
    found = None if _site_benchmarks(product) else ready.ready_made(toolchain, product, preloaded=preloaded)
    if found and source == data_path("native"):
        library = found[0].parent.name
        tell(f"taking the ready-made {product} for {toolchain.name} ({library}); nothing is compiled")
        ready.install(*found, home)
    else:
        _build_into(home, toolchain, source, product, held, tell)


def _build_into(
    home: Path, toolchain: Toolchain, source: Path, product: str, held: bool, tell: Callable[[str], None]
) -> None:
    """Build in a folder next to `home`, then move the product there, so that it is never incomplete.

    An interrupted build continues in the same folder, unless another process may be building there.
    """
    if toolchain.standard_abi and not toolchain.wraps_standard_abi:
        raise InputError(
            f"{toolchain.mpicxx} compiles for another ABI than that of libmpi_abi.so, and this installation "
            f"has no {product} for it; install a wheel that has one (docs/howto/install.md)"
        )
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            raise InputError(
                f"{tool} is needed to build {product}; "
                f"`apt install {_PACKAGES[tool]}` or `pip install {tool}`"
            )
    if compiler.compiler() is None:
        raise InputError(
            f"a C++ compiler is needed to build {product}; `apt install g++` or `pip install ziglang`"
        )
    work = home.with_name(home.name + build_cache.WORK)
    if not held:
        work = Path(tempfile.mkdtemp(prefix=f"{home.name}.", dir=home.parent))
    begun = work / "source"  # CMake continues a build only if the sources have the same path
    continues = begun.is_file() and begun.read_text() == str(source)
    tell(
        f"{'going on with the build of' if continues else 'building'} {product} with {toolchain.name} "
        f"({toolchain.mpicxx}), once{_TAKES.get(product, '')}"
    )
    targets, taken = products(toolchain, product), None
    if PLATFORM in targets and product != PROGRAM:
        # The library with the machine is the same for all programs, and half of the work for the small ones.
        there = program_path(toolchain, source, home.parents[1]).with_name(PLATFORM)
        if there.exists():
            targets, taken = [product], there
    try:
        if not (continues and _compiled(work, toolchain, source, product, targets)):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            begun.write_text(str(source))
            if not _compiled(work, toolchain, source, product, targets):
                raise InputError(_failure(work / _LOG, home, toolchain, product))
        home.mkdir(exist_ok=True)
        (work / _LOG).replace(home / _LOG)
        # The program is moved last: if it exists, the build is complete.
        if taken:
            shutil.copy2(taken, home)
        for name in reversed(targets):
            built = next(path for path in sorted(work.rglob(name)) if path.is_file())
            built.replace(home / name)
    except KeyboardInterrupt as interrupted:
        if isinstance(interrupted, Interrupted) and held:
            interrupted.kept = f"what is built of {product} is kept, and the next command goes on with it"
        if not held:
            shutil.rmtree(work, ignore_errors=True)
        raise
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)
    _kept_log(home).unlink(missing_ok=True)  # of an earlier, failed attempt


def products(toolchain: Toolchain, product: str = PROGRAM) -> list[str]:
    """Return the files that a build of the product installs, the product first."""
    return [product, PLATFORM] if toolchain.family == SIMULATOR else [product]


def _compiled(work: Path, toolchain: Toolchain, source: Path, product: str, targets: list[str]) -> bool:
    project = str(source / _PROJECTS[product])
    configure = [
        *("cmake", "-G", "Ninja", "-S", project, "-B", str(work), "-DCMAKE_BUILD_TYPE=Release"),
        *definitions(toolchain),
        *([] if toolchain.family == SIMULATOR else compiler.definition(work)),
        *_site_definition(product),
        *(["-DKIVIAT_BASIC=ON"] if product == BASIC else []),
    ]
    # Starts Ninja directly, not through CMake: when terminated, it ends its compilers and removes unfinished
    # files.
    make = ["ninja", "-C", str(work), *targets]
    # Makes smpicxx behave like a plain compiler when CMake examines it.
    asking = {**toolchain.wrapper_environment, "SMPI_PRETEND_CC": "1"}
    with (work / _LOG).open("w") as log:
        return all(
            children.run(words, output=log, errors=subprocess.STDOUT, environment=environment).returncode == 0
            for words, environment in ((configure, asking), (make, None))
        )


def definitions(toolchain: Toolchain) -> list[str]:
    """Return the CMake definitions that select the MPI."""
    if toolchain.family == SIMULATOR:
        return [f"-DCMAKE_CXX_COMPILER={toolchain.mpicxx}", "-DKIVIAT_SIMULATED=ON"]
    return [
        f"-DMPI_CXX_COMPILER={toolchain.mpicxx}",
        f"-DMPIEXEC_EXECUTABLE={toolchain.mpiexec}",
        "-DMPI_CXX_SKIP_MPICXX=ON",
    ]


def _site_benchmarks(product: str) -> list[Path]:
    return site_files("benchmarks") if product == PROGRAM else []


def _site_definition(product: str) -> list[str]:
    """Return the option of CMake that names the benchmarks of site folders, to be compiled, too."""
    files = _site_benchmarks(product)
    if odd := next((path for path in files if ";" in str(path)), None):
        raise InputError(f"{odd}: CMake cannot take a benchmark from a path with a semicolon; rename it")
    return [f"-DKIVIAT_SITE_BENCHMARKS={';'.join(map(str, files))}"] if files else []


_PACKAGES = {"cmake": "cmake", "ninja": "ninja-build"}


def _kept_log(home: Path) -> Path:
    return home.with_name(f"{home.name}.log")


def _failure(log: Path, home: Path, toolchain: Toolchain, product: str) -> str:
    kept = _kept_log(home)
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    first = next(
        (line for line in lines if "error:" in line or "CMake Error" in line),
        lines[-1] if lines else "CMake ended without a message",
    )
    log.replace(kept)
    if is_full(kept.parent):
        first = f"no room in {kept.parent}; make room, or set XDG_CACHE_HOME to a folder with room"
    return f"building {product} with {toolchain.mpicxx} ({toolchain.name}) failed: {first}; log: {kept}"
