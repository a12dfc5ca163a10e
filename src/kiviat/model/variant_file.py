"""Writes a machine file that is a variant of another: the base, and the numbers that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kiviat.machine.modelled.machine import Machine
from kiviat.model.changes import SOURCE
from kiviat.model.numbers import quoted

_FITTED = "fit"


def variant_file(
    base: Machine, name: str, changes: Mapping[str, Any], source: str, calibrated_on: Sequence[str]
) -> str:
    """Return the text of `name`.toml. `changes` are those of kiviat.model.changes; `source` is their source.

    `calibrated_on` are the published rows that it was fitted to, if any, besides those of the base.
    """
    lines = ['schema = "kiviat.machine/1"', f"name = {quoted(name)}", f"base = {quoted(base.name)}"]
    lines += [f"summary = {quoted(f'{base.name}, fitted by `kiviat model fit --published`')}", "version = 1"]
    if calibrated_on:
        rows = dict.fromkeys((*base.calibrated_on, *calibrated_on))
        lines.append(f"calibrated_on = [{', '.join(map(quoted, rows))}]")
    else:
        lines.append(f"uncalibrated = {quoted(source)}")
    names = (f"{{ machine = {quoted(one)}, mode = {quoted(mode)} }}" for one, mode in base.published)
    lines += [f"published = [{', '.join(names)}]", "", "[sources]", f"{_FITTED} = {quoted(source)}"]
    for table, value in changes.items():
        if table != "sources":
            lines += _table(table, value)
    return "\n".join(lines) + "\n"


def _table(place: str, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table, its numbers first, then the tables and segments in it."""
    yield from ("", f"[{place}]")
    for key, one in value.items():
        if not isinstance(one, list) and not (isinstance(one, dict) and "value" not in one):
            yield f"{key} = {_value(one)}"
    for key, one in value.items():
        if isinstance(one, dict) and "value" not in one:
            yield from _table(f"{place}.{key}", one)
        elif isinstance(one, list):
            for segment in one:
                yield from (
                    "",
                    f"[[{place}.{key}]]",
                    *(f"{name} = {_value(of)}" for name, of in segment.items()),
                )


def _value(value: Any) -> str:
    if not isinstance(value, dict):
        return quoted(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    fitted = value["source"] in (SOURCE, [SOURCE])
    given = {**value, "source": _FITTED, "confidence": "calibrated"} if fitted else value
    return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in given.items()) + " }"
