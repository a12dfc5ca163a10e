"""One case over all its launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kiviat.record.types import Scalar


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric of one case of one run, over its launches. Values are in `unit`.

    `median` is the median of the launch medians; `low` and `high` bound it at 95 % where there are
    enough launches (None otherwise). `within` is the relative half width of the interval within a
    launch (median over launches), `spread` the relative range of the launch medians.
    """

    run: str
    case: str
    benchmark: str
    ranks: int
    bytes: int | None
    axes: Mapping[str, Scalar]
    metric: str
    unit: str
    better: str
    clock: str
    sync: str | None
    mode: str | None
    oversubscribed: bool
    launches: int
    samples: int
    median: float
    low: float | None
    high: float | None
    minimum: float | None
    mean: float | None
    p90: float | None
    p99: float | None
    within: float | None
    spread: float | None
    converged: bool
    launch_medians: tuple[float, ...]
