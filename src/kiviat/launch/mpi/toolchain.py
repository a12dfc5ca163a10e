"""Finds an MPI: a compiler wrapper and the launcher that belongs to it.

Precedence: `--mpi` > `MPICXX` > `mpicxx` on PATH > the `mpich` wheel of the current environment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kiviat.launch.mpi.vendors import Vendor, real_families, vendors
from kiviat.launch.process import children
from kiviat.record import InputError

_ANSWER_TIMEOUT_S = 30
_STANDARD_WRAPPER = re.compile(r"mpi(cxx|c\+\+)_abi")  # MPICH's


@dataclass(frozen=True)
class Toolchain:
    """An MPI toolchain. `embedded`: from a Python wheel, whose results are not for publication.

    `standard_abi`: its programs need the library of MPI 5's standard ABI, not the one of this MPI's own.
    """

    name: str
    family: str
    version: str
    mpicxx: Path
    mpiexec: Path
    chosen: str
    embedded: bool
    standard_abi: bool = False

    @property
    def wraps_standard_abi(self) -> bool:
        """True if the wrapper compiles for the standard ABI."""
        return _STANDARD_WRAPPER.fullmatch(self.mpicxx.name) is not None

    @property
    def vendor(self) -> Vendor:
        """Contents of the vendor file of this MPI's family."""
        return vendors()[self.family]

    @property
    def placement(self) -> tuple[str, str]:
        """The launcher and its version, by the names of kiviat.placement.emit."""
        return self.vendor.placement(self.version)

    @property
    def wrapper_environment(self) -> dict[str, str]:
        """The user's variables, and those that the compiler wrapper needs."""
        prefix = str(self.mpicxx.resolve().parents[1])
        needed = self.vendor.wrapper_environment.items()
        return {**{name: value.replace("{prefix}", prefix) for name, value in needed}, **os.environ}

    @cached_property
    def shown(self) -> str:
        """The compiler command line that the wrapper shows."""
        return answer([str(self.mpicxx), "-show"], self.wrapper_environment)

    def to_json(self) -> dict[str, str]:
        """Return the toolchain's entry in run.json."""
        return {
            "name": self.name,
            "version": self.version,
            "mpicxx": str(self.mpicxx),
            "mpiexec": str(self.mpiexec),
            "chosen": self.chosen,
        }


def find_toolchain(mpi: str | None = None, environment: Mapping[str, str] | None = None) -> Toolchain:
    """Return the toolchain named by `--mpi`, by the environment, or found on PATH.

    Raise InputError if there is none.
    """
    env = os.environ if environment is None else environment
    if mpi == "wheel":
        return _of_wrapper(_wheel_wrapper() or _refuse_wheel(), "--mpi wheel")
    if mpi:
        return _of_wrapper(_named_wrapper(mpi, env), f"--mpi {mpi}", vendors().get(mpi))
    if named := env.get("MPICXX", "").strip():
        found = shutil.which(named, path=env.get("PATH"))
        if not found:
            raise InputError(
                f"MPICXX={named!r} is not an executable; set it to an MPI C++ wrapper or unset it"
            )
        return _of_wrapper(Path(found), "MPICXX")
    if found := shutil.which("mpicxx", path=env.get("PATH")):
        return _of_wrapper(Path(found), "PATH")
    if wheel := _wheel_wrapper():
        return _of_wrapper(wheel, "wheel of this Python environment")
    real = (vendors()[name] for name in real_families())
    packages = " or ".join(
        f"`apt install {' '.join(vendor.debian_packages)}`" for vendor in real if vendor.debian_packages
    )
    raise InputError(f"no MPI found: no mpicxx on PATH; install one ({packages}, or `pip install mpich`)")


def _named_wrapper(mpi: str, env: Mapping[str, str]) -> Path:
    """Return the wrapper for a family's name ("openmpi") or a path."""
    if "/" in mpi:
        path = Path(mpi).expanduser()
        path = path / "bin" / "mpicxx" if path.is_dir() else path
        if not os.access(path, os.X_OK):
            raise InputError(f"--mpi {mpi!r} is not an executable; name an MPI C++ wrapper such as mpicxx")
        return path
    vendor = vendors().get(mpi)
    for name in (f"mpicxx.{mpi}", mpi, *(vendor.wrappers if vendor else ())):
        if found := shutil.which(name, path=env.get("PATH")):
            return Path(found)
    plain = shutil.which("mpicxx", path=env.get("PATH"))
    if vendor and plain and _version(Path(plain), vendor, {}):
        return Path(plain)
    remedy = (
        _remedy(vendor)
        if vendor
        else f"names are {', '.join([*real_families(), 'wheel'])}, or give the path of an mpicxx"
    )
    raise InputError(f"--mpi {mpi!r} was not found; {remedy}")


