"""How a program that is not ours is started: as its command says, or on the nodes of a substrate."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kiviat.launch.command_line import taken_apart
from kiviat.launch.native import Options
from kiviat.launch.substrate import Substrate
from kiviat.launch.toolchain import Toolchain


@dataclass(frozen=True)
class Command:
    """`environment` is beside the user's; `files` are for the folder that the words name."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def shell_line(self) -> str:
        """As one types it into a shell."""
        variables = (f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return " ".join([*variables, shlex.join(self.words)])


# Of the folder in which a launcher finds what places the ranks.
Starting = Callable[[Path], Command]


def as_it_is(words: Sequence[str]) -> Starting:
    return lambda folder: Command(tuple(words))


def on(substrate: Substrate, toolchain: Toolchain, words: Sequence[str], options: Options) -> Starting:
    """The command's program, with as many ranks, where the substrate and the options put them."""
    command = taken_apart(words)
    asked = replace(
        options, arguments=command.options, oversubscribed=substrate.oversubscribes(command.ranks)
    )

    def starting(folder: Path) -> Command:
        start = substrate.start(toolchain, command.ranks, folder, asked)
        return Command(start.command(command.program), start.environment, start.files)

    return starting
