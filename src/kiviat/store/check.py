"""Validates records against their schema: DuckDB finds violations quickly, Python locates them.

Python takes too long for a hundred thousand records. So DuckDB determines which types of values the records
contain, and which values break a condition of the schema. Only if something may be wrong is each line
validated against the schema itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kiviat.record import (
    OLDER_RECORD_SCHEMAS,
    RECORD_SCHEMA,
    UNSEALED_RECORD_SCHEMA,
    InputError,
    refuse_other_version,
    schema,
)
from kiviat.record.valid import LARGEST, SMALLEST, first_wrong, parse_json
from kiviat.store.checksum import is_intact

if TYPE_CHECKING:
    import duckdb

_KINDS: Mapping[str, tuple[str, ...]] = {
    "VARCHAR": ("string",),
    "BIGINT": ("integer", "number"),
    "UBIGINT": ("integer", "number"),
    "DOUBLE": ("number",),
    "BOOLEAN": ("boolean",),
}


def is_suspect(connection: duckdb.DuckDBPyConnection, lines: str, records: str) -> bool:
    """True if a record may violate its schema; False is certain, except for the contents of tables.

    `lines` is a relation with a column of whole lines, `records` one with their values in columns, without
    samples and tables.
    """
    whole = schema("record")
    made = connection.execute(f"SELECT DISTINCT json_structure(json) FROM {lines}").fetchall()
    try:
        if not all(_allows(whole, parse_json(structure), whole) for (structure,) in made):
            return True
    except ValueError:  # nested too deeply for Python
        return True
    wrong = (
        f"FROM {records} WHERE {_breaks(whole)}",
        f"FROM (SELECT unnest(metrics) AS m FROM {records}) WHERE {_breaks(whole['$defs']['metric'], 'm.')}",
    )
    return any(connection.execute(f"SELECT 1 {some} LIMIT 1").fetchone() for some in wrong)


def _allows(part: Mapping[str, Any], made: Any, whole: Mapping[str, Any]) -> bool:
    while "$ref" in part:
        part = whole["$defs"][part["$ref"].rsplit("/", 1)[1]]
    kinds = part.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if made == "NULL":
        return "null" in kinds or None in part.get("enum", ())
    if isinstance(made, list):  # the element type of an empty one is "NULL"
        return "array" in kinds and all(one == "NULL" or _allows(part["items"], one, whole) for one in made)
    if not isinstance(made, dict):
        # An empty object, or values of several types.
        empty = made == "JSON" and "object" in kinds and not part.get("required")
        return empty or not {*kinds}.isdisjoint(_KINDS.get(made, ()))
    known, others = part.get("properties", {}), part.get("additionalProperties")
    if "object" not in kinds or not made.keys() >= {*part.get("required", ())}:
        return False
    return all(
        _allows(known.get(key, others), one, whole) if key in known or isinstance(others, dict) else False
        for key, one in made.items()
    )


def _breaks(part: Mapping[str, Any], of: str = "") -> str:
    """Return an SQL condition that is true for values that violate the schema, apart from their types."""
    conditions = []
    for key, one in part["properties"].items():
        name, kinds = f'{of}"{key}"', one.get("type", "string")
        words = one.get("enum", [one["const"]] if "const" in one else None)
        if key == "tables":
            continue
        if "properties" in one:
            conditions.append(_breaks(one, f"{name}."))
        if key in part["required"] and "null" not in kinds and None not in (words or ()):
            conditions.append(f"{name} IS NULL")
        if words is not None:
            listed = ", ".join(f"'{word}'" for word in words if word is not None)
            conditions.append(f"{name} NOT IN ({listed})")
        if "minimum" in one:
            conditions.append(f"{name} < {one['minimum']}")
        if "maximum" in one:
            conditions.append(f"{name} > {one['maximum']}")
        if "number" in kinds:
            conditions.append(f"{name} <> 0 AND NOT abs({name}) BETWEEN {SMALLEST} AND {LARGEST}")
    return " OR ".join(conditions)


# Beginning of lines without checksum. DuckDB validates their content a hundred times faster than Python.
_OLDER = f'{{"schema":"{UNSEALED_RECORD_SCHEMA}"'.encode()


class Checked(NamedTuple):
    """The number of lines of an older version, without checksum, and the bytes of the longest line."""

    unverified: int
    longest: int


def refuse_damaged(readable: Path, name: Path) -> Checked:
    """Raise InputError for the first line that was altered or is not a record."""
    unverified = longest = 0
    with readable.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not is_intact(line):
                refuse_damaged_line(line, name, number)
                unverified += 1
            longest = max(longest, len(line))
    return Checked(unverified, longest)


def refuse_damaged_line(line: bytes, name: Path, number: int) -> None:
    """Check a line without a valid checksum: it may be of an older version, or blank."""
    older = line.startswith(_OLDER) and b'"crc32"' not in line[-40:]
    if line.strip() and not older:
        refuse_bad_line(line, name, number)


def refuse_bad_line(line: bytes, name: Path, number: int) -> None:
    """Raise InputError, with the reason, if a line is not a valid record."""
    if reason := _reason(line):
        raise InputError(f"{name} line {number}: {reason}")


def first_bad_line(readable: Path, name: Path) -> str | None:
    """Return, in one line about the file `name`, the first line that is not a record, and why."""
    with readable.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if reason := _reason(line):
                return f"{name} line {number}: {reason}"
    return None


def _reason(line: bytes) -> str | None:
    try:
        data = parse_json(line)
    except ValueError:
        return "not JSON; the file is damaged or kiviat did not write it"
    if not isinstance(data, dict):
        return f"{type(data).__name__} instead of a record; kiviat did not write the file"
    try:
        refuse_other_version(data.get("schema"), RECORD_SCHEMA, OLDER_RECORD_SCHEMAS)
    except InputError as error:
        return str(error)
    if wrong := first_wrong(data, "record") or _misshapen(data["tables"]):
        return f"{wrong}; the file is damaged or kiviat did not write it"
    if is_intact(line) or (data["schema"] == UNSEALED_RECORD_SCHEMA and "crc32" not in data):
        return None
    return (
        f"its checksum is {data.get('crc32', 'missing')}, which is not that of the line: it was damaged or "
        "edited after it was written; take the file from a copy, or delete the line"
    )


def _misshapen(tables: Sequence[Mapping[str, Any]]) -> str | None:
    for at, table in enumerate(tables):
        cells = prod(len(axis["values"]) for axis in table["axes"])
        if len(table["values"]) != cells:
            return f"tables[{at}].values has {len(table['values'])}, where the axes have {cells}"
    return None
