"""Extrapolates small simulated problems to those that fill a machine's memory.

A simulation of HPL, PTRANS and FFT in all of a machine's memory would take days, so several smaller sizes are
simulated. The cost of one unit of work (a flop, a byte) is modelled as a sum of a few nonnegative terms that
follow from the algorithm: computation, data sent in each step, and a constant cost per step. A flop of HPL
costs at least as much as one of DGEMM. The sum is first fitted to all sizes but the largest, which yields the
error of extrapolating by one step; then to all sizes, to predict the size that fills the memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.statistics.intervals import Floats
from kiviat.record.run import Run
from kiviat.record.units import format_bytes, format_value

# Memory of a complex element of FFT, which is transformed into a second array (native/bench/hpcc/fft.cpp).
FFT_BYTES = 32

# Share of the memory that a problem uses, as HPC Challenge recommends for HPL.
SHARE = 0.8
# Assumed memory per processor, if that of the machine is unknown.
ASSUMED_BYTES = 1e9
# The largest number of terms of a law, plus one point for the check.
LEAST_POINTS = 4


@dataclass(frozen=True)
class Law:
    """Time per unit of work, as a sum of `terms`, which are functions of the total memory in bytes."""

    metric: str
    terms: tuple[Callable[[float], float], ...]
    words: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Extrapolated:
    """A rate extrapolated to a larger size; `points` are (memory per rank, rate) of the simulated sizes.

    `held_out`: relative error, at the largest point, of the law fitted to the others. `memory_bytes`: memory
    per rank, `assumed` if the machine does not specify it.
    """

    benchmark: str
    ranks: int
    metric: str
    unit: str
    value: float
    memory_bytes: float
    assumed: bool
    points: tuple[tuple[float, float], ...]
    held_out: float
    rule: str

    @property
    def words(self) -> str:
        """Sentence with the value, the sizes from which it was extrapolated, the rule and its error."""
        smallest, largest = self.points[0][0], self.points[-1][0]
        memory = f"{format_bytes(round(self.memory_bytes))} a rank"
        memory += " (assumed)" if self.assumed else f", {SHARE:.0%} of the machine's"
        return (
            f"{self.benchmark} on {self.ranks} ranks: {format_value(self.value, self.unit)} with {memory}, "
            f"extrapolated from {len(self.points)} sizes of {format_bytes(round(smallest))} to "
            f"{format_bytes(round(largest))} a rank by {self.rule}; fitted to the others, the rule is "
            f"{self.held_out:+.1%} off at the largest"
        )


def _order(memory: float) -> float:
    """Return the order of a square matrix of doubles that takes `memory` bytes."""
    return math.sqrt(memory / 8)


def _elements(memory: float) -> float:
    """Return the length of a complex vector that is transformed in `memory` bytes."""
    return memory / FFT_BYTES


def _constant(memory: float) -> float:
    return 1.0


LAWS: Mapping[str, Law] = {
    # Elimination; panels and rows sent; pivots and steps. 2/3 N^3 flop.
    "hpl": Law(
        "rate",
        (_constant, lambda m: 1 / _order(m), lambda m: 1 / _order(m) ** 2),
        "time = c3 N^3 + c2 N^2 + c1 N",
    ),
    # Elements sent and added; edges of blocks; messages. 8 N^2 bytes.
    "ptrans": Law(
        "rate",
        (_constant, lambda m: 1 / _order(m), lambda m: 1 / _order(m) ** 2),
        "time = c2 N^2 + c1 N + c0",
    ),
    # Butterflies; elements sent; messages. 5 n log2 n flop.
    "fft": Law(
        "rate",
        (
            _constant,
            lambda m: 1 / math.log2(_elements(m)),
            lambda m: 1 / (_elements(m) * math.log2(_elements(m))),
        ),
        "time = c2 n log n + c1 n + c0",
        "global",
    ),
}


def extrapolated(summaries: Sequence[Summary], run: Run) -> list[Extrapolated]:
    """Return the extrapolations of kernels that a simulated run has at `LEAST_POINTS` or more sizes."""
    orders = {summary.case: summary.median for summary in summaries if summary.metric == "order"}
    curves: dict[tuple[str, int], dict[float, Summary]] = {}
    for summary in summaries:
        law, memory = LAWS.get(summary.benchmark), summary.axes.get("memory")
        if summary.clock != "simulated" or law is None or not isinstance(memory, int):
            continue
        if summary.metric == law.metric and law.scope in (None, summary.axes.get("scope", law.scope)):
            # HPL records the order for which the memory sufficed, in addition to its panels.
            order = orders.get(summary.case)
            size = float(memory) if order is None else 8 * order**2 / summary.ranks
            curves.setdefault((summary.benchmark, summary.ranks), {})[size] = summary
    found = []
    for (benchmark, ranks), by_memory in sorted(curves.items()):
        if len(by_memory) >= LEAST_POINTS:
            points = tuple((memory, by_memory[memory].median) for memory in sorted(by_memory))
            unit = next(iter(by_memory.values())).unit
            least = _dgemm_cost(summaries, ranks) if benchmark == "hpl" else 0.0
            found.append(_extrapolated(benchmark, ranks, unit, points, memory_of(run, ranks), least))
    return found


def _dgemm_cost(summaries: Sequence[Summary], ranks: int) -> float:
    """Return the seconds per flop of DGEMM on all ranks; 0 if it was not run."""
    rates = [
        summary.median
        for summary in summaries
        if (summary.benchmark, summary.metric, summary.ranks) == ("dgemm", "rate", ranks)
        and summary.axes.get("scope", "star") == "star"
    ]
    return 1 / (ranks * max(rates)) if rates else 0.0


def memory_of(run: Run, ranks: int) -> float | None:
    """Return the bytes per rank of a problem that fills the machine's memory; None if unknown."""
    total, model = run.machine.memory_bytes, run.machine.model
    if not total or not model:
        return None
    where = nodes_of(run, ranks)
    per_node = model.sockets * model.cores
    used = math.ceil(ranks / per_node) if where is None else where.count(ranks)
    return SHARE * float(total) / float(model.nodes) * used / ranks


