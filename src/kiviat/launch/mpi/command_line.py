"""Parses commands such as `mpirun -n 16 ./program args` into launcher, ranks, other options and program."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kiviat.launch.mpi.linkage import launcher_family
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import launcher_options
from kiviat.record import InputError
from kiviat.record.plain import whole_number


@dataclass(frozen=True)
class LauncherCommand:
    """A launcher's command line; `options` exclude the number of ranks, `program` includes its arguments."""

    launcher: str
    ranks: int
    options: tuple[str, ...]
    program: tuple[str, ...]


def taken_apart(words: Sequence[str]) -> LauncherCommand:
    """Parse a command. Raise InputError if a word cannot be understood, or places ranks."""
    said = " ".join(words)
    known = launcher_options()
    values = dict.fromkeys(known.one, 1) | dict.fromkeys(known.two, 2)
    if ":" in words:
        raise InputError(f"`{said}` starts several programs, separated by `:`; give a command with one")
    ranks: int | None = None
    options: list[str] = []
    at = 1
    while at < len(words) and words[at].startswith("-"):
        name, _, value = words[at].partition("=")
        if name in known.placing:
            raise InputError(
                f"{words[at]} in `{said}` places ranks, but kiviat places them here; leave it out"
            )
        if name in known.ranks:
            value = value or (words[at + 1] if at + 1 < len(words) else "")
            ranks = whole_number(value)
            if ranks is None:
                raise InputError(f"{name} {value} in `{said}` is not a number of ranks; write -n 16")
            at += 1 if "=" in words[at] else 2
            continue
        count = 1 + (0 if "=" in words[at] else values.get(name, 0))
        if name in known.variables and "=" in "".join(words[at + 1 : at + 2]):  # -genv NAME=VALUE of Hydra
            count = 2
        if name not in known.needless:
            options += words[at : at + count]
        at += count
    if ranks is None:
        raise InputError(f"`{said}` does not say how many ranks; write mpirun -n 16 ./program")
    if at >= len(words):
        raise InputError(f"`{said}` has no program; write mpirun -n 16 ./program")
    program = shutil.which(words[at])
    if program is None:
        raise InputError(
            f"{words[at]!r} in `{said}` is not a program; leave it out, with {words[at - 1]} if that needs it"
        )
    return LauncherCommand(words[0], ranks, tuple(options), (str(Path(program).absolute()), *words[at + 1 :]))


def variables_of(options: Sequence[str], launcher: str) -> dict[str, str]:
    """Return the environment that options of mpiexec set.

    `launcher` has no such options but passes on its environment. Raise InputError for options that do
    anything else.
    """
    found: dict[str, str] = {}
    words = iter(options)
    known = launcher_options()
    for name in words:
        if name in known.assignments:  # variables without a value are passed on anyway
            variable, given, value = next(words, "").partition("=")
            found |= {variable: value} if given else {}
        elif name in known.variables:
            variable, given, value = next(words, "").partition("=")
            found[known.variables[name] + variable] = value if given else next(words, "")
        elif name not in known.inheriting:
            raise InputError(
                f"{name} is an option of mpiexec, but {launcher} starts the ranks here; leave it out"
            )
    return found


def toolchain_of(launcher: str, mpi: str | None) -> Toolchain:
    """Return the toolchain of `mpi` if given, else that of the launcher."""
    if mpi is not None:
        return find_toolchain(mpi)
    family = launcher_family(launcher)
    if family is None:
        raise InputError(f"{launcher} is not the launcher of a known MPI; name the MPI with --mpi")
    return find_toolchain(family)
