"""Starts a command with the profiler preloaded, and collects what it wrote."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from kiviat.launch.build import PROFILER
from kiviat.launch.preloading import Tool, run
from kiviat.launch.starting import Command, Starting
from kiviat.profile import add_crossing, write_merged
from kiviat.profile.crossing import LAYERS, crossed, monitoring
from kiviat.record import InputError

TOOL = Tool(PROFILER, "KIVIAT_PROFILE", "profile", b'{"format":"kiviat.profile/')


@dataclass(frozen=True)
class Ended:
    """`profiles` is what was written, the first one under the name asked for; `unfinished` says whether ranks
    left it behind without MPI_Finalize. `status` is the command's own.
    """

    status: int
    profiles: tuple[Path, ...]
    unfinished: bool


def profiled(
    starting: Starting,
    library: Path,
    output: Path,
    state: Path | None = None,
    crossing: bool = False,
) -> Ended:
    """Runs the command; what it prints and how it ends is its own affair.

    `state` is where ranks count while they run; all nodes must see it. By default that is beside `output`.
    `crossing` lets Open MPI count what it sends.
    """
    folder = TOOL.folder_for(output, state)
    return _collected(folder, output, run(profiling(starting(folder), library, folder, crossing), folder))


def profiling(command: Command, library: Path, folder: Path, crossing: bool) -> Command:
    """The command, profiled: what its ranks count is in `folder` at the end."""
    preloaded = TOOL.preloading(command, library, folder)
    if not crossing:
        return preloaded
    layers = {**os.environ, **command.environment}.get(LAYERS, "")
    return replace(preloaded, environment={**preloaded.environment, **monitoring(folder, layers)})


def _collected(folder: Path, output: Path, status: int) -> Ended:
    worlds = sorted(folder.glob("world-*.profile"), key=lambda path: path.stat().st_mtime)
    left = any(folder.glob("rank-*.state"))
    others = (output.with_name(f"{output.stem}-{number}{output.suffix}") for number in count(2))
    written = []
    for world, target in zip(worlds, chain([output], others), strict=False):
        shutil.move(world, target)
        written.append(target)
    if left and not worlds:
        with suppress(InputError):
            write_merged(folder, output)
            written.append(output)
    if len(written) == 1 and (pairs := crossed(folder)):
        add_crossing(output, pairs)
    shutil.rmtree(folder, ignore_errors=True)
    return Ended(status, tuple(written), left and not worlds)
