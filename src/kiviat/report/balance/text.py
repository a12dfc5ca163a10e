"""Balance in words: values of axes with their units, and the summary sentences."""

from __future__ import annotations

from kiviat.analysis.hpcc.balance import (
    AXES,
    Axis,
    Balance,
    Cell,
    efficiency,
    kernels_missing,
    machine_balance,
)
from kiviat.analysis.hpcc.bottlenecks import limits
from kiviat.analysis.hpcc.quantities import System
from kiviat.record.units import UNAVAILABLE, format_value, listed, three_digits

_RELATIONS = {"=": "", "~": "about ", "<": "< ", "<=": "≤ ", ">": "> ", ">=": "≥ ", "~<": "at most about "}


def value_text(axis: Axis, value: float) -> str:
    """Return "1.23 Tflop/s", "0.36 B/flop" or "1 / 5.20 µs"."""
    if axis.inverse:
        return f"1 / {format_value(1 / value, 's')}"
    if axis.unit == "update/flop":
        return f"{three_digits(1e6 * value)} update/Mflop"
    return format_value(value, axis.unit)


def cell_text(axis: Axis, cell: Cell) -> str:
    """Return the value with its published relation, or "unavailable" or "left out"."""
    if cell.value is None:
        return "left out" if cell.reason.startswith("left out") else UNAVAILABLE
    if cell.upper is not None:
        return f"{value_text(axis, cell.value)} to {value_text(axis, cell.upper)}"
    return _RELATIONS.get(cell.relation, "") + value_text(axis, cell.value)


def interval_text(axis: Axis, cell: Cell) -> str:
    """Return "0.35 – 0.37 B/flop, 87 % at least", or nothing."""
    if cell.low is None or cell.high is None:
        return ""
    low, high = (cell.high, cell.low) if axis.inverse else (cell.low, cell.high)
    first, last = value_text(axis, low), value_text(axis, high)
    number, _, unit = first.rpartition(" ")
    if number and last.endswith(f" {unit}") and not axis.inverse:
        first = number  # one unit for both
    return f"{first} – {last} ({cell.meaning})"


def largest_text(axis: Axis, largest: float | None) -> str:
    """Return the value at the end of an axis."""
    return UNAVAILABLE if largest is None else value_text(axis, largest)


def share_text(share: float | None) -> str:
    """Return a share with three digits, a dash if it is unknown."""
    return "–" if share is None else three_digits(share)


def described(result: Balance) -> str:
    """Return a text alternative of the diagram: each system with its shares of the largest values."""
    lines = []
    for place, system in enumerate(result.systems):
        shares = [
            f"{axis.title} {share_text(share)}"
            for column, axis in enumerate(AXES)
            if (share := result.share(place, column)) is not None
        ]
        missing = len(AXES) - len(shares)
        tail = f"; {missing} of {len(AXES)} axes are missing" if missing else ""
        lines.append(f"{system.name}, {system.origin}: {', '.join(shares) or 'no axis'}{tail}.")
    return " ".join(["Shares of the largest value of each axis.", *lines])


def sentences(result: Balance) -> list[str]:
    """Return three sentences: performance, bottlenecks, and missing axes or the comparison.

    A fourth places a single run among published machines, if any share quantities with it. Published systems
    alone have the first only.
    """
    own = [system for system in result.systems if system.origin != "published"]
    if len(own) == 1:
        told = [_stands(own[0]), f"{limits(own[0].whole).verdict}", _lacks(own) or _beside(result)]
        return [*told, *filter(None, [result.placed])]
    if not own:
        return [_leads(result)]
    return [_leads(result), _limited(own), _lacks(own) or _beside(result)]


def remarks(result: Balance) -> list[str]:
    """Return the remarks on the results of runs, which say how far the sentences hold."""
    own = [system for system in result.systems if system.origin != "published"]
    return [
        f"{system.name}: {remark}" if len(own) > 1 else remark
        for system in own
        for remark in limits(system.whole).remarks
    ]