def predicted(law: Law, points: Sequence[tuple[float, float]], memory: float, least: float = 0.0) -> float:
    """Return the rate at `memory` by the law fitted to `points`; all are of the whole problem.

    `least` is a lower limit of the cost of a unit of work.
    """
    terms = np.array([[term(at) for term in law.terms] for at, _ in points])
    costs = np.array([1 / rate for _, rate in points])
    weights = nonnegative(terms / costs[:, None], 1 - least / costs)
    return 1 / (least + float(weights @ [term(memory) for term in law.terms]))


def nonnegative(matrix: Floats, values: Floats) -> Floats:
    """Return the x ≥ 0 with the least |matrix x - values|, by trying every subset of the few columns."""
    columns = matrix.shape[1]
    best, least = np.zeros(columns), math.inf
    for size in range(1, columns + 1):
        for chosen in combinations(range(columns), size):
            part = matrix[:, chosen]
            scale = np.linalg.norm(part, axis=0)  # scaled, because terms differ by orders of magnitude
            solution = np.linalg.lstsq(part / scale, values, rcond=None)[0] / scale
            off = float(np.linalg.norm(part @ solution - values))
            if (solution >= 0).all() and off < least:
                best, least = np.zeros(columns), off
                best[list(chosen)] = solution
    return best


def _extrapolated(
    benchmark: str,
    ranks: int,
    unit: str,
    points: tuple[tuple[float, float], ...],
    memory: float | None,
    least: float,
) -> Extrapolated:
    law = LAWS[benchmark]
    whole = [(each * ranks, rate) for each, rate in points]
    largest, seen = whole[-1]
    target = ASSUMED_BYTES if memory is None else memory
    return Extrapolated(
        benchmark=benchmark,
        ranks=ranks,
        metric=law.metric,
        unit=unit,
        value=predicted(law, whole, target * ranks, least),
        memory_bytes=target,
        assumed=memory is None,
        points=points,
        held_out=predicted(law, whole[:-1], largest, least) / seen - 1,
        rule=law.words,
    )
