"""Ready-made programs, which wheels carry for common MPI ABIs, so that nothing needs to be compiled.

`data/ready/NAME/PRODUCT` needs the MPI library NAME ("libmpi.so.12" is the ABI of MPICH, Intel MPI, Cray
MPICH and MVAPICH, "libmpi_abi.so.1" the standard one of MPI 5) and searches for it in the folder `mpi`
beside itself.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.vendors import STANDARD_ABI
from kiviat.record import data_path

# The link to the libraries of the MPI, beside an installed program; tools/wheel links programs so.
_LIBRARIES = "mpi"
# The name of that library, in a file beside an installed program.
_ABI = "mpi_library"


def ready_made(
    toolchain: Toolchain, product: str, folder: Path | None = None, *, preloaded: bool = False
) -> tuple[Path, Path] | None:
    """Return a ready-made product for a library of this MPI, and that library's folder.

    None if this installation of Kiviat has none, or if compiler variables ask for a build of the user's own.
    The MPI's own ABI comes before the standard one. What is `preloaded` must have the ABI of the program that
    loads it, which is the toolchain's.
    """
    if any(os.environ.get(name) for name in ("CXX", "CXXFLAGS", "LDFLAGS")):
        return None
    folder = data_path("ready") if folder is None else folder
    programs = sorted(folder.glob(f"*/{product}"))
    if toolchain.standard_abi:
        abis = [STANDARD_ABI]
    else:
        abis = [toolchain.vendor.abi] if preloaded else [toolchain.vendor.abi, STANDARD_ABI]
    for abi in abis:
        for program in programs:
            name = program.parent.name
            if re.fullmatch(abi, name):
                for libraries in _library_folders(toolchain):
                    if (libraries / name).is_file():
                        return program, libraries
    return None


def install(program: Path, libraries: Path, home: Path) -> None:
    """Copy a ready-made program into `home`, where it finds the MPI of `libraries`."""
    home.mkdir(exist_ok=True)
    link, copy = home / _LIBRARIES, home / f"{program.name}.new"
    link.unlink(missing_ok=True)
    link.symlink_to(libraries)
    (home / _ABI).write_text(program.parent.name)
    shutil.copy(program, copy)
    copy.chmod(0o755)
    copy.replace(home / program.name)  # last: if it exists, the rest is there


def library_of(program: Path) -> str | None:
    """Return the name of the MPI library that an installed program was made for; None if it was built."""
    try:
        return program.with_name(_ABI).read_text()
    except OSError:
        return None


def _library_folders(toolchain: Toolchain) -> list[Path]:
    """Return folders in which a program of this MPI finds its library, those that the wrapper names first."""
    named = re.findall(r'-L"?([^\s"]+)', toolchain.shown)
    prefixes = [*(Path(folder).parent for folder in named), toolchain.mpicxx.resolve().parents[1]]
    inside = [prefix / name for prefix in prefixes for name in toolchain.vendor.library_folders]
    return list(dict.fromkeys([*map(Path, named), *inside]))
