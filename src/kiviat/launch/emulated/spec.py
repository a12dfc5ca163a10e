"""Cluster specifications: "4x2,rate=1Gbit,delay=50us" means four nodes of two slots, and their links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from kiviat.record import InputError
from kiviat.record.suggestion import suggestion

# Node i has the address 10.77.0.i; the head, where mpiexec runs, has 10.77.0.254.
_MOST_NODES = 250
_MOST_SLOTS = 1024
_LEAST_RATE, _MOST_RATE = 64_000, 100_000_000_000
_MOST_DELAY_S = 1
_RATE_UNITS = {"bit": Fraction(1), "kbit": Fraction(10**3), "Mbit": Fraction(10**6), "Gbit": Fraction(10**9)}
_DELAY_UNITS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
}
_FORM = "write NODESxSLOTS[,rate=…][,delay=…], such as 4x2,rate=1Gbit,delay=50us"
_SHAPE = re.compile(r"([+-]?[0-9]{1,9})x([+-]?[0-9]{1,9})")
_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-zA-Zµ]*)")


@dataclass(frozen=True)
class Spec:
    """`rate_bit_per_s`: rate of each link and direction; `delay_s`: added per direction. None: unchanged."""

    nodes: int
    slots: int
    rate_bit_per_s: int | None = None
    delay_s: float | None = None

    @property
    def label(self) -> str:
        """Return the specification as text that `parse_spec` accepts."""
        words = [f"{self.nodes}x{self.slots}"]
        if self.rate_bit_per_s is not None:
            words.append(f"rate={written_rate(self.rate_bit_per_s)}")
        if self.delay_s is not None:
            words.append(f"delay={_written(Fraction(round(self.delay_s * 1e9), 10**9), _DELAY_UNITS)}")
        return ",".join(words)


def parse_spec(text: str) -> Spec:
    """Parse a specification. Raise InputError for anything that cannot be emulated."""
    where = f"emulated cluster {text!r}"
    shape, *words = (word.strip() for word in text.split(","))
    match = _SHAPE.fullmatch(shape)
    if not match:
        raise InputError(f"{where}: {shape!r} is not a number of nodes and slots; {_FORM}")
    nodes = _between(int(match[1]), _MOST_NODES, "nodes", where)
    slots = _between(int(match[2]), _MOST_SLOTS, "slots", where)
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = (part.strip() for part in word.partition("="))
        if key not in ("rate", "delay"):
            raise InputError(f"{where}: unknown key {key!r}{suggestion(key, ('rate', 'delay'), _FORM)}")
        if not equals or key in given:
            raise InputError(f"{where}: {key} is given {'twice' if key in given else 'no value'}; {_FORM}")
        given[key] = value
    return Spec(
        nodes,
        slots,
        _rate(given["rate"], where) if "rate" in given else None,
        _delay(given["delay"], where) if "delay" in given else None,
    )


def written_rate(bit_per_s: int) -> str:
    """Return a rate as in specifications, such as "1Gbit"."""
    return _written(Fraction(bit_per_s), _RATE_UNITS)


def _between(number: int, most: int, what: str, where: str) -> int:
    if not 1 <= number <= most:
        raise InputError(f"{where}: {number} {what} cannot be emulated; take 1 to {most}")
    return number


def _rate(text: str, where: str) -> int:
    rate = _quantity(text, _RATE_UNITS, "rate", where)
    if not _LEAST_RATE <= rate <= _MOST_RATE:
        least, most = (_written(Fraction(limit), _RATE_UNITS) for limit in (_LEAST_RATE, _MOST_RATE))
        raise InputError(
            f"{where}: a rate of {text} cannot be emulated; take {least} to {most}, "
            "or leave rate out for links without a limit"
        )
    return round(rate)


def _delay(text: str, where: str) -> float | None:
    delay = _quantity(text, _DELAY_UNITS, "delay", where)
    if not 0 <= delay <= _MOST_DELAY_S:
        raise InputError(f"{where}: a delay of {text} cannot be emulated; take 0s to {_MOST_DELAY_S}s")
    return round(delay * 10**9) / 1e9 or None


def _quantity(text: str, units: Mapping[str, Fraction], key: str, where: str) -> Fraction:
    """Parse a number with a unit, exactly."""
    match = _QUANTITY.fullmatch(text)
    unit = match and {name.lower(): unit for name, unit in units.items()}.get(
        match[2].lower().replace("µ", "u")
    )
    if not match or unit is None:
        raise InputError(f"{where}: {key} {text!r} cannot be read; its units are {', '.join(units)}")
    return Fraction(match[1]) * unit


def _written(value: Fraction, units: Mapping[str, Fraction]) -> str:
    """Return a value in the largest unit that leaves at least 1 and at most three decimals: 2.5Gbit."""
    descending = sorted(units.items(), key=lambda pair: -pair[1])
    fitting = [pair for pair in descending if value >= pair[1] and (value / pair[1] * 1000).denominator == 1]
    name, unit = fitting[0] if fitting else descending[-1]
    return f"{float(value / unit):.9f}".rstrip("0").rstrip(".") + name
