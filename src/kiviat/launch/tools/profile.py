"""Starts a command that preloads the profiler, and collects its profiles."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory

from kiviat.launch.mpi.build import PROFILER, RECORDER
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.tools.preload import EndedCommand, Tool, finishing
from kiviat.launch.tools.user_command import LaunchFactory
from kiviat.profile import (
    Waits,
    add_children,
    add_crossing,
    add_phases,
    add_waits,
    is_profile,
    read_profile,
    write_merged,
)
from kiviat.profile.crossing import LAYERS, crossed, monitoring
from kiviat.profile.phases import phases_in
from kiviat.profile.timeline import Timeline
from kiviat.profile.wait_states import waits_in
from kiviat.record import InputError, replacing
from kiviat.trace.layout import START

TOOL = Tool(PROFILER, "KIVIAT_PROFILE", "profile", b'{"format":"kiviat.profile/')
_RECORDER = Tool(RECORDER, "KIVIAT_WAITS", "trace", START)
_COUNTERS = "KIVIAT_COUNTERS"


@dataclass(frozen=True)
class ProfileOptions:
    """Optional parts of a profile.

    `crossing`: messages that Open MPI itself sends; `recorder`: library for wait states, None without;
    `counters`: hardware counters and energy of each phase.
    """

    crossing: bool = False
    recorder: Path | None = None
    counters: bool = False


_NOTHING = ProfileOptions()


@dataclass(frozen=True)
class Profiled:
    """A profiled command: its exit `status` and its profiles, the first one under the requested name.

    `unfinished` says whether ranks left their part behind without MPI_Finalize, `sessions` whether the
    program started MPI by a session and never by MPI_Init. `signal`: see preload.EndedCommand.
    `left_out`: ranks of programs that did not reach MPI_Finalize either, but are not the latest of those.
    """

    status: int
    profiles: tuple[Path, ...]
    unfinished: bool
    sessions: bool = False
    signal: int | None = None
    left_out: int = 0


def profiled(
    starting: LaunchFactory,
    library: Path,
    output: Path,
    state: Path | None = None,
    asked: ProfileOptions = _NOTHING,
) -> Profiled:
    """Run the command and return its profiles; the command's output and exit code are not changed.

    `state`: folder for the counters of running ranks, which all nodes must see; by default next to `output`.
    """
    ended = TOOL.run(lambda folder: profiling(starting(folder), library, folder, asked), output, state)
    with finishing(output):
        return collected(ended, output, asked)


def recorder_of(toolchain: Toolchain, *, dry: bool = False) -> Path:
    """Return the library that records the times of calls."""
    return _RECORDER.library(toolchain, dry=dry)


def profiling(start: LaunchSpec, library: Path, folder: Path, asked: ProfileOptions = _NOTHING) -> LaunchSpec:
    """Return the command with the profiler; at its end, the counters of its ranks are in `folder`."""
    if asked.recorder:  # after the profiler, which must be first
        start = _RECORDER.preloading(start, asked.recorder, folder)
    preloaded = TOOL.preloading(start, library, folder, {_COUNTERS: "1"} if asked.counters else {})
    if not asked.crossing:
        return preloaded
    layers = {**os.environ, **start.environment}.get(LAYERS, "")
    return replace(preloaded, environment={**preloaded.environment, **monitoring(folder, layers)})


def collected(ended: EndedCommand, output: Path, asked: ProfileOptions = _NOTHING) -> Profiled:
    """Write the profiles of a command to `output`, and those of further MPI worlds to "NAME-2" and so on.

    Names that exist are passed over, because only `output` was named by the user. Ranks that did not reach
    MPI_Finalize are merged from the state they left. Worlds that MPI_Comm_spawn started come after those that
    the launcher started.
    """
    folder = ended.folder
    with ExitStack() as stack:
        worlds = list(folder.glob("world-*.profile"))
        left_out = 0
        if left := any(folder.glob("rank-*.state")):
            # The folder of the state may be full, which is no reason to lose anything.
            beside = TemporaryDirectory(prefix=f"{output.name}.", dir=output.absolute().parent)
            merged = Path(stack.enter_context(beside)) / "left.profile"
            with suppress(InputError):
                left_out = write_merged(folder, merged)
                worlds.append(merged)
        worlds.sort(key=lambda path: path.stat().st_mtime)
        kin = {}
        for world in worlds if len(worlds) > 1 else ():
            with suppress(InputError):  # a damaged file is copied like any other
                kin[world] = read_profile(world)
        worlds.sort(key=lambda world: world in kin and kin[world].parents > 0)
        names = (output.with_name(f"{output.stem}-{number}{output.suffix}") for number in count(2))
        # Earlier profiles are replaced, and nothing else; writing to a link would change its target.
        others = (
            name
            for name in names
            if not os.path.lexists(name) or (not name.is_symlink() and is_profile(name))
        )
        written = []
        for world, target in zip(worlds, chain([output], others), strict=False):
            with replacing(target) as file, world.open("rb") as counted:
                shutil.copyfileobj(counted, file)
            written.append(target)
        ours = dict(zip(worlds, written, strict=False))
        starting = [ours[world] for world, profile in kin.items() if profile.spawned]
        started = [ours[world] for world in worlds if world in kin and kin[world].parents]
        if len(starting) == 1 and started:  # with several, nothing tells whose children are whose
            add_children(starting[0], started)
        if len(written) == 1 and (pairs := crossed(folder)):
            add_crossing(output, pairs)
        for path in written if asked.recorder else ():
            add_waits(path, *_waits(folder, alone=len(written) == 1))
        if len(written) == 1 and asked.counters:
            add_phases(output, phases_in(folder))
    sessions = (folder / "session").exists() and not written
    shutil.rmtree(folder, ignore_errors=True)
    return Profiled(ended.status, tuple(written), left, sessions, ended.signal, left_out)


def _waits(folder: Path, alone: bool) -> tuple[Waits, Timeline | None]:
    """A failure here does not discard the rest of the profile."""
    if not alone:
        return Waits.none("several programs were profiled at once"), None
    try:
        return waits_in(folder)
    except InputError as error:
        return Waits.none(str(error)), None
