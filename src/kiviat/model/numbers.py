"""Numbers as machine files write them."""

from __future__ import annotations

# Of these the files know only multiples.
_WRITTEN = {"flop/s": (1e-9, "Gflop/s"), "s/B": (1e9, "ns/B")}


def text_of(value: float, unit: str) -> str:
    """A value in one of the SI units of kiviat.machine.modelled.quantity, such that it can be read again."""
    factor, written = _WRITTEN.get(unit, (1.0, "" if unit == "1" else unit))
    return f"{value * factor:.12g} {written}".rstrip()
