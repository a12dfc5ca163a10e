"""How large a problem was, in all or on each rank: what tells strong scaling from weak.

A benchmark tells its size by a metric (`order` of HPL's matrix), by an axis (`class`, `n`, `memory`, a
message's `bytes`), or by a note of what it chose itself (`rows`, `atoms`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.types import Scalar
from kiviat.record.units import format_bytes, three_digits

# Sizes that are rounded (to blocks, to powers of two, to a grid) are equal within this.
_ALIKE = 0.10

# Metrics and notes that tell the size of the whole problem, and the power that its memory grows with.
_COUNTS: Mapping[str, float] = {
    "order": 2.0,
    **dict.fromkeys(("rows", "unknowns", "atoms", "faces", "gears"), 1.0),
}
# Axes that may differ along a curve: the size itself, and how ranks divide it.
SIZE_AXES = frozenset(("n", "memory", "p", "q", "nx", "ny", "nz"))


@dataclass(frozen=True)
class _Noted:
    """Where a benchmark notes its size; `power` as above. `each`: it is the size of one rank's problem."""

    note: str
    pattern: str
    power: float = 1.0
    each: bool = False


_NOTES: Mapping[str, _Noted] = {
    "ptrans": _Noted("matrix", r"order (\d+)", 2.0),
    "fft": _Noted("n", r"(\d+)(?: x (\d+))?"),
    "dgemm": _Noted("order", r"(\d+)", 2.0, each=True),
    "random_access": _Noted("table", r"(2\^\d+) words"),
    "stream": _Noted("arrays", r"of (\d+) B on each rank", each=True),
}
# The class of a NAS program whose case names none (native/bench/npb/problem_class.hpp).
_CLASSED = dict.fromkeys(("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"), "A")
_TOTALS = {"hpl": 2.0, "ptrans": 2.0, "fft": 1.0}  # whose axis n is of the whole problem
_GROWING = frozenset(("barrier", "ibarrier"))  # nothing in them but the ranks


@dataclass(frozen=True, slots=True)
class Size:
    """Of one case; `each`: of every rank, else of all together. `exact` is a name, of a class of problems."""

    value: float
    each: bool
    words: str
    exact: str = ""

    def total(self, ranks: int) -> float:
        return self.value * ranks if self.each else self.value

    def same(self, other: Size, ranks: int, others: int) -> bool:
        """As large a problem in all."""
        if self.exact or other.exact:
            return self.exact == other.exact
        return _alike(self.total(ranks), other.total(others))

    def shares(self, other: Size, ranks: int, others: int) -> bool:
        """As large a part for each rank."""
        return self.exact == other.exact and _alike(self.total(ranks) / ranks, other.total(others) / others)


def size_of(summary: Summary, metrics: Mapping[str, float]) -> Size | None:
    """None where nothing tells. `metrics` are the values of all metrics of the case, by name."""
    axes = summary.axes
    for name, power in _COUNTS.items():
        noted = summary.notes.get(name, "")
        if value := metrics.get(name) or (float(noted) if noted.isdecimal() and power == 1 else None):
            words = f"{value:,.0f} {name}" if power == 1 else f"{name} {three_digits(value)}"
            return Size(value**power, False, words)
    if isinstance(given := axes.get("class", _CLASSED.get(summary.benchmark)), str):
        return Size(1.0, False, f"class {given}", exact=given)
    alone = axes.get("scope") == "star"
    if isinstance(n := axes.get("n"), int) and summary.benchmark in (*_TOTALS, "dgemm"):
        power = _TOTALS.get(summary.benchmark, 2.0)
        return Size(float(n) ** power, alone or summary.benchmark == "dgemm", f"n = {n}")
    if found := _noted(summary, alone):
        return found
    if isinstance(memory := axes.get("memory"), int):
        return Size(float(memory), True, f"{format_bytes(memory)} a rank")
    if summary.bytes is not None:
        return Size(float(summary.bytes), True, format_bytes(summary.bytes))
    if summary.benchmark in _GROWING:
        return Size(1.0, True, "")
    return None


def _noted(summary: Summary, alone: bool) -> Size | None:
    rule = _NOTES.get(summary.benchmark)
    match = re.search(rule.pattern, summary.notes.get(rule.note, "")) if rule else None
    if rule is None or match is None:
        return None
    value = 1.0
    for factor in filter(None, match.groups()):
        base, _, exponent = factor.partition("^")
        value *= float(base) ** float(exponent or 1)
    return Size(value**rule.power, rule.each or alone, f"{rule.note} {match[0]}")


@dataclass(frozen=True, slots=True)
class Kind:
    """ "strong" or "weak", and by what that was told; or neither, and why it was not."""

    name: str | None
    why: str


def kind_of(points: Sequence[Summary], sizes: Sequence[Size | None]) -> Kind:
    """Of the cases of one curve, on different numbers of ranks."""
    said = {
        str(word) for point in points if (word := point.axes.get("scaling") or point.notes.get("scaling"))
    }
    if said in ({"strong"}, {"weak"}):
        return Kind(said.pop(), "the benchmark says so")
    if all(point.benchmark in _GROWING for point in points):
        return Kind("weak", "nothing in it but the ranks")
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(points):
        return Kind(None, "the records do not say how large the problem was")
    if all(size.exact for size in known):
        return Kind("strong", f"{known[0].words} on all")
    totals = [size.total(point.ranks) for point, size in zip(points, known, strict=True)]
    shares = [total / point.ranks for point, total in zip(points, totals, strict=True)]
    # A message of no bytes stays one.
    strong, weak = _constant(totals), _constant(shares)
    if weak and (not strong or max(totals) == 0):
        word = "as large a message of each rank" if points[0].bytes is not None else "as much on each rank"
        return Kind("weak", word)
    if strong:
        return Kind("strong", f"as much in all ({known[0].words})")
    spread = " to ".join(three_digits(value) for value in (min(totals), max(totals)))
    of_each = " to ".join(three_digits(value) for value in (min(shares), max(shares)))
    return Kind(None, f"neither the whole problem ({spread}) nor a rank's part ({of_each}) stays the same")


def _constant(values: Sequence[float]) -> bool:
    return all(_alike(value, values[0]) for value in values)


def _alike(a: float, b: float) -> bool:
    return abs(a - b) <= _ALIKE * max(abs(a), abs(b))


def setting(axes: Mapping[str, Scalar], without: frozenset[str] = frozenset()) -> str:
    """Axes in words: "class A, scope star"."""
    return ", ".join(f"{name} {value}" for name, value in sorted(axes.items()) if name not in without)
