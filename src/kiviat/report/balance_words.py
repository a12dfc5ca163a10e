"""Balance in words: values of the axes with their units, and the sentences above the table."""

from __future__ import annotations

from kiviat.analysis.balance import AXES, Axis, Balance, Cell
from kiviat.record.units import UNAVAILABLE, format_value, three_digits

_RELATIONS = {"=": "", "~": "about ", "<": "< ", "<=": "≤ ", ">": "> ", ">=": "≥ ", "~<": "at most about "}


def value_text(axis: Axis, value: float) -> str:
    """ "1.23 Tflop/s", "0.36 B/flop", "1 / 5.20 µs"."""
    if axis.inverse:
        return f"1 / {format_value(1 / value, 's')}"
    if axis.unit == "update/flop":
        return f"{three_digits(1e6 * value)} update/Mflop"
    return format_value(value, axis.unit)


def cell_text(axis: Axis, cell: Cell) -> str:
    """The value, as what it was published; "unavailable" or "left out" where there is none."""
    if cell.value is None:
        return "left out" if cell.reason.startswith("left out") else UNAVAILABLE
    if cell.upper is not None:
        return f"{value_text(axis, cell.value)} to {value_text(axis, cell.upper)}"
    return _RELATIONS.get(cell.relation, "") + value_text(axis, cell.value)


def interval_text(axis: Axis, cell: Cell) -> str:
    """ "0.35 – 0.37 B/flop", or nothing."""
    if cell.low is None or cell.high is None:
        return ""
    low, high = (cell.high, cell.low) if axis.inverse else (cell.low, cell.high)
    return f"{value_text(axis, low)} – {value_text(axis, high)}"


def largest_text(axis: Axis, largest: float | None) -> str:
    """What an axis ends at."""
    return UNAVAILABLE if largest is None else value_text(axis, largest)


def share_text(share: float | None) -> str:
    return "–" if share is None else three_digits(share)


def described(result: Balance) -> str:
    """The diagram, for those who do not see it: each system with its shares of the largest values."""
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
