"""Starts a command with the profiler preloaded, and collects what it wrote."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from types import FrameType

from kiviat.launch.build import PROFILER, build
from kiviat.launch.linked import launcher_family, launcher_place
from kiviat.launch.toolchain import Toolchain
from kiviat.profile import add_crossing, write_merged
from kiviat.profile.crossing import LAYERS, crossed, monitoring
from kiviat.record import InputError

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
VARIABLES = ("LD_PRELOAD", "KIVIAT_PROFILE")


def profiler_of(toolchain: Toolchain) -> Path:
    """The library for this MPI, built if the cache does not have it."""
    return build(toolchain, product=PROFILER, tell=lambda text: print(f"kiviat: {text}", file=sys.stderr))


def environment(library: Path, folder: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """What a process needs so that its calls are counted, in `folder`."""
    preloaded = [str(library), *filter(None, inherited.get("LD_PRELOAD", "").split(":"))]
    return {"LD_PRELOAD": ":".join(preloaded), "KIVIAT_PROFILE": str(folder)}


def command(words: Sequence[str]) -> list[str]:
    """The command with what takes the environment to other nodes. Of the launchers that we know only Open
    MPI's has to be told.
    """
    place = launcher_place(words)
    if place is None or launcher_family(words[place]) != "openmpi":
        return list(words)
    taken = [part for name in VARIABLES for part in ("-x", name)]
    return [*words[: place + 1], *taken, *words[place + 1 :]]


@dataclass(frozen=True)
class Ended:
    """`profiles` is what was written, the first one under the name asked for; `unfinished` says whether ranks
    left it behind without MPI_Finalize. `status` is the command's own.
    """

    status: int
    profiles: tuple[Path, ...]
    unfinished: bool


def profiled(
    words: Sequence[str],
    library: Path,
    output: Path,
    state: Path | None = None,
    crossing: bool = False,
) -> Ended:
    """Runs the command; what it prints and how it ends is its own affair.

    `state` is where ranks count while they run; all nodes must see it. By default that is beside `output`.
    `crossing` lets Open MPI count what it sends.
    """
    _refuse_output(output)
    home = output.absolute().parent if state is None else state.absolute()
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{output.name}.", dir=home))
    except OSError as error:
        raise InputError(f"cannot write to {home}: {error.strerror}; give another -o or --state") from error
    variables = environment(library, folder, os.environ)
    if crossing:
        variables |= monitoring(folder, os.environ.get(LAYERS, ""))
    try:
        started = subprocess.Popen(command(words), env={**os.environ, **variables})
    except OSError as error:
        folder.rmdir()
        raise InputError(f"cannot start {words[0]}: {error.strerror}") from error
    with _forwarding(started):
        status = started.wait()
    return _collected(folder, output, status if status >= 0 else 128 - status)


def _refuse_output(output: Path) -> None:
    if output.is_dir():
        raise InputError(f"-o {output} is a folder; give the name of a file")
    if output.exists():
        with output.open("rb") as file:
            if not file.read(26).startswith(b'{"format":"kiviat.profile/'):
                raise InputError(f"-o {output} exists and is no profile; give another name")


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


@contextmanager
def _forwarding(started: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals to us are meant for the program. A terminal sends Ctrl-C to both of us by itself."""

    def forward(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            started.send_signal(number)

    numbers = (*_FORWARDED, *(() if sys.stdin.isatty() else (signal.SIGINT,)))
    before = {number: signal.signal(number, forward) for number in numbers}
    if signal.SIGINT not in before:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def default_name(program: str) -> str:
    """ "lmp.profile" for "/opt/bin/lmp" """
    return re.sub(r"[^\w.+-]", "_", Path(program).name) + ".profile"
