"""A launch before it starts: command, folder, environment and limits."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.transport import UNKNOWN
from kiviat.placement import Layout

Clock = Literal["wall", "simulated"]


@dataclass(frozen=True)
class LaunchSpec:
    """Command, environment and files of a launch.

    A substrate fills in everything except the program. `launcher` and `program` are words of the command;
    `environment` is added to the user's; `files` are written to the launch's folder. For a user's own
    command, only the words are known. `layout`: the requested placement, None if the launcher decides.
    `per_node`: the number of ranks that the job has on a node, None if it was not requested or there is a
    layout. `world`: number of ranks; `timeout_s`: time limit of a case or program, None if the case
    determines it.
    """

    launcher: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    layout: Layout | None = None
    toolchain: Toolchain | None = None
    world: int = 0
    folder: Path = Path()
    substrate: str = "native"
    clock: Clock = "wall"
    oversubscribed: bool = False
    program: tuple[str, ...] = ()
    timeout_s: float | None = None
    per_node: int | None = None
    # Identity of the launch within its run, and facts that the run has determined.
    run: str = ""
    plan: str = ""
    index: int = 0
    repetition: int = 0
    user_environment: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=lambda: UNKNOWN)

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command: launcher with its options, program with its arguments."""
        return self.launcher + self.program

    @property
    def mpi(self) -> Toolchain:
        """The toolchain of a launch by kiviat."""
        assert self.toolchain is not None, "a command of the user's"
        return self.toolchain

    def of(self, program: Sequence[str | Path], **variables: str) -> Self:
        """Return the launch of a program with its arguments and additional `variables`."""
        return replace(self, program=tuple(map(str, program)), environment={**self.environment, **variables})

    def write(self, folder: Path) -> None:
        """Write the files that the launcher reads, such as rankfiles, into the launch's folder."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def shell_line(self) -> str:
        """The command as a line for a shell."""
        variables = (f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return " ".join([*variables, shlex.join(self.command)])
