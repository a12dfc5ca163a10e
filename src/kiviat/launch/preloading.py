"""Starts a command with a library of ours preloaded into its ranks, which leave files in a folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from kiviat.launch.build import build
from kiviat.launch.linked import launcher_family, launcher_place
from kiviat.launch.substrate import Start
from kiviat.launch.toolchain import Toolchain
from kiviat.record import InputError

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PRELOAD = "LD_PRELOAD"


@dataclass(frozen=True)
class Tool:
    """`product` is what kiviat.launch.build calls the library, `variable` names the folder to it. A file of
    what it found is a `noun`, has this suffix, and begins with `start`.
    """

    product: str
    variable: str
    noun: str
    start: bytes

    def library(self, toolchain: Toolchain) -> Path:
        """The library for this MPI, built if the cache does not have it."""
        return build(
            toolchain, product=self.product, tell=lambda text: print(f"kiviat: {text}", file=sys.stderr)
        )

    def preloading(
        self, start: Start, library: Path, folder: Path, also: Mapping[str, str] | None = None
    ) -> Start:
        """The command with the library in its ranks, which leave their files in `folder`.

        Open MPI's launcher is told what to take to other nodes; MPICH's may preload something else already.
        `also` are variables beside ours.
        """
        inherited = {**os.environ, **start.environment}.get(_PRELOAD, "")
        words = list(start.words)
        place = launcher_place(words)
        variables = {self.variable: str(folder), **(also or {})}
        if place is not None and launcher_family(words[place]) == "openmpi":
            new = [name for name in (_PRELOAD, *variables) if name not in words]
            words[place + 1 : place + 1] = [part for name in new for part in ("-x", name)]
        for at in range(2, len(words)):
            if words[at - 2 : at] == ["-genv", _PRELOAD]:
                words[at] = _joined(library, words[at])
        variables[_PRELOAD] = _joined(library, inherited)
        return replace(start, words=tuple(words), environment={**start.environment, **variables})

    def default_name(self, program: str) -> str:
        """ "lmp.profile" for "/opt/bin/lmp" """
        return re.sub(r"[^\w.+-]", "_", Path(program).name) + f".{self.noun}"

    def folder_for(self, output: Path, state: Path | None) -> Path:
        """A new folder that ranks can write to; InputError where there is none, or `output` is taken."""
        self._refuse(output)
        home = output.absolute().parent if state is None else state.absolute()
        try:
            return Path(tempfile.mkdtemp(prefix=f"{output.name}.", dir=home))
        except OSError as error:
            raise InputError(
                f"cannot write to {home}: {error.strerror}; give another -o or --state"
            ) from error

    def _refuse(self, output: Path) -> None:
        if output.is_dir():
            raise InputError(f"-o {output} is a folder; give the name of a file")
        if output.exists():
            with output.open("rb") as file:
                if file.read(len(self.start)) != self.start:
                    raise InputError(f"-o {output} exists and is no {self.noun}; give another name")


def _joined(library: Path, others: str) -> str:
    return ":".join([str(library), *filter(None, others.split(":"))])


def run(start: Start, folder: Path) -> int:
    """The exit code of the command; what it prints is its own affair. Where it cannot be started `folder`,
    in which nobody has written, is gone.
    """
    start.write(folder)
    try:
        started = subprocess.Popen(start.words, env={**os.environ, **start.environment})
    except OSError as error:
        shutil.rmtree(folder)
        raise InputError(f"cannot start {start.words[0]}: {error.strerror}") from error
    with _forwarding(started):
        status = started.wait()
    return status if status >= 0 else 128 - status


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
