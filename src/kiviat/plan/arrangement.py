"""Arrangements: nodes, placement and binding of a plan that runs several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kiviat.placement import parse_shape
from kiviat.record import InputError

_KEYS = ("shape", "place", "bind")


@dataclass(frozen=True)
class Arrangement:
    """`shape` as for `-n`, such as "8x2" or "4x2,8x2"; `place` and `bind` as on the command line."""

    shape: str
    place: str | None = None
    bind: str | None = None

    @property
    def name(self) -> str:
        """The given ones of shape, placement and binding, joined by hyphens."""
        return "-".join(filter(None, (self.shape.replace(",", "-"), self.place, self.bind)))


def arrangements_of(data: Mapping[str, Any], where: str) -> tuple[Arrangement, ...]:
    """Return the arrangements of a loaded plan, empty if it has none; InputError if one is invalid."""
    tables: Sequence[Any] = data.get("arrangements", ())
    return tuple(_arrangement(table, f"{where}, arrangements[{index}]") for index, table in enumerate(tables))


def _arrangement(table: Any, where: str) -> Arrangement:
    if not isinstance(table, dict) or not table.get("shape"):
        raise InputError(f'{where} is {table!r}; write a table with a shape, as {{ shape = "8x2" }}')
    for key, value in table.items():
        if key not in _KEYS:
            raise InputError(f"unknown key {key!r} in {where}; known: {', '.join(_KEYS)}")
        if not isinstance(value, str):
            raise InputError(f"{key} is {value!r} in {where}; give text")
    parse_shape(table["shape"], f"{where}: shape")
    return Arrangement(**table)
