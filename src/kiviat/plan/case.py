"""Cases: a benchmark with a number of ranks, a size and values of its axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kiviat.record.case_id import axis_text
from kiviat.record.types import Scalar


@dataclass(frozen=True)
class Case:
    """A case. `axes` has the values that differ from the default; `world` is the size of its launch.

    `nominal_s` is the duration that a study declares, 0 for benchmarks with a budget. `threads` is True if
    several threads of a rank communicate; MPI_THREAD_MULTIPLE changes all times, so such cases have launches
    of their own. `program` runs the case alone in a launch; "" stands for kiviat-bench, which runs many.
    `messages`: how many messages an operation sends to one rank at once (the window of `uniband`).
    """

    id: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    controls: Mapping[str, Scalar]
    world: int
    nominal_s: float = 0.0
    threads: bool = False
    program: str = ""
    messages: int = 1

    @property
    def launch(self) -> tuple[int, bool, str]:
        """Key of the launch: cases with equal keys run in one launch.

        It consists of the launch's size, whether it needs MPI_THREAD_MULTIPLE, and the case's id if a program
        other than kiviat-bench runs it.
        """
        return self.world, self.threads, self.id if self.program else ""

    def line(self) -> str:
        """Return the case's line of cases.txt."""
        words: dict[str, Scalar] = {"ranks": self.ranks}
        if self.bytes is not None:
            words["bytes"] = self.bytes
        words |= {name: value for name, value in self.axes.items() if name != "world"}
        words |= self.controls
        return " ".join(
            [self.id, self.benchmark, *(f"{name}={axis_text(value)}" for name, value in words.items())]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the case's entry in run.json."""
        return {
            "id": self.id,
            "benchmark": self.benchmark,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "axes": dict(self.axes),
            "controls": dict(self.controls),
            "world": self.world,
        }
