"""Progress and result of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """`kind` is "cleaned", "launch", "case", "record" or "death"; `finished` of `total` records exist."""

    kind: str
    repetition: int
    world: int
    case: str | None
    finished: int
    total: int
    text: str | None = None


@dataclass(frozen=True)
class RunResult:
    """How a run ended, with its numbers of launches and records.

    `signal` is the number of the signal that interrupted the run, or None if it is complete. `failed` and
    `skipped` are among the `records`.
    """

    signal: int | None
    launches: int
    records: int
    failed: int
    skipped: int