def _remedy(vendor: Vendor) -> str:
    if vendor.debian_packages:
        return f"install it (Debian: `apt install {' '.join(vendor.debian_packages)}`)"
    return "load its module, so that its mpicxx is on PATH, or give the path of its mpicxx"


def _wheel_wrapper() -> Path | None:
    wrapper = Path(sysconfig.get_path("scripts")) / "mpicxx"
    return wrapper if os.access(wrapper, os.X_OK) and _from_wheel(wrapper) else None


def _refuse_wheel() -> Path:
    raise InputError("--mpi wheel: this Python environment has no MPI; run `pip install mpich`")


def _of_wrapper(wrapper: Path, chosen: str, asked: Vendor | None = None) -> Toolchain:
    wrapper = wrapper.absolute()
    named = [vendor for vendor in vendors().values() if wrapper.name in vendor.wrappers]
    # A named family is asked only in its own way, because smpicxx passes unknown options to the linker, which
    # writes a.out.
    # Relatives of an MPI are asked before it, because some call themselves by its name, too.
    every = reversed(vendors().values())
    answers: dict[tuple[str, ...], str] = {}
    for vendor in named or sorted(every, key=lambda vendor: vendor is not asked):
        if version := _version(wrapper, vendor, answers):
            launcher = _launcher(wrapper, vendor)
            return Toolchain(
                name=f"{vendor.title} {version}",
                family=vendor.family,
                version=version,
                mpicxx=wrapper,
                mpiexec=launcher,
                chosen=chosen,
                embedded=_from_wheel(wrapper),
                standard_abi=_STANDARD_WRAPPER.fullmatch(wrapper.name) is not None,
            )
    known = ", ".join(vendor.title for vendor in vendors().values())
    raise InputError(f"{wrapper} ({chosen}) is not the C++ wrapper of a known MPI ({known}); see --mpi")


def _version(wrapper: Path, vendor: Vendor, answers: dict[tuple[str, ...], str]) -> str | None:
    """Return the version of a vendor's wrapper, None for others'; `answers` are remembered by question."""
    asked = vendor.version_arguments
    if asked not in answers:
        answers[asked] = answer([str(wrapper), *asked])
    match = re.search(vendor.version_pattern, answers[asked])
    return match[1] if match else None


def answer(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """Return the output of a command, both streams; empty if it cannot be run.

    It does not run in the working directory, which may have been deleted.
    """
    folder = Path("/") if Path(command[0]).is_absolute() else None
    try:
        done = children.run(command, folder=folder, environment=environment, timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _launcher(wrapper: Path, vendor: Vendor) -> Path:
    """Return the launcher of the wrapper's MPI: next to the wrapper or its link targets, of the same suffix.

    Debian installs several MPIs side by side as mpicxx.openmpi, mpicxx.mpich, …. /etc/alternatives chooses
    the plain names, separately for compilers and launchers, so the plain mpiexec may belong to another MPI,
    which would start N worlds of one rank without an error.
    """
    tried = [
        name.with_name(launcher + name.suffix) for name in _links(wrapper) for launcher in vendor.launchers
    ]
    tried += [Path(found) for name in vendor.path_launchers if (found := shutil.which(name))]
    for path in tried:
        if os.access(path, os.X_OK) and _launches_for(path, vendor):
            return path
    raise InputError(
        f"{wrapper} is {vendor.title}, but no launcher of it was found (tried {', '.join(map(str, tried))}); "
        "install the launcher of the same MPI, or choose another with --mpi"
    )


def _links(path: Path) -> list[Path]:
    """Return a path and all that it links to, such as mpicxx, /etc/alternatives/mpicxx, mpicxx.openmpi."""
    links = [path]
    while path.is_symlink() and len(links) < 10:
        path = Path(os.path.normpath(path.parent / path.readlink()))
        links.append(path)
    return links


def _launches_for(launcher: Path, vendor: Vendor) -> bool:
    return re.search(vendor.launcher_pattern, answer([str(launcher), "--version"])) is not None


def _from_wheel(wrapper: Path) -> bool:
    """True for a wrapper from a Python wheel, whose environment contains the distribution."""
    sites = wrapper.parent.parent.glob("lib/python*/site-packages")
    wheels = {vendor.wheel for vendor in vendors().values() if vendor.wheel}
    return any(True for site in sites for wheel in wheels for _ in site.glob(f"{wheel}-*.dist-info"))
