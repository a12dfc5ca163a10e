"""Numbers in the notation of machine files."""

from __future__ import annotations

# Units of which machine files accept multiples only.
_WRITTEN = {"flop/s": (1e-9, "Gflop/s"), "s/B": (1e9, "ns/B")}


def text_of(value: float, unit: str) -> str:
    """Return the text of a value in an SI unit of kiviat.machine.modelled.quantity."""
    factor, written = _WRITTEN.get(unit, (1.0, "" if unit == "1" else unit))
    return f"{value * factor:.12g} {written}".rstrip()
