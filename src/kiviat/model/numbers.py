"""Numbers and texts in the notation of machine files."""

from __future__ import annotations

import json

# Units of which machine files accept multiples only.
_WRITTEN = {"flop/s": (1e-9, "Gflop/s"), "s/B": (1e9, "ns/B")}


def text_of(value: float, unit: str) -> str:
    """Return the text of a value in an SI unit of kiviat.machine.modelled.quantity."""
    factor, written = _WRITTEN.get(unit, (1.0, "" if unit == "1" else unit))
    return f"{value * factor:.12g} {written}".rstrip()


def quoted(text: str) -> str:
    """Return a TOML string; JSON's differs only in one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
