"""The command and the environment of a native launch: pure functions, shared with the dry run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kiviat.launch.toolchain import Toolchain
from kiviat.launch.vendors import Need, Situation


@dataclass(frozen=True)
class Options:
    """What the user asks of the launcher, and the situation it starts in.

    `launcher` replaces mpiexec and its arguments, e.g. "srun --mpi=pmix -n {ranks}"; `arguments` go to
    mpiexec as they are. Ranks are bound only if `bind` or `arguments` say so, or the MPI does by itself.
    """

    launcher: str | None = None
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    bind: bool = False
    oversubscribed: bool = False
    probe: bool = False
    root: bool = field(default_factory=lambda: os.geteuid() == 0)

    @property
    def situations(self) -> tuple[Situation, ...]:
        asked: dict[Situation, bool] = {
            "root": self.root,
            "oversubscribed": self.oversubscribed,
            "bind": self.bind,
            "probe": self.probe,
        }
        return tuple(situation for situation, holds in asked.items() if holds)


def needs(toolchain: Toolchain, options: Options) -> list[Need]:
    return toolchain.vendor.needed(options.situations, toolchain.version)


def command(toolchain: Toolchain, ranks: int, program: Sequence[str | Path], options: Options) -> list[str]:
    if options.launcher:
        start = [word.replace("{ranks}", str(ranks)) for word in shlex.split(options.launcher)]
    else:
        added = [argument for need in needs(toolchain, options) for argument in need.arguments]
        start = [str(toolchain.mpiexec), "-n", str(ranks), *added, *options.arguments]
    return [*start, *map(str, program)]


def program(binary: Path, folder: Path) -> list[str | Path]:
    """kiviat-bench, driven by the files of a launch's folder."""
    return [binary, "--cases", folder / "cases.txt", "--out", folder / "events.jsonl"]


def environment(toolchain: Toolchain, options: Options, user: Mapping[str, str]) -> dict[str, str]:
    """Only the variables that we set, beside those of the `user`, which stay as they are."""
    added = {name: value for need in needs(toolchain, options) for name, value in need.environment.items()}
    return {name: value for name, value in added.items() if name not in user} | dict(options.environment)


_MATTERS = re.compile(r"(OMPI_MCA|UCX|FI|MPIR_CVAR|MPICH|HYDRA|I_MPI|MV2|PSM2|OMP|GOMP|KMP)_|LD_PRELOAD$")


def that_matter(user: Mapping[str, str]) -> dict[str, str]:
    """The variables of the user that change what MPI does."""
    return {name: value for name, value in user.items() if _MATTERS.match(name)}


def shell_line(variables: Mapping[str, str], words: Sequence[str]) -> str:
    """A command as one types it into a shell."""
    return " ".join(
        [*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(words)]
    )
