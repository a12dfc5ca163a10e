"""The roofline of a node, and the kernels below it.

S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for multicore
architectures. Communications of the ACM 52 (2009) 65–76. The roofs are measured: star DGEMM and star STREAM
triad. Intensities are those of compulsory traffic, which remains if caches are used perfectly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kiviat.analysis.hpcc.extrapolation import FFT_BYTES
from kiviat.analysis.hpcc.quantities import Quantity, Size


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel in the diagram: flop/s at its intensity in flop/B. `bound`: the roof at that intensity.

    `meaning` names `low` and `high`, as that of `Quantity`.
    """

    kernel: str
    intensity: float
    formula: str
    rate: float
    low: float | None
    high: float | None
    meaning: str
    bound: float
    case: str

    @property
    def share(self) -> float:
        """Rate as percentage of the bound."""
        return 100 * self.rate / self.bound


@dataclass(frozen=True, slots=True)
class Roofline:
    """Roofline of a node, or of one process if nodes are unknown (`processes` is 1, `node` is False)."""

    flops: float
    bandwidth: float
    node: bool
    processes: int
    points: tuple[Point, ...]
    missing: tuple[str, ...]

    @property
    def ridge(self) -> float:
        """Ridge point in flop/B: kernels with lower intensity are limited by memory bandwidth."""
        return self.flops / self.bandwidth


@dataclass(frozen=True, slots=True)
class _Kernel:
    """`flops` converts the quantity to flop/s; `intensity` (flop/B) may depend on the problem size."""

    name: str
    quantity: str
    whole: bool  # rate is of all processes together, else of each
    formula: str
    intensity: Callable[[float], float]
    size: Callable[[Quantity], float | None] | None = None
    flops: float = 1.0


def problem_order(quantity: Quantity, bytes_each: float, power: float) -> float | None:
    """Return the order n of a problem; None if it is unknown.

    It is given, or recorded in a note, or follows from the memory: n^power elements of `bytes_each` bytes.
    """
    given = quantity.number("n") or quantity.number("n", "order")
    if given is not None:
        return given
    memory = quantity.axes.get("memory")
    return (memory / bytes_each) ** (1 / power) if isinstance(memory, int | float) else None


def _block(quantity: Quantity) -> float | None:
    return quantity.number("nb", "block")


_KERNELS = (
    _Kernel(
        *("HPL", "hpl", True, "NB / 8: each panel of NB columns reads and writes what is left of the matrix"),
        *(lambda block: block / 8, _block),
    ),
    _Kernel(
        *("DGEMM", "dgemm", False, "n / 16: 2 n³ flop; A, B and C are read and C is written once"),
        *(lambda n: n / 16, lambda quantity: problem_order(quantity, 24, 2)),
    ),
    _Kernel(
        *("FFT", "fft_star", False, "5 log₂ n / 32: each complex element is read and written once"),
        *(lambda n: 5 * math.log2(n) / 32, lambda quantity: problem_order(quantity, FFT_BYTES, 1)),
    ),
    _Kernel("STREAM triad", "triad", False, "2 flop / 24 B", lambda _: 1 / 12, flops=1 / 12),
    _Kernel(
        *("PTRANS", "ptrans", True, "1 flop / 24 B: A and C are read, C is written", lambda _: 1 / 24),
        flops=1 / 8,
    ),
    _Kernel(
        *("HPCG", "hpcg", True, "2 flop / 12 B: each nonzero and its index are read", lambda _: 1 / 6),
    ),
)
# Kernels that few runs contain; they are not reported as missing.
_RARE = ("hpcg",)


def roofline(size: Size) -> Roofline | str:
    """Return the roofline, or the reason why it is unavailable."""
    if absent := [name for name in ("dgemm", "triad") if name not in size.quantities]:
        return "; ".join(size.why(name) for name in absent)
    if size.cached:
        return size.cached
    processes = size.processes or 1
    node = size.nodes is not None
    on_node = max(1, processes // size.nodes) if size.nodes else 1
    flops = size.quantities["dgemm"].value * on_node
    bandwidth = size.quantities["triad"].value * on_node
    points, missing = [], []
    for kernel in _KERNELS:
        quantity = size.quantities.get(kernel.quantity)
        if quantity is None:
            if kernel.quantity not in _RARE:
                missing.append(f"{kernel.name}: {size.why(kernel.quantity)}")
            continue
        order = 0.0 if kernel.size is None else kernel.size(quantity)
        if order is None:
            missing.append(f"{kernel.name}: its intensity is not known, as its size is not recorded")
            continue
        intensity = kernel.intensity(order)
        share = kernel.flops * (on_node / processes if kernel.whole else on_node)
        points.append(
            Point(
                kernel=kernel.name,
                intensity=intensity,
                formula=kernel.formula,
                rate=quantity.value * share,
                low=None if quantity.low is None else quantity.low * share,
                high=None if quantity.high is None else quantity.high * share,
                meaning=quantity.meaning,
                bound=min(flops, intensity * bandwidth),
                case=quantity.case,
            )
        )
    return Roofline(flops, bandwidth, node, on_node, tuple(points), tuple(missing))


FORMULAS: Mapping[str, str] = {kernel.name: kernel.formula for kernel in _KERNELS}
