"""Horizontal axes of charts: what their values are, and how these are written."""

from __future__ import annotations

from dataclasses import dataclass

from kiviat.record.units import counted, format_size, format_value, rounded, three_digits


@dataclass(frozen=True, slots=True)
class Axis:
    """A horizontal axis. `noun` is what values count or number, or their unit.

    `kind`: "bytes"; "counted": "4 ranks"; "numbered": "phase 4"; "quantity" in the unit `noun`; "plain".
    `round_ticks`: ticks are at round values, otherwise at values that occur.
    """

    name: str
    title: str
    kind: str
    noun: str = ""
    log: bool = True
    round_ticks: bool = False

    def tick(self, value: float, digits: int = 3) -> str:
        """Return the label of a tick, with `digits` significant digits at most if it is no whole number."""
        if self.kind == "bytes":
            return "0 B" if value < 1 else format_size(round(value))
        if self.kind == "quantity" and self.noun != "flop/B":
            return short_value(value, self.noun, digits)
        return plain(value, digits)

    def where(self, value: float) -> str:
        """Return a value with its noun: "8 KiB", "4 ranks", "phase 4"; charts.js has the same words."""
        if self.kind == "bytes":
            return format_size(round(value))
        if self.kind == "counted":
            return (
                counted(round(value), self.noun) if value == round(value) else f"{plain(value)} {self.noun}s"
            )
        if self.kind == "numbered":
            return f"{self.noun} {value:g}"
        if self.kind == "quantity":
            number = (
                f"{three_digits(value)} flop/B" if self.noun == "flop/B" else format_value(value, self.noun)
            )
            return number if self.title == self.noun else f"{self.title} of {number}"
        return f"{self.title} {plain(value)}"


_AXES = {
    axis.name: axis
    for axis in (
        Axis("bytes", "message size", "bytes"),
        Axis("long", "length of the long messages", "bytes"),
        Axis("ranks", "ranks", "counted", "rank"),
        Axis("sockets", "sockets", "counted", "socket"),
        Axis("distance", "distance in ranks", "numbered", "distance"),
        Axis("senders", "senders", "counted", "sender"),
        Axis("receivers", "receivers", "counted", "receiver"),
        Axis("launch", "launch", "numbered", "launch", log=False),
        Axis("phase", "phase", "numbered", "phase", log=False),
        Axis("rank", "rank", "numbered", "rank", log=False),
        Axis("program", "program", "plain", log=False),
        Axis("hpl", "HPL", "quantity", "flop/s", round_ticks=True),
        Axis("balance.hpl flop/s", "HPL", "quantity", "flop/s", round_ticks=True),
        Axis("intensity", "flop/B", "quantity", "flop/B", round_ticks=True),
    )
}


def axis_of(name: str) -> Axis:
    """Return the axis of that name; any axis of a benchmark has one.

    A metric with its unit, such as "ring.random_bandwidth B/s", is an axis, too.
    """
    if name in _AXES:
        return _AXES[name]
    words, _, unit = name.replace(".", " ").replace("_", " ").rpartition(" ")
    if "." in name:
        return Axis(name, words, "quantity", unit, round_ticks=True)
    return Axis(name, name.replace("_", " "), "plain")


def plain(value: float, digits: int = 3) -> str:
    """Return a whole number as it is, others with up to `digits` significant digits; no trailing zeros."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{rounded(value, digits):,.12g}"


def short_value(value: float, unit: str, digits: int = 3) -> str:
    """Return a value as format_value does, without trailing zeros: "2 µs", "500 MB/s"."""
    number, space, rest = format_value(value, unit, digits).partition(" ")
    if "." in number and "e" not in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number}{space}{rest}"
