"""Permitted outcomes of a fault, read from expected.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("expected.toml")


@dataclass(frozen=True)
class Expected:
    codes: tuple[int, ...]
    words: str | None
    failed: bool

    def silence(self, code: int, said: str) -> bool:
        """Return whether an error ended the command without the message that it should have printed."""
        return code != 0 and self.words is not None and not said.strip()

    def wrong_words(self, code: int, said: str) -> bool:
        return code != 0 and self.words is not None and not re.search(self.words, said)


def expected(kind: str, target: str, phase: str) -> Expected:
    """Return the row for a fault of this kind, target and phase."""
    asked = {"kinds": kind, "targets": target, "phases": phase}
    row = next(row for row in _rows() if all(word in row.get(name, [word]) for name, word in asked.items()))
    return Expected(tuple(row["codes"]), row.get("words"), row.get("failed", False))


@cache
def _rows() -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = tomllib.loads(_FILE.read_text())["expected"]
    return rows
