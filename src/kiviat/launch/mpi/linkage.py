"""Determines, before anything starts, which MPI the program of a command is linked with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kiviat.launch.mpi.toolchain import Toolchain, answer, find_toolchain
from kiviat.launch.mpi.vendors import STANDARD_ABI, real_families, vendors
from kiviat.launch.process import children
from kiviat.record import InputError

_ANY_MPI = re.compile(r"libmpi(ch|_abi|_cxx|cxx)?\.so(\.\d+)?")
_LDD_TIMEOUT_S = 30.0
# Programs that run other programs, or that load an MPI as a module; what they will load is unknown
# beforehand.
_INTERPRETERS = re.compile(
    r"(python|perl|ruby|julia|lua|R|Rscript|java|octave|(ba|da|k|z|c|tc|fi)?sh)[\d.]*(-\w+)?"
)


@dataclass(frozen=True)
class Linked:
    """A program, and the MPI it is linked with: `family` is None if that is unknown beforehand."""

    program: str
    family: str | None
    library: Path | None

    @property
    def standard_abi(self) -> bool:
        """True if its MPI is the library of the standard ABI."""
        return self.library is not None and re.fullmatch(STANDARD_ABI, self.library.name) is not None


def linked(words: Sequence[str], sure: bool = False) -> Linked:
    """Return the program that a command starts, with its MPI.

    `sure`: the user has named the MPI of a program that links none. Raise InputError if the command starts no
    program that could preload a library.
    """
    place = launcher_place(words)
    launcher = None if place is None else launcher_family(words[place])
    unknown: str | None = None
    refused: tuple[str, str] | None = None
    for at, word in enumerate(words):
        path = _executable(word)
        if path is None or at <= (-1 if place is None else place):
            continue
        content = _beginning(path)
        if content[:2] == b"#!" or _INTERPRETERS.fullmatch(path.name):
            unknown = unknown or word
        elif content == b"\x7fELF":
            found = _libraries(path)
            if found is None:
                refused = (
                    word,
                    ("is statically linked, so that nothing can be preloaded; link the MPI dynamically"),
                )
            elif family := _family(word, found):
                if place is not None:
                    _refuse_other_launcher(words[place], launcher, word, family[0])
                return Linked(word, *family)
            else:
                refused = refused or (
                    word,
                    "links no MPI; give an MPI program, or --mpi where it loads its MPI at run time",
                )
    if sure and refused and "static" not in refused[1]:
        unknown = refused[0]
    if unknown:
        return Linked(unknown, launcher, None)
    if refused:
        raise InputError(f"{refused[0]} {refused[1]}")
    raise InputError(f"there is no MPI program in `{' '.join(words)}`; give it as you would start it")


def _is_launcher(name: str) -> bool:
    """True for the name of a launcher, such as mpiexec or mpiexec.hydra."""
    known = (launcher for family in real_families() for launcher in vendors()[family].launcher_names)
    return any(name == launcher or name.startswith(f"{launcher}.") for launcher in known)


@cache
def launcher_family(word: str) -> str | None:
    """Return the MPI family of a launcher; None if it is not a launcher of a known MPI."""
    path = _executable(word)
    if path is None or not _is_launcher(path.name):
        return None
    said = answer([str(path), "--version"])
    matching = (name for name in real_families() if re.search(vendors()[name].launcher_pattern, said))
    return next(matching, None)


def toolchain_for(found: Linked, mpi: str | None) -> Toolchain:
    """Return a toolchain for the program: that of `--mpi`, of its own MPI, or of one with its ABI."""
    if mpi:
        toolchain = find_toolchain(mpi)
        if found.family and not _same_abi(toolchain.family, found.family):
            raise InputError(
                f"--mpi {mpi} is {toolchain.name}, but {found.program} is linked with "
                f"{vendors()[found.family].title} ({found.library}); leave --mpi out"
            )
        return replace(toolchain, standard_abi=toolchain.standard_abi or found.standard_abi)
    if found.library is not None and (found.standard_abi or not _same_installation(found)):
        for toolchain in _toolchains_beside(found.library):
            if _same_abi(toolchain.family, found.family):
                return toolchain
    return find_toolchain(found.family)


def _toolchains_beside(library: Path) -> Iterator[Toolchain]:
    """Yield the toolchains of the installation that a library belongs to."""
    standard = re.fullmatch(STANDARD_ABI, library.name) is not None
    # Ready-made programs load their MPI through a link (mpi/ready.py).
    for prefix in (folder for place in (library, library.resolve()) for folder in list(place.parents)[1:4]):
        for name in ("mpicxx_abi", "mpicxx") if standard else ("mpicxx",):
            wrapper = prefix / "bin" / name
            if os.access(wrapper, os.X_OK):
                with suppress(InputError):
                    yield replace(find_toolchain(str(wrapper)), standard_abi=standard)


def _same_abi(family: str, other: str | None) -> bool:
    """True if programs built with one MPI run with the other."""
    return family == other or (other is not None and vendors()[family].abi == vendors()[other].abi)


def _same_installation(found: Linked) -> bool:
    """True if the program loads the MPI whose wrapper is found by name."""
    try:
        wrapper = find_toolchain(found.family).mpicxx.resolve()
    except InputError:
        return False
    return found.library is not None and found.library.resolve().is_relative_to(wrapper.parents[1])


def launcher_place(words: Sequence[str]) -> int | None:
    """Return the position of the launcher in the command, where other programs may precede it.

    None if no word is a known launcher.
    """
    places = (at for at, word in enumerate(words) if _is_launcher(Path(word).name))
    return next(places, None)


def _refuse_other_launcher(word: str, launcher: str | None, program: str, family: str) -> None:
    if launcher is not None and not _same_abi(launcher, family):
        raise InputError(
            f"{word} is {vendors()[launcher].title}'s, but {program} is linked with "
            f"{vendors()[family].title}: its ranks would not find each other; use the launcher of its MPI"
        )


def _executable(word: str) -> Path | None:
    if not word or word.startswith("-"):
        return None
    found = shutil.which(word)
    return Path(found) if found else None


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""


def _libraries(path: Path) -> dict[str, Path] | None:
    """Return the libraries that the loader finds for a program; None for a program that needs no loader."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = children.run(
            ["ldd", str(path)], environment={**environment, "LC_ALL": "C"}, timeout_s=_LDD_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if "not a dynamic executable" in done.stderr + done.stdout or "statically linked" in done.stdout:
        return None
    pairs = re.findall(r"^\s*(\S+) => (.*?)(?: \(0x[0-9a-f]+\))?$", done.stdout, re.MULTILINE)
    return {name: Path(where) for name, where in pairs}


def _family(word: str, libraries: dict[str, Path]) -> tuple[str, Path] | None:
    for name, where in libraries.items():
        own = [one.family for one in vendors().values() if one.abi and re.fullmatch(one.abi, name)]
        standard = re.fullmatch(STANDARD_ABI, name) is not None
        if (own or standard) and "not found" in str(where):
            raise InputError(f"{word} needs {name}, which is not found; set LD_LIBRARY_PATH")
        if own:
            return own[0], where
        if standard:
            if toolchain := next(_toolchains_beside(where), None):
                return toolchain.family, where
            raise InputError(f"{word} needs {where}, and no mpicxx of its MPI is beside that; use --mpi")
    for name in libraries:
        if name.startswith("libsimgrid"):
            raise InputError(f"{word} was built for simulation; compile it for a real MPI")
        if _ANY_MPI.fullmatch(name):
            titles = {vendor.abi_title for vendor in vendors().values() if vendor.abi}
            known = " and ".join(sorted(titles, reverse=True))
            raise InputError(f"{word} needs {name}, an MPI of another ABI than {known}; use one of these")
    return None
