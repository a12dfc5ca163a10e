"""Where the ranks of a launch run: this machine or an allocation, an emulated cluster, a scheduler's job.

A substrate says how a launch begins, and nothing else knows the difference: `start` is pure, so that a
dry run prints what a run executes. Entering a substrate makes ready what it needs, leaving it cleans up.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.mpiexec import Options
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.cores import available_cores, oversubscribes, ranks_to_probe
from kiviat.machine.topology import Topology, local_topology
from kiviat.placement import Emitted, Layout, emit, place


@dataclass(frozen=True)
class Start:
    """The words before the program, the variables beside the user's, and files for the launch's folder.

    `layout` is the placement asked for, or None where the launcher decides.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    layout: Layout | None = None

    def command(self, program: Sequence[str | Path]) -> tuple[str, ...]:
        return (*self.words, *map(str, program))

    def write(self, folder: Path) -> None:
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def shell_line(self, program: Sequence[str | Path]) -> str:
        """The command as one types it into a shell."""
        variables = (f"{name}={shlex.quote(value)}" for name, value in self.environment.items())
        return " ".join([*variables, shlex.join(self.command(program))])


class Substrate(AbstractContextManager["Substrate"], Protocol):
    """`kind` is that of the records; `label` is what `--on` calls it."""

    @property
    def kind(self) -> str: ...

    @property
    def label(self) -> str: ...

    def default_ranks(self, options: Options) -> int:
        """How many ranks a run has that asks for no number."""
        ...

    def oversubscribes(self, ranks: int) -> bool: ...

    def ranks_to_probe(self, world: int) -> int:
        """As few as show near and far pairs of a launch of `world` ranks; 0 where there is nothing to see."""
        ...

    def start(self, toolchain: Toolchain, ranks: int, folder: Path, options: Options) -> Start: ...


class AlwaysReady:
    """Of a substrate that needs nothing made ready, and leaves nothing to clean up."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


class Native(AlwaysReady):
    """This machine, or the nodes that a scheduler has given us."""

    kind = "native"
    label = "native"

    def default_ranks(self, options: Options) -> int:
        return max(2, min(available_cores(), options.per_node or available_cores()))

    def oversubscribes(self, ranks: int) -> bool:
        return oversubscribes(ranks)

    def ranks_to_probe(self, world: int) -> int:
        return ranks_to_probe(world)

    def start(self, toolchain: Toolchain, ranks: int, folder: Path, options: Options) -> Start:
        layout = layout_of(local_topology(), ranks, options) if options.places else None
        emitted = emit(layout, *toolchain.placement) if layout else None
        words = mpiexec.launcher(toolchain, ranks, options, arguments_of(emitted, folder))
        environment = mpiexec.environment(toolchain, options, os.environ)
        return Start(
            tuple(words),
            environment | environment_of(emitted, folder),
            emitted.files if emitted else {},
            layout,
        )


def layout_of(topology: Topology, ranks: int, options: Options) -> Layout:
    """The placement that the options ask for, blocked where they name none."""
    return place(
        topology,
        ranks,
        options.place or "blocked",
        per_node=options.per_node,
        binding=options.bind,
        oversubscribe=options.oversubscribed,
    )


def arguments_of(emitted: Emitted | None, folder: Path) -> tuple[str, ...]:
    if emitted is None:
        return ()
    return tuple(word.replace("{folder}", str(folder)) for word in emitted.arguments)


def environment_of(emitted: Emitted | None, folder: Path) -> dict[str, str]:
    if emitted is None:
        return {}
    return {name: value.replace("{folder}", str(folder)) for name, value in emitted.environment.items()}
