"""Finds the known name nearest to an unknown one, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, ignoring case; None if none is similar."""
    lowered: dict[str, str] = {}
    for other in known:
        lowered.setdefault(other.lower(), other)
    near = get_close_matches(name.lower(), lowered, n=1)
    return lowered[near[0]] if near else None


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the end of a message about an unknown name: the nearest known name, or else `otherwise`."""
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else f"; {otherwise}"
