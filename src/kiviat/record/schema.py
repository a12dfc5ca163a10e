"""JSON Schemas, the versions that this kiviat reads, and refusal of all others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kiviat.record.errors import InputError

RECORD_SCHEMA = "kiviat.record/4"
UNSEALED_RECORD_SCHEMA = "kiviat.record/1"  # without checksums
# Some of their metrics have other names (earlier_metrics.py).
RENAMED_RECORD_SCHEMAS = (UNSEALED_RECORD_SCHEMA, "kiviat.record/2")
# Without `activity` and `disturbed`, like those.
OLDER_RECORD_SCHEMAS = (*RENAMED_RECORD_SCHEMAS, "kiviat.record/3")
RUN_SCHEMA = "kiviat.run/2"
OLDER_RUN_SCHEMAS = ("kiviat.run/1",)  # without the activity of launches


def data_path(name: str) -> Path:
    """Return a folder of the package's data, such as native, machines, plans or schema.

    In an installed package it is in `kiviat/data`, in a checkout at the root.
    """
    package = Path(__file__).resolve().parents[1]
    installed = package / "data" / name
    return installed if installed.exists() else package.parents[1] / name


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema `name` ("record", "run", "plan", "study" or "published")."""
    loaded: dict[str, Any] = json.loads((data_path("schema") / f"{name}.schema.json").read_text())
    return loaded


def refuse_other_version(seen: object, expected: str, older: Sequence[str] = ()) -> None:
    """Raise InputError, naming both versions, unless `seen` is `expected` or one of `older`."""
    if seen is None:
        raise InputError(f"it has no schema, but {expected!r} is expected; kiviat did not write it")
    if seen not in (expected, *older):
        raise InputError(
            f"schema {seen!r} cannot be read: this version of kiviat reads {expected!r}; "
            "use the kiviat that wrote it, or export from there"
        )
