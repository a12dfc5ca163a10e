"""The NAS Parallel Benchmarks beside the reference implementation: same MPI, class and ranks, taking turns.

Programs of the reference are `cg.A.x` and the like below NPB_DIR=, as its own makefiles name them, built with
the compiler's highest optimisation for this processor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from statistics import median

from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import LaunchError, Mpi
from benchmarks.peers import find_program
from benchmarks.setting import Setting

ROW = "npb"
PROGRAMS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
RANKS = (1, 2)
_SQUARES = {"bt", "sp"}
_LEAST, _LEAST_MEAN = 1.0, 1.15


@dataclass(frozen=True)
class Pair:
    """One program on so many ranks, and the reference's of the same class."""

    name: str
    ranks: int
    problem_class: str
    reference: Path

    @property
    def title(self) -> str:
        return f"{self.name.upper()} class {self.problem_class}, {self.ranks} rank{'s' * (self.ranks > 1)}"

    def ours(self, mpi: Mpi) -> float:
        """Operations in a second."""
        events = mpi.measure([f"{self.name} {self.name} class={self.problem_class}"], self.ranks)
        rate: float = events.metric(self.name, "rate")["p50"]
        return rate

    def theirs(self, mpi: Mpi) -> float:
        return rate_of(mpi.launch([self.reference], self.ranks), self.reference.name)


def rate_of(text: str, program: str) -> float:
    """Operations in a second that the reference prints; LaunchError where it found itself wrong."""
    rate = re.search(r"^ *Mop/s total *= *([\d.Ee+]+) *$", text, re.MULTILINE)
    if not rate:
        raise LaunchError(f"{program} printed no rate")
    if not re.search(r"^ *Verification *= *SUCCESSFUL *$", text, re.MULTILINE):
        raise LaunchError(f"{program} did not verify")
    return 1e6 * float(rate[1])


def measure(setting: Setting) -> Iterator[Finding]:
    for mpi in setting.mpis:
        yield from _of(mpi, setting)


def _of(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    problem_class = "S" if setting.brief else "A"
    pairs: list[Pair] = []
    for name in PROGRAMS:
        program = find_program("NPB_DIR", f"{name}.{problem_class}.x", mpi)
        if isinstance(program, str):
            yield not_measured(ROW, f"{name.upper()}, {mpi.name}", _words(_LEAST), program)
            continue
        pairs += [Pair(name, ranks, problem_class, program) for ranks in RANKS if ranks in _allowed(name)]
    ours: dict[Pair, list[float]] = {pair: [] for pair in pairs}
    theirs: dict[Pair, list[float]] = {pair: [] for pair in pairs}
    failed: dict[Pair, str] = {}
    for _ in setting.progress(range(setting.times(5, least=1)), f"{ROW}: {mpi.name}"):
        for pair in pairs:
            try:
                ours[pair].append(pair.ours(mpi))
                theirs[pair].append(pair.theirs(mpi))
            except LaunchError as error:  # the others can still be compared
                failed[pair] = str(error)
    ratios: list[float] = []
    for pair in pairs:
        if pair in failed:
            yield not_measured(ROW, f"{pair.title}, {mpi.name}", _words(_LEAST), failed[pair])
            continue
        ratio = median(ours[pair]) / median(theirs[pair])
        ratios.append(ratio)
        yield Finding(
            ROW,
            f"{pair.title}, {mpi.name}",
            f"{ratio:.2f} times the reference "
            f"({median(ours[pair]) / 1e6:.4g} and {median(theirs[pair]) / 1e6:.4g} Mop/s)",
            _words(_LEAST),
            judged(ratio >= _LEAST),
            data={"ours": ours[pair], "reference": theirs[pair]},
        )
    if ratios:
        yield _mean(ratios, mpi)


def _allowed(name: str) -> Sequence[int]:
    """The ranks that a program runs on, of those that are compared."""
    return [ranks for ranks in RANKS if name not in _SQUARES or round(ranks**0.5) ** 2 == ranks]


def _mean(ratios: Sequence[float], mpi: Mpi) -> Finding:
    mean = prod(ratios) ** (1 / len(ratios))
    return Finding(
        ROW,
        f"Geometric mean of these {len(ratios)}, {mpi.name}",
        f"{mean:.2f} times the reference",
        _words(_LEAST_MEAN),
        judged(mean >= _LEAST_MEAN),
        data={"ratios": list(ratios)},
    )


def _words(least: float) -> str:
    return f"{least:g} times at least"
