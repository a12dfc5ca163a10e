"""Makes dataclasses of JSON objects; keys of later versions are ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

_T = TypeVar("_T")


def made(cls: type[_T], data: Mapping[str, Any], **parts: Any) -> _T:
    """Return a `cls` whose fields are taken from `data` and `parts`; lists become tuples."""
    names = [one.name for one in fields(cls)]  # type: ignore[arg-type]
    values = {
        name: tuple(value) if isinstance(value := data[name], list) else value
        for name in names
        if name in data and name not in parts
    }
    return cls(**values, **parts)


def each(cls: type[_T], data: Iterable[Mapping[str, Any]]) -> tuple[_T, ...]:
    """Return a `cls` made of each object."""
    return tuple(made(cls, one) for one in data)
