"""Problem size, in total or per rank, which distinguishes strong scaling from weak.

A benchmark describes how its size is counted (`record.traits.Problem`): by a number of its records, by an
axis, or by the bytes of its messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.traits import Problem, Traits
from kiviat.record.types import Scalar
from kiviat.record.units import counted, format_bytes, format_size, three_digits

# Sizes that are rounded (to blocks, powers of two, or a grid) count as equal within this relative difference.
_ALIKE = 0.10

# Axes that may differ along a curve: the size itself, and how ranks divide it.
SIZE_AXES = frozenset(("n", "memory", "p", "q", "nx", "ny", "nz"))


@dataclass(frozen=True, slots=True)
class Size:
    """Problem size of a case; `each`: per rank, else in total. `exact` is the name of a problem class."""

    value: float
    each: bool
    words: str
    exact: str = ""

    def total(self, ranks: int) -> float:
        """Return the size of the whole problem on `ranks` ranks."""
        return self.value * ranks if self.each else self.value

    def same(self, other: Size, ranks: int, others: int) -> bool:
        """True if both problems have the same size in total."""
        if self.exact or other.exact:
            return self.exact == other.exact
        return _alike(self.total(ranks), other.total(others))

    def shares(self, other: Size, ranks: int, others: int) -> bool:
        """True if both problems have the same size per rank."""
        return self.exact == other.exact and _alike(self.total(ranks) / ranks, other.total(others) / others)


def size_of(summary: Summary, metrics: Mapping[str, float], traits: Traits) -> Size | None:
    """Return the problem size of a case; None if unknown. `metrics`: values of the case's metrics by name."""
    axes, problem = summary.axes, traits.problem
    if problem is not None and (found := _counted(summary, metrics, traits, problem)):
        return found
    if isinstance(memory := axes.get("memory"), int):
        return Size(float(memory), True, f"{format_bytes(memory)} a rank")
    if summary.bytes is not None:
        return Size(float(summary.bytes), True, format_size(summary.bytes))
    if problem is not None and problem.counts == "ranks":
        return Size(1.0, True, "")
    return None


def _counted(summary: Summary, metrics: Mapping[str, float], traits: Traits, problem: Problem) -> Size | None:
    """Return the size determined as the benchmark's traits describe."""
    each = problem.each or summary.axes.get("scope") == "star"
    if problem.counts == "class":
        given = summary.axes.get("class", traits.defaults.get("class"))
        return Size(1.0, False, f"class {given}", exact=given) if isinstance(given, str) else None
    if value := metrics.get(problem.counts):
        number = f"{value:,.0f}" if problem.power == 1 else three_digits(value)
        return Size(value**problem.power, each, problem.words.replace("{}", number))
    if isinstance(n := summary.axes.get("n"), int):
        return Size(float(n) ** problem.power, each, f"n = {n}")
    if value := summary.numbers.get(problem.counts):
        words = problem.words.replace("{}", f"{value:.0f}").replace("{,}", f"{value:,.0f}")
        return Size(value**problem.power, each, words)
    return None


@dataclass(frozen=True, slots=True)
class Kind:
    """Strong or weak scaling, and how that was determined.

    `name` is "strong", "weak", or None, for the reason `why`.
    """

    name: str | None
    why: str


def kind_of(points: Sequence[Summary], sizes: Sequence[Size | None], traits: Traits) -> Kind:
    """Return whether the cases of a curve show strong or weak scaling, and the reason."""
    said = {
        str(word) for point in points if (word := point.axes.get("scaling") or point.notes.get("scaling"))
    }
    if said in ({"strong"}, {"weak"}):
        return Kind(said.pop(), "declared by the benchmark")
    if traits.problem is not None and traits.problem.counts == "ranks":
        return Kind("weak", "determined by the number of ranks alone")
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(points):
        return Kind(None, "the records do not contain the problem size")
    if all(size.exact for size in known):
        return Kind("strong", f"{known[0].words} on all")
    totals = [size.total(point.ranks) for point, size in zip(points, known, strict=True)]
    shares = [total / point.ranks for point, total in zip(points, totals, strict=True)]
    strong, weak = _constant(totals), _constant(shares)
    # Both hold for neighbouring numbers of ranks, such as 15 and 16: what differs less was meant to be equal.
    if weak and (not strong or _spread(shares) <= _spread(totals)):
        word = "equal message size per rank" if points[0].bytes is not None else "equal size on each rank"
        return Kind("weak", word)
    if strong:
        words = known[0].words.removesuffix(" a rank")
        first = f" on each of {counted(points[0].ranks, 'rank')}" if known[0].each else ""
        return Kind("strong", f"equal total size ({words}{first})")
    spread = " to ".join(three_digits(value) for value in (min(totals), max(totals)))
    of_each = " to ".join(three_digits(value) for value in (min(shares), max(shares)))
    return Kind(None, f"neither the total size ({spread}) nor the size per rank ({of_each}) is constant")


def _constant(values: Sequence[float]) -> bool:
    return all(_alike(value, values[0]) for value in values)


def _spread(values: Sequence[float]) -> float:
    """Return the relative difference between the extremes; 0 for messages without bytes."""
    most = max(values)
    return (most - min(values)) / most if most else 0.0


def _alike(a: float, b: float) -> bool:
    return abs(a - b) <= _ALIKE * max(abs(a), abs(b))


def setting(axes: Mapping[str, Scalar], without: frozenset[str] = frozenset()) -> str:
    """Return axes in words: "class A, scope star"."""
    return ", ".join(f"{name} {value}" for name, value in sorted(axes.items()) if name not in without)
