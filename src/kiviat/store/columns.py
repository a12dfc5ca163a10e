"""DuckDB columns for kiviat's files, generated from the JSON Schemas.

DuckDB's inference examines the first rows only and then corrupts later ones without an error: a fraction
becomes an integer, a new key is lost. So types are never inferred.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from kiviat.record import schema

_SCALARS = {"string": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}


@cache
def columns(name: str, without: Collection[str] = frozenset()) -> dict[str, str]:
    """Return DuckDB types by column name for the schema `name`, without the properties in `without`."""
    whole = schema(name)
    return {
        key: _type(part, whole, without) for key, part in whole["properties"].items() if key not in without
    }


def sql_columns(types: Mapping[str, str]) -> str:
    """Return the `columns` argument of read_json."""
    return "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in types.items()) + "}"


def _type(part: Mapping[str, Any], whole: Mapping[str, Any], without: Collection[str]) -> str:
    if "$ref" in part:
        return _type(whole["$defs"][part["$ref"].rsplit("/", 1)[1]], whole, without)
    kind = _kind(part)
    if kind == "array":
        return _type(part["items"], whole, without) + "[]"
    if kind == "object":
        inner = part.get("properties")
        if not inner or part.get("additionalProperties") is True:  # a STRUCT would drop other keys
            return "JSON"
        fields = (f'"{key}" {_type(one, whole, without)}' for key, one in inner.items() if key not in without)
        return f"STRUCT({', '.join(fields)})"
    return _SCALARS[kind]


def _kind(part: Mapping[str, Any]) -> str:
    kinds = part.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return "number" if "number" in kinds else str(kinds[0])
