"""Plans that run several times, each time with other nodes, placement and binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kiviat.placement import parse_shape
from kiviat.record import InputError

_KEYS = ("shape", "place", "bind")


@dataclass(frozen=True)
class Arrangement:
    """`shape` is that of `-n`, as "8x2"; `place` and `bind` are those of the command line."""

    shape: str
    place: str | None = None
    bind: str | None = None

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.shape, self.place, self.bind)))


def arrangements_of(data: Mapping[str, Any], where: str) -> tuple[Arrangement, ...]:
    """Those of a plan as loaded; none where its ranks go wherever the command line says."""
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
    parse_shape(table["shape"])
    return Arrangement(**table)
