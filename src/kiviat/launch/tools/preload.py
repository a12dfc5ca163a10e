"""Starts a command whose ranks preload one of kiviat's libraries and write files to a folder."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import FrameType

from kiviat.launch.mpi.build import build, program_path
from kiviat.launch.mpi.build_cache import refuse_torn
from kiviat.launch.mpi.linkage import launcher_family, launcher_place
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.vendors import launcher_options, vendors
from kiviat.launch.process.children import tied
from kiviat.launch.process.execution import exit_text
from kiviat.launch.process.signals import INTERRUPTING, Interrupted, Interrupts
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.record import InputError

_FORWARDED = (*INTERRUPTING, signal.SIGUSR1, signal.SIGUSR2)
_PRELOAD = "LD_PRELOAD"
_AMONG_OTHERS = re.compile(rf"\S*[,;=]{_PRELOAD}=\S*")  # --export=ALL,LD_PRELOAD=…


@dataclass(frozen=True)
class EndedCommand:
    """A command that has ended: `folder` has the files of its ranks, `status` is its exit code.

    `signal`: the first of INT, TERM and HUP that kiviat received meanwhile.
    """

    folder: Path
    status: int
    signal: int | None


@dataclass(frozen=True)
class Tool:
    """A library that ranks preload, and its output files.

    `product`: the library in mpi.build; `variable`: names the output folder. `noun` is the name of the result
    in messages and the file's suffix; `start` is the first word of the file.
    """

    product: str
    variable: str
    noun: str
    start: bytes

    def library(self, toolchain: Toolchain, *, dry: bool = False) -> Path:
        """Return the library for this MPI; build it if it is not cached, except in a dry run."""
        if dry:
            return program_path(toolchain, product=self.product)
        return build(
            toolchain, product=self.product, tell=lambda text: print(f"kiviat: {text}", file=sys.stderr)
        )

    def preloading(
        self, start: LaunchSpec, library: Path, folder: Path, also: Mapping[str, str] | None = None
    ) -> LaunchSpec:
        """Return the command with the library preloaded into its ranks, which write their files to `folder`.

        Some launchers need options to export variables to other nodes; other preloaded libraries are kept.
        `also`: additional variables. Raise InputError if a word sets LD_PRELOAD in a way that is not known,
        or if LD_PRELOAD cannot name the library.
        """
        refuse_torn(library, _PRELOAD)
        inherited = {**os.environ, **start.environment}.get(_PRELOAD, "")
        words = list(start.launcher)
        place = launcher_place(words)
        variables = {self.variable: str(folder), **(also or {})}
        family = None if place is None else launcher_family(words[place])
        if place is not None and family is not None:
            exports = vendors()[family].exports
            given = {word.partition("=")[0] for before, word in pairwise(words) if before in exports}
            new = [name for name in (_PRELOAD, *variables) if name not in given]
            words[place + 1 : place + 1] = [word.format(name=name) for name in new for word in exports]
        variables[_PRELOAD] = _joined(library, inherited)
        return replace(
            start,
            launcher=_with_library(library, words),
            program=_with_library(library, start.program),
            environment={**start.environment, **variables},
        )

    def default_name(self, program: str) -> str:
        """Return the name of the output file: "lmp.profile" for "/opt/bin/lmp"."""
        return re.sub(r"[^\w.+-]", "_", Path(program).name) + f".{self.noun}"

    def folder_for(self, output: Path, state: Path | None) -> Path:
        """Yield a new folder that ranks can write to.

        Raise InputError if there is none, or if `output` exists.
        """
        self._refuse(output)
        home = output.absolute().parent if state is None else state.absolute()
        try:
            return Path(tempfile.mkdtemp(prefix=f"{output.name}.", dir=home))
        except OSError as error:
            raise InputError(
                f"cannot write to {home}: {error.strerror}; give another -o or --state"
            ) from error

    def run(self, starting: Callable[[Path], LaunchSpec], output: Path, state: Path | None) -> EndedCommand:
        """Run the command to its end. If it cannot be started, no folder is left."""
        with Interrupts() as interrupts:
            folder = self.folder_for(output, state)
            try:
                start = starting(folder)
                start.write(folder)
                started = _started(start)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            with _forwarding(started) as received:
                if interrupts.signal is not None:
                    started.send_signal(interrupts.signal)
                status = started.wait()
        ending = [number for number in (interrupts.signal, *received) if number in INTERRUPTING]
        return EndedCommand(folder, status if status >= 0 else 128 - status, ending[0] if ending else None)

    def missing(self, program: str, code: int) -> str:
        """Return the message for a program that left nothing behind; `code` is its exit code."""
        ended = f"the command ended with {exit_text(code)}; " if code else ""
        return (
            f"there is no {self.noun}: {ended}no MPI call of {program} was seen, because it never came to "
            "the end of MPI_Init, or its ranks cannot write to the folder of -o (give --state, a folder that "
            "all nodes see, with room), or it loads its MPI in a way that hides it"
        )

    def _refuse(self, output: Path) -> None:
        if output.is_dir():
            raise InputError(f"-o {output} is a folder; give a file")
        if output.exists():
            if not output.is_file():
                raise InputError(
                    f"-o {output} is a device or a pipe, but a {self.noun} must be readable later; give a "
                    "file"
                )
            with output.open("rb") as file:
                if file.read(len(self.start)) != self.start:
                    raise InputError(f"-o {output} exists and is not a {self.noun}; give another name")


def _with_library(library: Path, words: Sequence[str]) -> tuple[str, ...]:
    """Return words of a command, with the library before the others that they preload."""
    prefixes, assignment = launcher_options().variables, f"{_PRELOAD}="
    found = list(words)
    for at, word in enumerate(words):
        if word.startswith(assignment):  # after -x, -genv or env
            found[at] = assignment + _joined(library, word.removeprefix(assignment))
        elif at > 1 and words[at - 2] in prefixes and prefixes[words[at - 2]] + words[at - 1] == _PRELOAD:
            found[at] = _joined(library, word)
        elif _AMONG_OTHERS.fullmatch(word):
            raise InputError(
                f"{word} sets {_PRELOAD}, so that ranks would not load kiviat's library; leave it out there, "
                f"and set {_PRELOAD} for kiviat, which passes it on"
            )
    return tuple(found)


def _joined(library: Path, others: str) -> str:
    return ":".join([str(library), *filter(None, others.split(":"))])


def _started(start: LaunchSpec) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(start.command, env={**os.environ, **start.environment}, preexec_fn=tied())
    except OSError as error:
        raise InputError(f"cannot start {start.command[0]}: {error.strerror}") from error


@contextmanager
def finishing(output: Path) -> Iterator[None]:
    """Delay signals until the files of all ranks are collected, and raise them afterwards."""
    with Interrupts() as interrupts:
        yield
    if interrupts.signal is not None:
        raise Interrupted(interrupts.signal, f"{output} is written" if output.exists() else "")


@contextmanager
def _forwarding(started: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Forward signals to the program; yield the list of those received.

    Signals that were ignored, as under nohup, stay ignored. Ctrl-C is not forwarded, because the terminal
    sends it to both processes.
    """
    received: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if number != signal.SIGINT or not at_terminal:
            with suppress(ProcessLookupError):
                started.send_signal(number)

    at_terminal = sys.stdin.isatty()
    heeded = [number for number in _FORWARDED if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, forward) for number in heeded}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
