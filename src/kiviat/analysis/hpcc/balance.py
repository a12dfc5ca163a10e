"""Balance of machines on eight axes: ratios of HPC Challenge results, mostly to HPL.

After S. Saini, R. Ciotti, B. T. N. Gunney, T. E. Spelce, A. Koniges, D. Dossa, P. Adamidis, R. Rabenseifner,
S. R. Tiyyagura, M. Mueller, R. Fatoohi: Performance Evaluation of Supercomputers using HPCC and IMB
Benchmarks, section 4.1, figures 1 to 5 and table 2: each axis is divided by its largest value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.hpcc.quantities import QUANTITIES, RANGE, STAYED_IN_CACHE, Quantity, Size, System
from kiviat.record.units import format_bytes, listed

# The paper's rules: systems below this rate have an undue advantage in ratios of results of the whole
# machine; and with few nodes, most neighbours in a random ring are on the same node.
SMALL_FLOPS = 1e12
FEW_NODES = 8
# A poor HPL makes every ratio over it large: below this share of DGEMM they do not show balance.
LEAST_EFFICIENCY = 0.5

CHOICES = ("auto", "keep", "drop")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: `over` divided by HPL, or as it is. `per_process` quantities count for all processes.

    A large value is `good`, but not of DGEMM over HPL, the inverse of HPL's efficiency.
    """

    id: str
    title: str
    short: tuple[str, ...]
    formula: str
    unit: str
    quantity: str
    per_process: bool = False
    over_hpl: bool = True
    inverse: bool = False
    together: bool = False  # both parts of the ratio are results of the whole machine
    ring: bool = False
    good: bool = True


