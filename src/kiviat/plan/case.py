"""A case: one benchmark at one number of ranks, one size and one setting of its axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kiviat.record.case_id import axis_text
from kiviat.record.types import Scalar


@dataclass(frozen=True)
class Case:
    """`axes` are those off their default; `world` is the size of the launch that runs the case.

    `nominal_s` is how long a study says that it takes, and 0 for what stops by its budget. `threads` says
    that several threads of a rank communicate: MPI is started otherwise for them, which changes the times of
    all others. `program` is what runs it, one case in a launch: "" for kiviat-bench, which runs many.
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

    @property
    def launch(self) -> tuple[int, bool, str]:
        """Cases with an equal one share a launch: its size, whether it is one for threads, and the case
        itself where another program runs it.
        """
        return self.world, self.threads, self.id if self.program else ""

    def line(self) -> str:
        """The line of cases.txt."""
        words: dict[str, Scalar] = {"ranks": self.ranks}
        if self.bytes is not None:
            words["bytes"] = self.bytes
        words |= {name: value for name, value in self.axes.items() if name != "world"}
        words |= self.controls
        return " ".join(
            [self.id, self.benchmark, *(f"{name}={axis_text(value)}" for name, value in words.items())]
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "benchmark": self.benchmark,
            "ranks": self.ranks,
            "bytes": self.bytes,
            "axes": dict(self.axes),
            "controls": dict(self.controls),
            "world": self.world,
        }
