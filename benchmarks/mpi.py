"""The MPIs of this machine with their builds of kiviat-bench, and functions that start programs with them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.mpiexec import LauncherOptions, command, environment
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR, vendors
from kiviat.launch.substrates.cores import oversubscribes
from kiviat.record import InputError

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
_ASKED_EVERY_S = 0.05


class LaunchError(RuntimeError):
    """A program failed under MPI: the command and its last output."""


# Kiviat's kernels ask for huge pages. With this variable glibc's malloc (2.35 and later) asks for them, too.
HUGE_PAGES: Mapping[str, str] = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# Prefix of Open MPI's variables that only let root use mpiexec.
_OF_ROOT = "OMPI_ALLOW_RUN_AS_ROOT"


@dataclass(frozen=True)
class Mpi:
    toolchain: Toolchain
    program: Path

    @property
    def key(self) -> str:
        return self.toolchain.family

    @property
    def name(self) -> str:
        return self.toolchain.name

    def launch(
        self,
        program: Sequence[str | Path],
        ranks: int = 2,
        timeout_s: float = 600,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
        enough: Callable[[], bool] | None = None,
    ) -> str:
        """Return the standard output of `program` on `ranks` ranks, started as `kiviat run` starts programs.

        It runs in `folder`, with the additional environment `variables`, if given. If `enough` returns True,
        which is checked many times per second, the program is ended.
        """
        options = LauncherOptions(oversubscribed=oversubscribes(ranks))
        words = command(self.toolchain, ranks, program, options)
        with subprocess.Popen(
            words,
            env={**os.environ, **environment(self.toolchain, options, os.environ), **(variables or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as launcher:
            deadline_s = time.monotonic() + timeout_s
            while True:
                try:
                    out, error = launcher.communicate(timeout=_ASKED_EVERY_S if enough else timeout_s)
                    break
                except subprocess.TimeoutExpired:
                    late = time.monotonic() >= deadline_s
                    if late or (enough and enough()):
                        launcher.terminate()  # SIGTERM, unlike SIGKILL, lets the launcher end its ranks
                        out, error = launcher.communicate()
                        if not late:
                            return out
                        raise LaunchError(f"{' '.join(words)} took more than {timeout_s:.0f} s") from None
        if launcher.returncode:
            said = (error.strip() or out.strip()).splitlines()[-5:]
            raise LaunchError(f"{' '.join(words)} exited with {launcher.returncode}: {' / '.join(said)}")
        return out

    def launch_peer(
        self,
        program: Sequence[str | Path],
        ranks: int = 2,
        timeout_s: float = 600,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
        pages: str = "huge",
    ) -> str:
        """Launch another program as `launch` does, with huge pages like Kiviat's kernels.

        With `pages` "default" the program runs as its users run it.
        """
        return self.launch(program, ranks, timeout_s, folder, {**_paged(pages), **(variables or {})})

    def shell(
        self,
        program: Sequence[str | Path],
        ranks: int = 2,
        variables: Mapping[str, str] | None = None,
        pages: str = "default",
    ) -> str:
        """Return how `launch_peer` starts a program, as a line for a shell, to repeat a figure by hand."""
        options = LauncherOptions(oversubscribed=oversubscribes(ranks))
        own = environment(self.toolchain, options, {})
        given = {name: value for name, value in own.items() if not name.startswith(_OF_ROOT)}
        return shell(
            command(self.toolchain, ranks, program, options),
            {**given, **_paged(pages), **(variables or {})},
        )

    def measure(
        self,
        cases: Sequence[str],
        ranks: int = 2,
        timeout_s: float = 600,
        variables: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> Events:
        """Run `cases`, lines as in cases.txt, in one launch of kiviat-bench; return its events.

        `prefix`: a command that each rank is started by, such as setarch.
        """
        with tempfile.TemporaryDirectory() as folder:
            asked, told = Path(folder) / "cases.txt", Path(folder) / "events.jsonl"
            asked.write_text("\n".join(cases) + "\n", encoding="utf-8")
            words: list[str | Path] = [*prefix, self.program, "--cases", asked, "--out", told]
            self.launch(words, ranks, timeout_s, variables=variables)
            events = [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]
        return Events({event["case"]: event for event in events if event["event"] == "result"})

    def compile(self, source: Path, *options: str) -> Path:
        """Compile one C++ file with kiviat-bench's optimisation and additional options; return the
        program.
        """
        BUILD.mkdir(exist_ok=True)
        words = self._compilation(source, options)
        subprocess.run(words, check=True)
        return Path(words[-1])

    def compiled(self, source: Path, *options: str) -> str:
        """Return how `compile` compiles a file, as a line for a shell."""
        return f"mkdir -p {BUILD.name} && {shell(self._compilation(source, options))}"

    def _compilation(self, source: Path, options: Sequence[str]) -> list[str]:
        # Libraries among the options must follow the source.
        words = [str(self.toolchain.mpicxx), "-O3", "-DNDEBUG", "-std=c++20", str(source), *options]
        return [*words, "-o", str(BUILD / f"{source.stem}-{self.key}")]


@dataclass(frozen=True)
class Events:
    """Results of one launch, by case."""

    results: Mapping[str, Mapping[str, Any]]

    def metric(self, case: str, name: str) -> Mapping[str, Any]:
        """Return a metric of a successful case; raise LaunchError if the case failed."""
        result = self.results[case]
        if result["outcome"] != "ok":
            raise LaunchError(f"{case} {result['outcome']}: {result['reason']}")
        found: Mapping[str, Any] = next(metric for metric in result["metrics"] if metric["name"] == name)
        return found


def shell(words: Sequence[str | Path], variables: Mapping[str, str] | None = None) -> str:
    """Return a command as a line for a shell in Kiviat's folder; programs elsewhere lose their folders."""
    given = [f"{name}={_shown(value)}" for name, value in (variables or {}).items()]
    return " ".join([*given, *map(_shown, map(str, words))])


def _shown(word: str) -> str:
    begin, slash, path = word.partition("/")
    if begin not in ("", "-I") or not slash:
        return shlex.quote(word)
    full = Path(slash + path)
    return begin + str(full.relative_to(ROOT) if full.is_relative_to(ROOT) else full.name)


def _paged(pages: str) -> Mapping[str, str]:
    return HUGE_PAGES if pages == "huge" else {}


def linked_mpi(program: Path) -> str | None:
    """Return the family of the MPI that a program is linked with; None if it is unknown."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    if re.search(r"libmpich|libmpi\.so\.12\b", said):
        return "mpich"
    return "openmpi" if re.search(r"libmpi\.so\.(40|80)\b", said) else None


@cache
def mpis() -> tuple[Mpi, ...]:
    """Return every MPI found here, each with its kiviat-bench; without SimGrid, whose time is simulated."""
    found = []
    for family in vendors():
        if family == SIMULATOR:
            continue
        try:
            toolchain = find_toolchain(family)
        except InputError:
            continue
        found.append(Mpi(toolchain, build(toolchain)))
    return tuple(found)
