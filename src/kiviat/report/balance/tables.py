"""The tables of the balance page: results of kernels, their bounds, and their energy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kiviat.analysis.hpcc import balance
from kiviat.analysis.hpcc.balance import Cell
from kiviat.analysis.hpcc.bottlenecks import Limits, limits
from kiviat.analysis.hpcc.quantities import QUANTITIES, Quantity, Size, System
from kiviat.record.units import format_range, format_value, three_digits

_TITLES = {
    "hpl": "HPL",
    "hpl_order": "HPL, order of the matrix",
    "dgemm": "DGEMM, star",
    "dgemm_single": "DGEMM, single",
    "copy": "STREAM copy, star",
    "triad": "STREAM triad, star",
    "copy_single": "STREAM copy, single",
    "triad_single": "STREAM triad, single",
    "ptrans": "PTRANS",
    "random_access": "RandomAccess",
    "random_access_star": "RandomAccess, star",
    "random_access_single": "RandomAccess, single",
    "fft": "FFT",
    "fft_star": "FFT, star",
    "fft_single": "FFT, single",
    "ring_bandwidth": "Random ring bandwidth",
    "ring_latency": "Random ring latency",
    "hpcg": "HPCG",
}
# Rates per process, whose sum over all processes is shown as "accumulated".
_EACH = ("dgemm", "copy", "triad", "random_access_star", "fft_star", "ring_bandwidth")
_RARE = ("hpcg", "hpl_order")


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity of a system in words; `reason` says why it is unavailable."""

    title: str
    value: str
    interval: str
    accumulated: str
    launches: str
    case: str
    reason: str


@dataclass(frozen=True, slots=True)
class Quantities:
    """All quantities of a system at its representative size, and derived ratios."""

    name: str
    origin: str
    lines: list[Line]
    derived: list[Line]


def quantities(system: System) -> Quantities:
    """Return the table of a system's quantities; rare ones only if the system has them."""
    size = system.whole
    lines = [_line(key, size) for key in QUANTITIES if key in size.quantities or key not in _RARE]
    derived = [_derived(title, of(size), write) for title, of, write in _DERIVED]
    return Quantities(system.name, system.origin, lines, derived)


def _line(key: str, size: Size) -> Line:
    quantity = size.quantities.get(key)
    if quantity is None:
        return Line(_TITLES[key], "unavailable", "", "", "", "", size.why(key))
    total = size.total(key) if key in _EACH else None
    return Line(
        title=f"{_TITLES[key]} (cache, not memory)" if quantity.in_cache else _TITLES[key],
        value=format_value(quantity.value, quantity.unit),
        interval=_interval(quantity),
        accumulated="" if total is None else format_value(total, quantity.unit),
        launches=str(quantity.launches),
        case=quantity.case,
        reason="",
    )


def _interval(quantity: Quantity) -> str:
    if quantity.low is None or quantity.high is None:
        return ""
    bounds = format_range(quantity.low, quantity.high, quantity.unit)
    return bounds if quantity.meaning == "95 %" else f"{bounds} ({quantity.meaning})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _bytes_per_flop(value: float) -> str:
    return f"{three_digits(value)} B/flop"


_DERIVED: tuple[tuple[str, Callable[[Size], Cell], Callable[[float], str]], ...] = (
    ("HPL efficiency: HPL / (star DGEMM × processes)", balance.efficiency, _percent),
    ("Machine balance: star STREAM triad / star DGEMM", balance.machine_balance, _bytes_per_flop),
    ("Network balance: random ring / star DGEMM, per process", balance.network_balance, _bytes_per_flop),
)


def _derived(title: str, cell: Cell, write: Callable[[float], str]) -> Line:
    if cell.value is None:
        return Line(title, "unavailable", "", "", "", "", cell.reason)
    bounds = "" if cell.low is None or cell.high is None else f"{write(cell.low)} – {write(cell.high)}"
    return Line(title, write(cell.value), bounds, "", "", ", ".join(cell.cases), "")


@dataclass(frozen=True, slots=True)
class Bounded:
    """A kernel and the bound of one resource."""

    kernel: str
    rate: str
    resource: str
    bound: str
    share: str
    reckoning: str
    limits: bool
    first: int  # the number of lines of the kernel, in its first line; else 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """The bounds of each kernel, from which follows what limits it."""

    name: str
    found: Limits
    lines: list[Bounded]


def evidence(system: System) -> Evidence:
    """Return the table of bounds for the kernels whose rate is known."""
    found = limits(system.whole)
    lines = [
        Bounded(
            kernel=limit.kernel,
            rate=format_value(limit.rate, limit.unit),
            resource=bound.resource,
            bound=format_value(bound.rate, limit.unit),
            share=f"{100 * limit.rate / bound.rate:.0f} %",
            reckoning=bound.reckoning,
            limits=bound.resource in limit.resources,
            first=0 if place else len(limit.bounds),
        )
        for limit in found.kernels
        if limit.rate is not None
        for place, bound in enumerate(limit.bounds)
    ]
    return Evidence(system.name, found, lines)


# Kernels that use the whole machine, so that its energy is theirs.
_POWERED = ("hpl", "dgemm", "triad", "copy", "ptrans", "random_access", "fft")


@dataclass(frozen=True, slots=True)
class Spent:
    """Power and energy of one kernel in words."""

    title: str
    rate: str
    watts: str
    per_watt: str
    joules: str


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of kernels and its origin: measured or declared."""

    name: str
    lines: list[Spent]
    words: list[str]
    declared: bool


def energy(system: System) -> Energy | None:
    """Return the energy table, None without energy notes; lines are empty if energy is unavailable."""
    size = system.whole
    lines, words = [], []
    for key in _POWERED:
        quantity = size.quantities.get(key)
        if quantity is None:
            continue
        if note := quantity.notes.get("energy"):
            words.append(note)
        if quantity.watts is None:
            continue
        rate = size.total(key) if key in _EACH else quantity.value
        per_watt = None if rate is None else format_value(rate / quantity.watts, quantity.unit)
        lines.append(
            Spent(
                title=_TITLES[key],
                rate=format_value(rate, quantity.unit),
                watts=format_value(quantity.watts, "W"),
                per_watt="unavailable" if per_watt is None else f"{per_watt} per W",
                joules=format_value(quantity.joules, "J"),
            )
        )
    told = list(dict.fromkeys(words))
    if not lines and not told:
        return None
    return Energy(system.name, lines, told, any(word.startswith("declared") for word in told))