def _stands(system: System) -> str:
    whole = system.whole
    hpl, share, memory = whole.value("hpl"), efficiency(whole).value, machine_balance(whole).value
    if hpl is None:
        return f"{system.name} has no HPL, so no ratio can be formed."
    does = "is predicted to deliver" if system.origin == "predicted" else "delivers"
    of = "" if share is None else f", {100 * share:.0f} % of the DGEMM rate of its processes"
    bytes_ = (
        "" if memory is None else f"; its memory delivers {three_digits(memory)} B for each flop of DGEMM"
    )
    processes = (
        f" on {whole.processes:,} process{'' if whole.processes == 1 else 'es'}" if whole.processes else ""
    )
    return f"{system.name} {does} {format_value(hpl, 'flop/s')} in HPL{processes}{of}{bytes_}."


def _leads(result: Balance) -> str:
    """Return the systems with the largest values, and their axes."""
    leads: dict[tuple[str, str], list[str]] = {}  # name and verb
    doubted: dict[tuple[str, str], list[str]] = {}  # name and reason
    for column, axis in enumerate(AXES):
        for line, system in enumerate(result.systems):
            if result.is_largest(line, column):
                holder = result.cells[line][column].holder
                unnamed = (f"machines that {system.source} do not name", "lead")
                who = unnamed if system.maxima and not holder else (holder or system.name, "leads")
                if why := result.doubt(line, column):
                    doubted.setdefault((system.name, why), []).append(axis.title)
                else:
                    leads.setdefault(who, []).append(axis.title)
                break
    ordered = sorted(leads.items(), key=lambda entry: -len(entry[1]))
    told = [f"{who} {verb} on {len(titles)} ({', '.join(titles)})" for (who, verb), titles in ordered]
    told += [
        f"{who} has the largest value on {len(titles)} ({', '.join(titles)}), which is no lead: {why}"
        for (who, why), titles in doubted.items()
    ]
    if not told:
        return "No system leads on any axis: each ratio over HPL that is largest is due to a low HPL."
    return f"Of the {len(AXES)} axes {'; '.join(told)}."


def _limited(systems: list[System]) -> str:
    found = [(system.name, limits(system.whole)) for system in systems]
    told = [f"{name} by {one.short}" if one.groups else f"those of {name} {one.short}" for name, one in found]
    return f"Bottlenecks: {'; '.join(told)}."


def _lacks(systems: list[System]) -> str:
    """Return the missing kernels and the plans that measure them."""
    told = [
        f"{system.name} lacks {listed(missing)}"
        for system in systems
        if (missing := kernels_missing(system.whole))
    ]
    plans = {"hpcc-modelled" if system.origin == "predicted" else "hpcc" for system in systems}
    commands = listed([f"`kiviat run {plan}`" for plan in sorted(plans)])
    return f"{'; '.join(told)}: {commands} {'has' if len(plans) == 1 else 'have'} all." if told else ""


def _beside(result: Balance) -> str:
    """Return how the first run compares with the largest values of the other systems."""
    shares = {
        axis.title: share
        for column, axis in enumerate(AXES)
        if (share := result.share(0, column)) is not None and axis.over_hpl and axis.good
    }
    if len(result.systems) == 1 or not shares:
        return "All axes are available; compare with a second system to see where this one is unbalanced."
    name, low = result.systems[0].name, min(shares, key=lambda title: shares[title])
    largest: dict[str, list[str]] = {}  # by the reason why they are no lead
    for column, axis in enumerate(AXES):
        if axis.over_hpl and result.is_largest(0, column):
            largest.setdefault(result.doubt(0, column), []).append(axis.title)
    has = [
        f"the largest {listed(titles)}" + (f", which is no lead: {why}" if why else "")
        for why, titles in sorted(largest.items())
    ]
    first = f"{name} has {'; '.join(has) or 'no largest ratio'}"
    if shares[low] == 1:
        return f"{first}."
    return f"{first}; it is farthest from the largest in {low}: {three_digits(100 * shares[low])} % of it."
