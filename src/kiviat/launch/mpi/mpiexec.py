"""Command and environment of a native launch: pure functions, which the dry run uses, too."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.vendors import LaunchCondition, Need, vendors
from kiviat.record import InputError


@dataclass(frozen=True)
class LauncherOptions:
    """The user's options for the launcher, and the conditions of the launch.

    `launcher` replaces mpiexec and its arguments, e.g. "srun --mpi=pmix -n {ranks}"; `arguments` go to
    mpiexec unchanged. Ranks are bound only if `bind`, `arguments` or the MPI's own default binds them.
    `place`, `per_node` and `bind` are arguments of kiviat.placement.place.
    """

    launcher: str | None = None
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    place: str | None = None
    per_node: int | None = None
    bind: str | None = None
    oversubscribed: bool = False
    probe: bool = False
    root: bool = field(default_factory=lambda: os.geteuid() == 0)

    @property
    def places(self) -> bool:
        """True if Kiviat places ranks itself, beyond the launcher's own binding of a rank to a core."""
        return self.place is not None or self.per_node is not None or self.bind not in (None, "core")

    @property
    def conditions(self) -> tuple[LaunchCondition, ...]:
        """The conditions of this launch that vendors' needs refer to."""
        asked: dict[LaunchCondition, bool] = {
            "root": self.root,
            "oversubscribed": self.oversubscribed,
            "bind": self.bind == "core" and not self.places,
            "probe": self.probe,
        }
        return tuple(condition for condition, holds in asked.items() if holds)


# Prefixes of variables that launchers read themselves, or pass on.
_OF_LAUNCHERS = ("OMPI_", "PRTE_", "PMIX_")


def _needs(toolchain: Toolchain, options: LauncherOptions) -> list[Need]:
    """Return the launcher's needs for this MPI version and these options."""
    return toolchain.vendor.needed(options.conditions, toolchain.version)


def launcher(
    toolchain: Toolchain, world: int, options: LauncherOptions, placed: Sequence[str] = ()
) -> list[str]:
    """Return the words before the program; `placed` are the arguments that place the ranks.

    Raise InputError if ranks are to be placed or bound by mpiexec's options, and `--launcher` is another one,
    or if it is not known how mpiexec binds them.
    """
    if options.launcher:
        words = [word.replace("{ranks}", str(world)) for word in shlex.split(options.launcher)]
        own = bool(words) and Path(words[0]).name.partition(".")[0] in toolchain.vendor.launchers
        if (placed and not own) or "bind" in options.conditions:
            raise InputError(
                f"--place, --ppn and --bind are options for mpiexec, and --launcher is {options.launcher!r}; "
                "give it such options of its own, and leave these out"
            )
        return [*words, *placed]
    needs = _needs(toolchain, options)
    binding = [argument for need in needs if "bind" in need.when for argument in need.arguments]
    refuse_unbound(toolchain, options, toolchain.mpiexec.name, binding)
    added = [argument for need in needs for argument in need.arguments]
    added += _exports(toolchain, options)
    return [str(toolchain.mpiexec), "-n", str(world), *added, *placed, *options.arguments]


def refuse_unbound(
    toolchain: Toolchain, options: LauncherOptions, launcher: str, binding: Sequence[str] = ()
) -> None:
    """Raise InputError if ranks are to be bound, and nothing binds them.

    `binding`: what the launcher has for it; without that, variables of the MPI may bind.
    """
    if "bind" not in options.conditions or binding:
        return
    if not any("bind" in need.when and need.environment for need in _needs(toolchain, options)):
        raise InputError(
            f"--bind {options.bind}: Kiviat does not know how {launcher} binds ranks of "
            f"{toolchain.vendor.title}; leave it out, and bind them by options of --launcher"
        )


def _exports(toolchain: Toolchain, options: LauncherOptions) -> list[str]:
    """Return the arguments by which ranks on other nodes get the variables that Kiviat adds."""
    given = {word.partition("=")[0] for word in options.arguments}
    names = [name for name in environment(toolchain, options, {}) if not name.startswith(_OF_LAUNCHERS)]
    exports = toolchain.vendor.exports
    return [word.format(name=name) for name in names if name not in given for word in exports]


def command(
    toolchain: Toolchain, world: int, program: Sequence[str | Path], options: LauncherOptions
) -> list[str]:
    """Return the whole command: launcher, its options and the program with its arguments."""
    return [*launcher(toolchain, world, options), *map(str, program)]


def program(binary: Path, folder: Path, threads: bool = False) -> list[str | Path]:
    """Return kiviat-bench with its arguments for a launch's folder.

    `threads`: several threads of a rank communicate.
    """
    level = ["--threads", "multiple"] if threads else []
    return [binary, *level, "--cases", folder / "cases.txt", "--out", folder / "events.jsonl"]


def environment(toolchain: Toolchain, options: LauncherOptions, user: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set in addition to those of the `user`, which are not changed."""
    added = {name: value for need in _needs(toolchain, options) for name, value in need.environment.items()}
    return {name: value for name, value in added.items() if name not in user} | dict(options.environment)


# Prefixes of variables of transports and thread libraries; prefixes of the MPIs are in their files.
_OTHERS = ("UCX", "FI", "PSM2", "OMP", "GOMP", "KMP")


def that_matter(user: Mapping[str, str]) -> dict[str, str]:
    """Return those of the user's variables that affect MPI."""
    own = [word for vendor in vendors().values() for word in vendor.variables]
    prefixes = tuple(f"{word}_" for word in (*_OTHERS, *own))
    return {name: value for name, value in user.items() if name.startswith(prefixes) or name == "LD_PRELOAD"}
