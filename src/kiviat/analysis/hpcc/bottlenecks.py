"""Bottlenecks of a machine: the resource that limits each kernel of HPC Challenge.

The bound of a resource is the rate of the kernel if only this resource took time. So the kernel's rate
divided by the bound is the share of its time for which the resource accounts; since resources may work at the
same time, shares can add up to more than 1. The resource with the largest share limits the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kiviat.analysis.hpcc.balance import FEW_NODES, efficiency
from kiviat.analysis.hpcc.extrapolation import FFT_BYTES
from kiviat.analysis.hpcc.quantities import Size
from kiviat.analysis.hpcc.roofline import problem_order
from kiviat.record.units import format_value, listed, three_digits

PROCESSOR, MEMORY = "the processor", "memory"
BANDWIDTH, LATENCY = "network bandwidth", "network latency"

# Minimum share of a limiting resource; a resource with at least _TIE times the largest share is named as
# well.
_ENOUGH = 0.4
_TIE = 0.85
_REFUTED = 1.3  # a kernel may be this much faster than a bound measured in other launches
# If HPL exceeds DGEMM by more than this factor, it is a measurement mistake, not noise.
_MORE_THAN_DGEMM = 1.05


@dataclass(frozen=True, slots=True)
class Bound:
    """Rate of a kernel if only this resource took time; `reckoning` describes the calculation."""

    resource: str
    rate: float
    reckoning: str


@dataclass(frozen=True, slots=True)
class Limit:
    """Limiting resources of a kernel; empty if they cannot be determined, because data is `missing`."""

    kernel: str
    rate: float | None
    unit: str
    resources: tuple[str, ...]
    share: float | None
    bounds: tuple[Bound, ...]
    missing: tuple[str, ...]

    def share_of(self, bound: Bound) -> str:
        """Return the share of a bound that the kernel reaches: "87 %", or "500 %: refuted"."""
        share = f"{100 * (self.rate or 0) / bound.rate:.0f} %"
        return f"{share}: refuted" if self.rate is not None and _refutes(self.rate, bound) else share

    @property
    def sentence(self) -> str:
        """Limiting resource and the share of time of each resource, or the reason why it is unknown."""
        if self.rate is None:
            return f"{self.kernel}: cannot tell; {'; '.join(self.missing)}."
        told = [
            f"{bound.resource} accounts for {100 * self.rate / bound.rate:.0f} % of its time"
            for bound in self.bounds
            if not _refutes(self.rate, bound)
        ]
        refuted = [
            f"its rate is {three_digits(self.rate / bound.rate)} times the bound by {bound.resource}, which "
            "was measured wrongly or does not apply"
            for bound in self.bounds
            if _refutes(self.rate, bound)
        ]
        if self.resources:
            limited = f"{self.kernel} is limited by {listed(self.resources)}: {', '.join(told)}"
            return f"{'; '.join([limited, *refuted])}."
        nothing = [] if self.bounds else ["nothing to hold it against"]
        known = [listed(told)] if told else nothing
        return f"{self.kernel}: cannot tell; {'; '.join([*known, *refuted, *self.missing])}."


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the kernels that all processes execute together, with remarks on implausible values.

    `groups`: resources with the kernels that each limits, the most frequent first; `where` describes the
    network if there are few nodes.
    """

    kernels: tuple[Limit, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    where: str
    remarks: tuple[str, ...]

    @property
    def unknown(self) -> tuple[Limit, ...]:
        """Kernels whose limiting resource cannot be determined."""
        return tuple(limit for limit in self.kernels if not limit.resources)

    @property
    def short(self) -> str:
        """Resources with their kernels, such as "memory (FFT and PTRANS) and the processor (HPL)"."""
        known = listed([f"{resource} ({listed(names)})" for resource, names in self.groups])
        return known or f"cannot be determined{self._because}"

    @property
    def _because(self) -> str:
        lacking = list(dict.fromkeys(reason for limit in self.unknown for reason in limit.missing))
        return f" ({'; '.join(lacking) or 'no resource by itself accounts for enough of its time'})"

    @property
    def verdict(self) -> str:
        """One sentence that names the resources limiting most kernels of the machine."""
        if not self.groups:
            return f"What limits this machine cannot be determined{self._because}."
        most = len(self.groups[0][1])
        first = [resource for resource, names in self.groups if len(names) == most]
        if len(self.groups) == 1:
            told = f"{first[0]} limits {listed(self.groups[0][1])}"
        else:
            head = f"{listed(first)} limit{'s' if len(first) == 1 else ''} this machine most"
            told = f"{head}: {', '.join(f'{listed(names)} by {resource}' for resource, names in self.groups)}"
        names = listed([limit.kernel for limit in self.unknown])
        open_ = f"; what limits {names} cannot be determined{self._because}" if names else ""
        return f"{told[:1].upper()}{told[1:]}{open_}{self.where}."


def limits(size: Size) -> Limits:
    """Return what limits each kernel of HPC Challenge on a system of this size.

    No resource is named if ranks shared cores or other programs disturbed the kernels.
    """
    kernels = tuple(_limit(name, key, size, bounds) for name, key, bounds in _KERNELS)
    groups: dict[str, list[str]] = {}
    for limit in kernels:
        for resource in limit.resources:
            groups.setdefault(resource, []).append(limit.kernel)
    ordered = sorted(groups.items(), key=lambda entry: -len(entry[1]))
    return Limits(
        kernels,
        tuple((resource, tuple(names)) for resource, names in ordered),
        _where(size),
        tuple(_remarks(size)),
    )


def _limit(name: str, key: str, size: Size, bounds: Sequence[Reckoning]) -> Limit:
    quantity = size.quantities.get(key)
    if quantity is None:
        return Limit(name, None, "", (), None, (), (size.why(key),))
    found, missing = [], []
    for bound in bounds:
        one = bound(size)
        if isinstance(one, Bound):
            found.append(one)
        elif one:
            missing.append(one)
    found.sort(key=lambda bound: bound.rate)
    valid = [bound for bound in found if not _refutes(quantity.value, bound)]
    shares = [quantity.value / bound.rate for bound in valid]
    first = shares[0] if shares else None
    resources: tuple[str, ...] = ()
    if size.unfair:
        missing = [size.unfair]
    elif first is not None and first >= _ENOUGH:
        resources = tuple(
            dict.fromkeys(
                bound.resource for bound, share in zip(valid, shares, strict=True) if share >= _TIE * first
            )
        )
    return Limit(
        name, quantity.value, quantity.unit, resources, first, tuple(found), tuple(dict.fromkeys(missing))
    )


def _refutes(rate: float, bound: Bound) -> bool:
    """Return whether a kernel is so much faster than a bound that this cannot be one."""
    return rate > _REFUTED * bound.rate


def _where(size: Size) -> str:
    if size.processes == 1:
        return "; one process sends no messages"
    if size.nodes == 1:
        return "; all processes are on one node, so that its network is its memory"
    if size.nodes is not None and size.nodes < FEW_NODES:
        return f"; on {size.nodes} nodes messages are partly within nodes"
    return ""


# ---- Bounds: the possible rate of a kernel, or the reason why it is unknown; "" if the bound does not apply


Reckoning = Callable[[Size], Bound | str]


def _by(quantity: str, between: bool = False) -> Callable[[Reckoning], Reckoning]:
    """Decorate a function that derives a bound from a quantity.

    The bound is the reason if the quantity is missing, and empty for a single process if it is a bound on
    communication (`between` processes).
    """

    def of(reckon: Reckoning) -> Reckoning:
        def bound(size: Size) -> Bound | str:
            if between and (size.processes or 1) == 1:
                return ""
            return reckon(size) if quantity in size.quantities else size.why(quantity)

        return bound

    return of


def _total(size: Size, name: str) -> float:
    return size.quantities[name].value * (size.processes or 1)


@_by("dgemm")
def _hpl_processor(size: Size) -> Bound | str:
    return Bound(PROCESSOR, _total(size, "dgemm"), "star DGEMM of all processes")


@_by("ring_bandwidth", between=True)
def _hpl_network(size: Size) -> Bound | str:
    order = size.value("hpl_order")
    if order is None:
        return "the order of the matrix of HPL is not recorded"
    p, q = _grid(size)
    # Each process receives every panel of its row except its own, and every row of U in its column, twice
    # because rows are swapped, too: 8 n² / 2 bytes distributed over the rows and over the columns of the
    # grid.
    sent = 4 * order**2 * ((q - 1) / (p * q) + 2 * (p - 1) / (p * q))
    seconds = sent / size.quantities["ring_bandwidth"].value
    flops = 2 / 3 * order**3 + 3 / 2 * order**2
    grid = f"a {p} × {q} grid"
    return Bound(
        BANDWIDTH,
        flops / seconds,
        f"4 n² ((Q − 1) + 2 (P − 1)) / (P Q) bytes of each process at random ring bandwidth, on {grid}",
    )


def _grid(size: Size) -> tuple[int, int]:
    hpl, processes = size.quantities["hpl"], size.processes or 1
    if {"grid_rows", "grid_columns"} <= set(hpl.numbers):
        return int(hpl.numbers["grid_rows"]), int(hpl.numbers["grid_columns"])
    p, q = hpl.axes.get("p"), hpl.axes.get("q")
    if isinstance(p, int) and 0 < p <= processes:
        return p, processes // p
    if isinstance(q, int) and 0 < q <= processes:
        return processes // q, q
    rows = max(rows for rows in range(1, math.isqrt(processes) + 1) if processes % rows == 0)
    return rows, processes // rows


@_by("fft_star")
def _fft_local(size: Size) -> Bound | str:
    return Bound(_fft_resource(size), _total(size, "fft_star"), "star FFT of all processes")


def _fft_resource(size: Size) -> str:
    """Return the resource that limits a transform on one process: memory below the roofline's ridge point."""
    dgemm, triad = size.value("dgemm"), size.value("triad")
    order = problem_order(size.quantities["fft_star"], FFT_BYTES, 1) or 2.0**24
    if dgemm is None or triad is None or size.cached:
        return MEMORY
    return MEMORY if 5 * math.log2(order) / 32 < dgemm / triad else PROCESSOR


@_by("ring_bandwidth", between=True)
def _fft_network(size: Size) -> Bound | str:
    processes = size.processes or 1
    fft = size.quantities["fft"]
    memory = fft.axes.get("memory")
    in_memory = memory / FFT_BYTES * processes if isinstance(memory, int | float) else 2.0**24 * processes
    order = fft.number("n") or in_memory  # only its logarithm matters
    sent_per_element = 3 * 16 * (processes - 1) / processes
    rate = 5 * math.log2(order) * _total(size, "ring_bandwidth") / sent_per_element
    return Bound(BANDWIDTH, rate, "three transposes of 16 B for each element at random ring bandwidth")


@_by("triad")
def _ptrans_memory(size: Size) -> Bound | str:
    if size.cached:
        return size.cached
    return Bound(
        MEMORY, _total(size, "triad") / 3, "24 B of memory traffic for each 8 B, at star STREAM triad"
    )


@_by("ring_bandwidth", between=True)
def _ptrans_network(size: Size) -> Bound | str:
    processes = size.processes or 1
    # On a square grid the diagonal processes keep their blocks; in total at least 1 / P stays.
    rate = _total(size, "ring_bandwidth") * processes / (processes - 1)
    return Bound(BANDWIDTH, rate, "(P − 1) / P of the matrix at random ring bandwidth")


@_by("random_access_star")
def _random_memory(size: Size) -> Bound | str:
    return Bound(MEMORY, _total(size, "random_access_star"), "star RandomAccess of all processes")


@_by("ring_latency", between=True)
def _random_latency(size: Size) -> Bound | str:
    processes = size.processes or 1
    rate = 1024 * processes / size.quantities["ring_latency"].value
    return Bound(
        LATENCY, rate, "1024 updates of each process, the look-ahead allowed, for each random ring latency"
    )


@_by("ring_bandwidth", between=True)
def _random_bandwidth(size: Size) -> Bound | str:
    processes = size.processes or 1
    rate = _total(size, "ring_bandwidth") / 8 * processes / (processes - 1)
    return Bound(BANDWIDTH, rate, "8 B for each update of another process’s words, at random ring bandwidth")


_KERNELS: tuple[tuple[str, str, tuple[Reckoning, ...]], ...] = (
    ("HPL", "hpl", (_hpl_processor, _hpl_network)),
    ("FFT", "fft", (_fft_local, _fft_network)),
    ("PTRANS", "ptrans", (_ptrans_memory, _ptrans_network)),
    ("RandomAccess", "random_access", (_random_memory, _random_latency, _random_bandwidth)),
)


# ---- Bounds by the memory and links that processes share


_ALONE = (
    (
        "dgemm",
        "dgemm_single",
        "DGEMM",
        0.9,
        "processes slow each other down where they only compute: clock, power or shared cores",
    ),
    (
        "triad",
        "triad_single",
        "STREAM triad",
        0.7,
        "one process can nearly fill the memory of its node: more processes on it add little",
    ),
    (
        "fft_star",
        "fft_single",
        "FFT",
        0.7,
        "processes on a node share what FFT needs: memory or last-level cache",
    ),
)


def _remarks(size: Size) -> Iterator[str]:
    found = efficiency(size)
    if found.value is not None:
        yield f"HPL runs at {100 * found.value:.0f} % of DGEMM."
        if found.value > _MORE_THAN_DGEMM:
            yield (
                "HPL cannot be faster than DGEMM: one of them was disturbed, or DGEMM's problem was "
                "too small. Measure both again, on a quiet machine."
            )
    if size.oversubscribed:
        yield "More processes than cores: the results measure switching between processes, not the machine."
    if size.disturbed:
        yield "Other programs disturbed kernels, which changes the results. Measure again on a quiet machine."
    for star, single, name, least, meaning in _ALONE:
        one, other = size.quantities.get(star), size.quantities.get(single)
        if one is None or other is None or one.in_cache or other.in_cache or (size.processes or 1) == 1:
            continue
        share = one.value / other.value
        values = f"{format_value(one.value, one.unit)} of {format_value(other.value, other.unit)}"
        if share < least:
            yield (
                f"{name}: at the same time each process gets {100 * share:.0f} % of what it gets alone "
                f"({values}): {meaning}."
            )
