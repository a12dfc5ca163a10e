"""Start of a user's program: by its own command line, or on the nodes of a substrate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kiviat.launch.mpi.command_line import taken_apart
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Substrate

# Returns a launch whose words include the program, given a folder in which the launcher finds the rank
# placement.
LaunchFactory = Callable[[Path], LaunchSpec]


def as_it_is(words: Sequence[str]) -> LaunchFactory:
    """Return a factory of launches that run the user's own command line, unchanged."""
    return lambda folder: LaunchSpec(tuple(words), {})


def on(
    substrate: Substrate, toolchain: Toolchain, words: Sequence[str], options: LauncherOptions
) -> LaunchFactory:
    """Return a factory of launches of the command's program on the substrate, with as many ranks."""
    command = taken_apart(words)
    asked = replace(
        options, arguments=command.options, oversubscribed=substrate.oversubscribes(command.ranks)
    )

    def starting(folder: Path) -> LaunchSpec:
        return substrate.start(toolchain, command.ranks, folder, asked).of(command.program)

    return starting
