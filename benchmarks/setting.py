"""Settings of all rows: MPIs, number of repetitions, and progress output."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.finding import Finding, not_measured
from benchmarks.mpi import LaunchError, Mpi

T = TypeVar("T")

# Interval between progress lines if standard error is no terminal.
_SAID_EVERY_S = 20.0


@dataclass(frozen=True)
class Setting:
    mpis: Sequence[Mpi]
    brief: bool
    repetitions: int | None = None
    only: Sequence[str] = ()
    """Parts to measure of rows that consist of parts; all if empty."""

    def times(self, full: int, least: int) -> int:
        """Return the number of repetitions: the user's, or `full`, or `least` with --brief."""
        return self.repetitions or (least if self.brief else full)

    def under_each_mpi(
        self, row: str, measure: Callable[[Mpi, Setting], Iterator[Finding]]
    ) -> Iterator[Finding]:
        """Yield a row's findings under every MPI; a launch that fails ends only those of its MPI.

        Raise LaunchError at the end if one failed.
        """
        failed = []
        for mpi in self.mpis:
            try:
                yield from measure(mpi, self)
            except LaunchError as error:
                failed.append(str(error))
                yield not_measured(row, f"the rest, {mpi.name}", "", str(error))
        if failed:
            raise LaunchError("; ".join(failed))

    def progress(self, items: Sequence[T], title: str) -> Iterator[T]:
        """Yield the items, and print on standard error how many are done."""
        begin, live = time.monotonic(), sys.stderr.isatty()
        said = begin
        for index, item in enumerate(items):
            if live:
                print(f"\r{title}: {index}/{len(items)}", end="", file=sys.stderr, flush=True)
            elif time.monotonic() - said > _SAID_EVERY_S:
                print(f"{title}: {index}/{len(items)}", file=sys.stderr, flush=True)
                said = time.monotonic()
            yield item
        start = "\r" if live else ""
        print(
            f"{start}{title}: {len(items)} in {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True
        )