AXES = (
    Axis("hpl", "HPL", ("HPL",), "G-HPL itself", "flop/s", "hpl", over_hpl=False),
    Axis(
        "dgemm",
        "DGEMM / HPL",
        ("DGEMM", "/ HPL"),
        "star DGEMM × processes / HPL",
        "1",
        "dgemm",
        per_process=True,
        good=False,
    ),
    Axis("fft", "FFT / HPL", ("FFT", "/ HPL"), "global FFT / HPL", "1", "fft", together=True),
    Axis("ptrans", "PTRANS / HPL", ("PTRANS", "/ HPL"), "PTRANS / HPL", "B/flop", "ptrans", together=True),
    Axis(
        *("stream", "STREAM copy / HPL", ("STREAM", "/ HPL")),
        *("star STREAM copy × processes / HPL", "B/flop", "copy"),
        per_process=True,
    ),
    Axis(
        *("ring_bandwidth", "Random ring bandwidth / HPL", ("Ring", "bandwidth", "/ HPL")),
        *("random ring bandwidth per process / HPL per process", "B/flop", "ring_bandwidth"),
        per_process=True,
        ring=True,
    ),
    Axis(
        *("ring_latency", "1 / random ring latency", ("1 / ring", "latency")),
        *("1 / random ring latency", "1/s", "ring_latency"),
        over_hpl=False,
        inverse=True,
    ),
    Axis(
        *("random_access", "RandomAccess / HPL", ("Random", "Access", "/ HPL")),
        *("global RandomAccess / HPL", "update/flop", "random_access"),
        together=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Value of an axis for a system; None if it is unavailable or left out, for the given `reason`.

    `low` and `high` are an interval if both parts of the ratio have one over launches: two intervals of five
    launches give at least 87 %. `meaning` names its confidence, or says that it is the range of few launches.
    `relation`, `upper` and `holder` belong to published values; `extrapolated` describes the extrapolation of
    parts.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    meaning: str = ""
    relation: str = "="
    upper: float | None = None
    holder: str = ""
    reason: str = ""
    cases: tuple[str, ...] = ()
    extrapolated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Balance:
    """All axes (columns) of all systems (lines); `rules` says what was left out by which rule, or not.

    `flattered` systems have an HPL below half of their DGEMM, which makes their ratios over HPL large.
    `placed` says, of a single run, which published machines are nearest to it, and what is odd beside them.
    """

    systems: tuple[System, ...]
    cells: tuple[tuple[Cell, ...], ...]
    largest: tuple[float | None, ...]
    rules: tuple[str, ...]
    flattered: tuple[bool, ...]
    placed: str = ""

    def is_largest(self, line: int, column: int) -> bool:
        """Return whether a system has the largest value of an axis, and that is to its credit."""
        axis = AXES[column]
        flattered = axis.over_hpl and self.flattered[line]
        return axis.good and not flattered and self.share(line, column) == 1

    def doubt(self, line: int, column: int) -> str:
        """Return why the largest value of an axis is no lead; empty if it is one.

        The interval of a measured value must lie above all other values and intervals, and a rate of STREAM
        must be that of the memory.
        """
        system, low = self.systems[line], self.cells[line][column].low
        others = [
            end
            for place, cells in enumerate(self.cells)
            for end in (cells[column].value, cells[column].high, cells[column].upper)
            if place != line and end is not None
        ]
        if system.whole.unfair or system.origin != "measured" or not others:
            return system.whole.unfair
        top = system.whole.quantities.get(AXES[column].quantity)
        if top is not None and top.in_cache:
            return STAYED_IN_CACHE
        if low is None:
            return "a single launch has no interval"
        if self.cells[line][column].meaning.startswith(RANGE):
            return "too few launches for an interval"
        return "" if low > max(others) else "within the variation between launches"

    def share(self, line: int, column: int) -> float | None:
        """Return a value divided by the largest of its column, which the diagram draws; None if unknown."""
        value, largest = self.cells[line][column].value, self.largest[column]
        return None if value is None or largest is None else value / largest


def balance(systems: Sequence[System], small: str = "auto", few_nodes: str = "auto") -> Balance:
    """Return the balance of systems.

    `small` and `few_nodes` are "keep", "drop", or "auto": drop only if some but not all of the systems are
    affected.
    """
    is_small = [_is_small(system.whole) for system in systems]
    is_few = [_has_few_nodes(system.whole) for system in systems]
    own = [system.origin != "published" for system in systems]
    # Published systems are above 1 Tflop/s, by the paper's rule; their nodes are not known.
    drop_small = _drops(small, is_small, own, not all(own))
    drop_few = _drops(few_nodes, is_few, own, False)
    cells = []
    for system, of_small, of_few in zip(systems, is_small, is_few, strict=True):
        line = []
        for axis in AXES:
            found = cell(axis, system.whole)
            if found.value is not None and axis.together and of_small and drop_small:
                found = Cell(None, reason="left out: HPL is not above 1 Tflop/s")
            if found.value is not None and axis.ring and of_few and drop_few:
                found = Cell(None, reason=f"left out: fewer than {FEW_NODES} nodes")
            line.append(found)
        cells.append(tuple(line))
    largest = tuple(
        max((line[column].value for line in cells if line[column].value is not None), default=None)  # type: ignore[type-var]
        for column in range(len(AXES))
    )
    rules: tuple[str, ...] = (
        _rule(
            *("HPL of not more than 1 Tflop/s", "FFT, PTRANS and RandomAccess over HPL", "--rules small"),
            *(_names(systems, is_small), drop_small, small),
            "small machines have an undue advantage in them",
        ),
        _rule(
            *(f"fewer than {FEW_NODES} nodes", "Random ring bandwidth over HPL", "--rules few-nodes"),
            *(_names(systems, is_few), drop_few, few_nodes),
            "it is that between nodes only where most neighbours are on other nodes",
        ),
    )
    flattered = tuple(_is_flattered(system.whole) for system in systems)
    flattery = _flattery([system for system, one in zip(systems, flattered, strict=True) if one])
    said = (*rules, *_of_caches(systems), _of_programs(systems), flattery if any(flattered) else "")
    return Balance(tuple(systems), tuple(cells), largest, tuple(words for words in said if words), flattered)


def _of_caches(systems: Sequence[System]) -> list[str]:
    """Return a sentence for each measured system whose STREAM did not leave the cache."""
    found = []
    for system in systems:
        copy = system.whole.quantities.get("copy")
        if system.origin == "measured" and copy is not None and copy.in_cache:
            array, cache = copy.numbers["array_bytes"], copy.numbers["cache_bytes"]
            found.append(
                f"STREAM of {system.name} is a cache rate, not a memory rate: arrays of "
                f"{format_bytes(round(array))} are smaller than four times the last-level cache of "
                f"{format_bytes(round(cache))}; give it more memory "
                f"(--memory {math.ceil(12 * cache / 2**20)}M or more)."
            )
    return found


def _of_programs(systems: Sequence[System]) -> str:
    """Return a caution if values of Kiviat's kernels are next to those of other programs."""
    ours = [system.name for system in systems if system.origin in ("measured", "predicted")]
    others = [system.name for system in systems if system.origin in ("published", "reported")]
    if not ours or not others:
        return ""
    return (
        "FFT, PTRANS and RandomAccess over HPL of Kiviat's programs are next to those of HPC Challenge "
        f"({', '.join(others)}): program and algorithm differ, so a larger ratio need not mean a machine "
        "with better balance."
    )


def cell(axis: Axis, size: Size) -> Cell:
    """Return the value of an axis, before any rule is applied."""
    if (given := size.ratios.get(axis.id)) is not None:
        return Cell(
            given.value,
            relation=given.relation,
            upper=given.upper,
            holder=given.holder,
            cases=(given.case,),
        )
    needs = (axis.quantity, "hpl") if axis.over_hpl else (axis.quantity,)
    if absent := [name for name in needs if name not in size.quantities]:
        reasons = "; ".join(size.why(name) for name in absent)
        return Cell(None, reason="not published" if size.ratios else reasons)
    top = size.quantities[axis.quantity]
    if axis.per_process and size.processes is None:
        return Cell(None, reason="the number of processes is not known")
    factor = (size.processes or 1) if axis.per_process else 1
    if axis.inverse:
        low, high = (None if end is None else 1 / end for end in (top.high, top.low))
        return _alone(top, 1 / top.value, low, high)
    if not axis.over_hpl:
        return _alone(top, top.value, top.low, top.high)
    return quotient(top, size.quantities["hpl"], factor)


def _alone(top: Quantity, value: float, low: float | None, high: float | None) -> Cell:
    words = (top.extrapolated,) if top.extrapolated else ()
    return Cell(value, low, high, top.meaning, top.relation, cases=(top.case,), extrapolated=words)


def quotient(top: Quantity, bottom: Quantity, factor: float = 1) -> Cell:
    """Return the ratio of two quantities with its bounds.

    If both parts have intervals over launches, the ratio's covers at least 87 %: that of five launches misses
    the median in 6.25 %.
    """
    low = high = None
    meaning = ""
    if top.low is not None and top.high is not None and bottom.low is not None and bottom.high is not None:
        low, high = top.low * factor / bottom.high, top.high * factor / bottom.low
        ranges = [part.meaning for part in (top, bottom) if part.meaning != "95 %"]
        meaning = ranges[0] if ranges else "87 % at least"
    return Cell(
        top.value * factor / bottom.value,
        low,
        high,
        meaning,
        cases=(top.case, bottom.case),
        extrapolated=tuple(part.extrapolated for part in (top, bottom) if part.extrapolated),
    )


def _is_flattered(size: Size) -> bool:
    share = efficiency(size).value
    return share is not None and share < LEAST_EFFICIENCY


def _flattery(systems: Sequence[System]) -> str:
    told = ", ".join(
        f"{system.name}: {100 * (efficiency(system.whole).value or 0):.2g} %" for system in systems
    )
    return (
        f"HPL reaches less than {100 * LEAST_EFFICIENCY:.0f} % of DGEMM ({told}): its low rate makes the "
        "ratios over it large, so that they do not show balance, and no lead in them counts. Compare "
        "absolute values, or run HPL on larger matrices."
    )


def _is_small(size: Size) -> bool:
    hpl = size.value("hpl")
    return hpl is not None and hpl <= SMALL_FLOPS


def _has_few_nodes(size: Size) -> bool:
    return size.nodes is not None and size.nodes < FEW_NODES


def _drops(choice: str, applies: Sequence[bool], own: Sequence[bool], others: bool) -> bool:
    """Return whether a rule drops axes: automatically if it applies to some of the systems only.

    `others` says that there are published systems to which it does not apply.
    """
    of_runs = [one for one, is_own in zip(applies, own, strict=True) if is_own]
    return choice == "drop" or (choice == "auto" and any(of_runs) and (others or not all(of_runs)))


def _names(systems: Sequence[System], applies: Sequence[bool]) -> list[str]:
    return [system.name for system, one in zip(systems, applies, strict=True) if one]


def _rule(
    what: str, which: str, option: str, names: Sequence[str], dropped: bool, choice: str, why: str
) -> str:
    if not names:
        return ""
    done = "is left out" if dropped else "is kept"
    because = {
        "auto": "other systems are not affected" if dropped else "all runs are affected",
        "keep": f"{option}=keep",
        "drop": f"{option}=drop",
    }[choice]
    if which.startswith("FFT"):
        done = done.replace("is", "are")
    have = "has" if len(names) == 1 else "have"
    return f"{which} {done} for {listed(names)}, which {have} {what} ({because}): {why}."


# ---- The paper's figures 1 to 4


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity against HPL, over the sizes of one system: points are (HPL, value, bounds of the value)."""

    system: int
    points: tuple[tuple[float, float, tuple[float, float] | None], ...]
    meaning: str


def against_hpl(systems: Sequence[System], quantity: str, ratio: bool) -> list[Curve]:
    """Return a quantity of all processes against HPL, or its ratio to HPL."""
    curves = []
    for place, system in enumerate(systems):
        points, meanings = [], []
        for size in system.sizes:
            hpl, top = size.quantities.get("hpl"), size.quantities.get(quantity)
            if hpl is None or top is None or size.processes is None:
                continue
            whole = replace(
                top,
                value=top.value * size.processes,
                low=None if top.low is None else top.low * size.processes,
                high=None if top.high is None else top.high * size.processes,
            )
            cell = quotient(whole, hpl) if ratio else _alone(whole, whole.value, whole.low, whole.high)
            if cell.value is not None:
                bounds = None if cell.low is None or cell.high is None else (cell.low, cell.high)
                points.append((hpl.value, cell.value, bounds))
                meanings.append(cell.meaning)
        if points:
            curves.append(Curve(place, tuple(points), " or ".join(dict.fromkeys(filter(None, meanings)))))
    return curves


def efficiency(size: Size) -> Cell:
    """Return HPL / (star DGEMM of all processes), the share of the processors' rate that HPL achieves."""
    return _quotient(size, "hpl", "dgemm", False, True)


def machine_balance(size: Size) -> Cell:
    """Return the bytes that memory delivers per flop of DGEMM: star STREAM triad / star DGEMM."""
    if size.cached:
        return Cell(None, reason=size.cached)
    return _quotient(size, "triad", "dgemm", True, True)


def network_balance(size: Size) -> Cell:
    """Return the bytes that each process sends in random rings per flop of its DGEMM."""
    return _quotient(size, "ring_bandwidth", "dgemm", True, True)


def _quotient(size: Size, top: str, bottom: str, top_each: bool, bottom_each: bool) -> Cell:
    if absent := [name for name in (top, bottom) if name not in size.quantities]:
        return Cell(None, reason="; ".join(size.why(name) for name in absent))
    if top_each != bottom_each and size.processes is None:
        return Cell(None, reason="the number of processes is not known")
    processes = size.processes or 1
    factor = (processes if top_each else 1) / (processes if bottom_each else 1)
    return quotient(size.quantities[top], size.quantities[bottom], factor)


def kernels_missing(size: Size) -> list[str]:
    """Return the kernels to run to obtain the missing axes."""
    needed = dict.fromkeys(
        name for axis in AXES for name in (axis.quantity, *(["hpl"] if axis.over_hpl else []))
    )
    return list(dict.fromkeys(QUANTITIES[name].kernel for name in needed if name not in size.quantities))
