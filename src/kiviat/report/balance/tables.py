"""The tables of the balance page: axes, results of kernels, their bounds, rooflines and energy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kiviat.analysis.hpcc import balance
from kiviat.analysis.hpcc.balance import AXES, Balance
from kiviat.analysis.hpcc.bottlenecks import Bound, Limit, Limits, limits
from kiviat.analysis.hpcc.quantities import QUANTITIES, Quantity, Size, System
from kiviat.analysis.hpcc.roofline import Point, Roofline
from kiviat.record.units import UNAVAILABLE, format_range, format_value, three_digits
from kiviat.report.balance.text import cell_text, interval_text, largest_text, share_text
from kiviat.report.html.figure import RunLabel
from kiviat.report.table import Absent, Cell, Column, Content, Table, Value, tabled

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


def axes_table(result: Balance, labels: Sequence[RunLabel]) -> Table:
    """Return the table beside the diagram: the value of each system on each axis."""

    def of_system(line: int) -> Column[int]:
        system = result.systems[line]
        return Column(
            system.name, lambda column: _on_axis(result, line, column), side=">", swatch=labels[line].swatch
        )

    columns: list[Column[int]] = [
        Column("axis", lambda column: Cell(AXES[column].title, below=AXES[column].formula)),
        *map(of_system, range(len(result.systems))),
        Column("largest", lambda column: largest_text(AXES[column], result.largest[column]), side=">"),
    ]
    return tabled("The numbers of the diagram", columns, range(len(AXES)), kind="axes")


def _on_axis(result: Balance, line: int, column: int) -> Cell:
    axis, cell = AXES[column], result.cells[line][column]
    text, share = cell_text(axis, cell), share_text(result.share(line, column))
    return Cell(
        text,
        below=(
            cell.reason.replace("left out: ", "") or f"{share} of the largest",
            "extrapolated" if cell.extrapolated else "",
            interval_text(axis, cell),
        ),
        hover=cell.reason,
        kind=text.replace(" ", "-") if cell.value is None else result.systems[line].origin,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """One quantity of a system in words; without a value, `case` says why."""

    title: str
    value: str | None
    interval: str = ""
    accumulated: str = ""
    launches: int | None = None
    case: str = ""


def quantities(system: System) -> Table:
    """Return the table of a system's quantities and derived ratios; rare ones only if the system has them."""
    size = system.whole
    lines = [_line(key, size) for key in QUANTITIES if key in size.quantities or key not in _RARE]
    lines += [_derived(title, of(size), write) for title, of, write in _DERIVED]
    columns: list[Column[_Line]] = [
        Column("quantity", lambda line: line.title),
        Column("predicted" if system.origin == "predicted" else "median", _of(system), side=">"),
        Column("95 % interval", lambda line: line.interval or None, side=">", absent="–"),
        Column("accumulated", lambda line: line.accumulated or None, side=">", absent="–"),
        Column("launches", lambda line: line.launches, "number", absent="–"),
        Column("case", lambda line: Cell(line.case, kind="case" if line.value else "why")),
    ]
    return tabled(f"Quantities of {system.name}", columns, lines)


def _of(system: System) -> Callable[[_Line], Content]:
    return lambda line: Cell(line.value, kind=system.origin) if line.value else Cell(None, kind="unavailable")


def _line(key: str, size: Size) -> _Line:
    quantity = size.quantities.get(key)
    if quantity is None:
        return _Line(_TITLES[key], None, case=size.why(key))
    total = size.total(key) if key in _EACH else None
    return _Line(
        title=f"{_TITLES[key]} (cache, not memory)" if quantity.in_cache else _TITLES[key],
        value=format_value(quantity.value, quantity.unit),
        interval=_interval(quantity),
        accumulated="" if total is None else format_value(total, quantity.unit),
        launches=quantity.launches or None,
        case=quantity.case,
    )


def _interval(quantity: Quantity) -> str:
    if quantity.low is None or quantity.high is None:
        return ""
    return _with_meaning(format_range(quantity.low, quantity.high, quantity.unit), quantity.meaning)


def _with_meaning(bounds: str, meaning: str) -> str:
    return bounds if meaning == "95 %" else f"{bounds} ({meaning})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _bytes_per_flop(value: float) -> str:
    return f"{three_digits(value)} B/flop"


