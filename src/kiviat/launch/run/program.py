"""Programs that run a launch's cases: kiviat-bench, or an external program with its own input and output.

All of them produce the same events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kiviat.launch.mpi import mpiexec
from kiviat.launch.run.events import Event, Tail
from kiviat.plan.case import Case

CANNOT_WRITE = 74  # exit code of kiviat-bench (native/results/recorder.hpp)


class Events(Protocol):
    """Events of a running launch, as in events.jsonl (docs/reference/formats.md)."""

    def read(self) -> Iterator[Event]:
        """Yield new events; called a few times a second."""
        ...

    def finish(self) -> Iterator[Event]:
        """Yield the last events, after all writers have ended."""
        ...

    @property
    def trouble(self) -> str | None:
        """Return a description of unreadable output, or None."""
        ...


class Program(Protocol):
    """A program that runs cases and reports events."""

    @property
    def name(self) -> str:
        """The program's name in messages."""

    @property
    def path(self) -> Path:
        """Path of the executable file."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that the program needs, in addition to the launcher's."""

    def words(self, folder: Path, cases: Sequence[Case]) -> list[str | Path]:
        """Return the program and its arguments, for a launch whose files are in `folder`."""
        ...

    def files(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """Return the files that the launch's folder must contain, by name."""
        ...

    def events(self, folder: Path, cases: Sequence[Case]) -> Events:
        """Return the events of a launch of `cases` whose files are in `folder`."""

    def missing(self, case: Case) -> str | None:
        """Return the reason to skip a case without a launch; None if it can run."""
        ...


@dataclass(frozen=True)
class KiviatBench:
    """kiviat-bench, which runs many cases in one launch."""

    path: Path
    name: str = "kiviat-bench"
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, folder: Path, cases: Sequence[Case]) -> list[str | Path]:
        """Return the command, with MPI_THREAD_MULTIPLE if any of the cases needs it."""
        return mpiexec.program(self.path, folder, any(case.threads for case in cases))

    def files(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """Return cases.txt, one case per line."""
        return {"cases.txt": "".join(f"{case.line()}\n" for case in cases)}

    def events(self, folder: Path, cases: Sequence[Case]) -> Events:
        """Return the events that the program appends to events.jsonl in `folder`."""
        return Tail(folder / "events.jsonl")

    def missing(self, case: Case) -> str | None:
        """Return None, because the program contains every benchmark."""
        return None
