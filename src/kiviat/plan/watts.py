"""Declared power for machines without readable counters: "115/node", "95/socket"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from kiviat.record import InputError

_WATTS = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?W?/(node|socket)")
WANTED = "watts per node or per socket, such as 115/node or 95/socket"


@dataclass(frozen=True)
class Watts:
    """Power of a node or of each of its sockets, in watts."""

    watts: float
    per: Literal["node", "socket"]

    @classmethod
    def parse(cls, text: str) -> Watts:
        """Return the power that a text such as "115/node" declares. Raise InputError for any other text."""
        match = _WATTS.fullmatch(text.strip())
        if match is None or float(match[1]) <= 0:
            raise InputError(f"--watts {text!r}: give {WANTED}")
        return cls(float(match[1]), cast(Literal["node", "socket"], match[2]))

    def control(self) -> str:
        """Return the text for the native program."""
        return f"{f'{self.watts:f}'.rstrip('0').rstrip('.')}/{self.per}"

    def of_node(self, sockets: int) -> Watts:
        """Return the power in watts of a node with this number of sockets."""
        return self if self.per == "node" else Watts(self.watts * sockets, "node")

    def to_json(self, source: str) -> dict[str, Any]:
        """Return the entry in run.json; `source` says where the power was declared."""
        return {"value": self.watts, "per": self.per, "source": source}


def makes_sense(value: object) -> bool:
    """True if a control's value is a power without blanks and units, as the native program reads it."""
    try:
        plain = isinstance(value, str) and not any(one.isspace() or one == "W" for one in value)
        return plain and bool(Watts.parse(str(value)))
    except InputError:
        return False