_DERIVED: tuple[tuple[str, Callable[[Size], balance.Cell], Callable[[float], str]], ...] = (
    ("HPL efficiency: HPL / (star DGEMM × processes)", balance.efficiency, _percent),
    ("Machine balance: star STREAM triad / star DGEMM", balance.machine_balance, _bytes_per_flop),
    ("Network balance: random ring / star DGEMM, per process", balance.network_balance, _bytes_per_flop),
)


def _derived(title: str, cell: balance.Cell, write: Callable[[float], str]) -> _Line:
    if cell.value is None:
        return _Line(title, None, case=cell.reason)
    if cell.low is None or cell.high is None:
        interval = ""
    else:
        interval = _with_meaning(f"{write(cell.low)} – {write(cell.high)}", cell.meaning)
    return _Line(title, write(cell.value), interval, case=", ".join(cell.cases))


_BOUNDS: tuple[Column[tuple[Limit, Bound]], ...] = (
    Column("kernel", lambda one: one[0].kernel, merged=True),
    Column("rate", lambda one: Value(one[0].rate, one[0].unit), side=">", merged=True),
    Column("resource", lambda one: one[1].resource, kind="line"),
    Column("bound", lambda one: Value(one[1].rate, one[0].unit), side=">"),
    Column("share", lambda one: one[0].share_of(one[1]), side=">"),
    Column("calculation", lambda one: one[1].reckoning, kind="wide"),
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What limits a system, and the bounds of each kernel from which that follows."""

    name: str
    found: Limits
    table: Table


def evidence(system: System) -> Evidence:
    """Return the table of bounds for the kernels whose rate is known."""
    found = limits(system.whole)
    bounds = [(one, bound) for one in found.kernels if one.rate is not None for bound in one.bounds]
    table = tabled(
        f"What limits {system.name}",
        _BOUNDS,
        bounds,
        kind_of=lambda one: "limiting" if one[1].resource in one[0].resources else "",
    )
    return Evidence(system.name, found, table)


_BELOW_ROOF: tuple[Column[Point], ...] = (
    Column("kernel", lambda point: point.kernel),
    Column("flop/B", lambda point: point.intensity, "1"),
    Column("rate", lambda point: point.rate, "flop/s"),
    Column("roof there", lambda point: point.bound, "flop/s"),
    Column("of it", lambda point: point.share, "%"),
)


def roof_table(name: str, roof: Roofline) -> Table:
    """Return the table of the kernels below a roof."""
    processes = f"{roof.processes} process{'' if roof.processes == 1 else 'es'}"
    on = f"one node of {processes}" if roof.node else "one process; its nodes are unknown"
    title = f"{name}, {on}; the roofs meet at {format_value(roof.ridge, '1')} flop/B"
    return tabled(title, _BELOW_ROOF, roof.points, notes=[f"Not drawn: {one}." for one in roof.missing])


# Kernels that use the whole machine, so that its energy is theirs.
_POWERED = ("hpl", "dgemm", "triad", "copy", "ptrans", "random_access", "fft")


@dataclass(frozen=True, slots=True)
class _Spent:
    """Power and energy of one kernel."""

    title: str
    rate: float | None
    quantity: Quantity

    @property
    def per_watt(self) -> str | Absent:
        if self.rate is None or self.quantity.watts is None:
            return Absent(UNAVAILABLE)
        return f"{format_value(self.rate / self.quantity.watts, self.quantity.unit)} per W"


_ENERGY: tuple[Column[_Spent], ...] = (
    Column("kernel", lambda one: one.title),
    Column("rate", lambda one: Value(one.rate, one.quantity.unit), side=">"),
    Column("power", lambda one: one.quantity.watts, "W"),
    Column("per watt", lambda one: one.per_watt, side=">"),
    Column("energy of one repetition", lambda one: one.quantity.joules, "J"),
)


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of kernels, and sentences on its origin; the table is None if the energy is unavailable."""

    name: str
    table: Table | None
    words: list[str]


def energy(system: System) -> Energy | None:
    """Return the energy of a system's kernels, None without energy notes."""
    size = system.whole
    known = {key: quantity for key in _POWERED if (quantity := size.quantities.get(key))}
    words = list(dict.fromkeys(note for one in known.values() if (note := one.notes.get("energy"))))
    lines = [
        _Spent(_TITLES[key], size.total(key) if key in _EACH else quantity.value, quantity)
        for key, quantity in known.items()
        if quantity.watts is not None
    ]
    if not lines and not words:
        return None
    declared = any(one.startswith("declared") for one in words)
    title = f"Energy of {system.name}" + (": declared, not measured" if declared else "")
    return Energy(system.name, tabled(title, _ENERGY, lines) if lines else None, words)
