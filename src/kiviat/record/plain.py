"""Makes names safe for file names and job scripts, values for JSON, and digits numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import date, time
from decimal import Decimal

# 64-bit numbers have them all; Python refuses to convert thousands.
_MOST_DIGITS = 18
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def plain_name(text: str) -> str:
    """Return `text` with each run of characters other than ASCII letters, digits and "_.-" as one "-"."""
    return _NO_NAME.sub("-", text)


def plain_text(name: str) -> str:
    r"""Return the name of a file as text; bytes in it that are not UTF-8 become escapes such as \xe9."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def whole_number(text: str) -> int | None:
    """Return the number that at most 18 decimal digits, between blanks, denote; None for other text."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def json_value(value: object) -> object:
    """Return the value in terms of JSON; infinities and NaN become null, keys text."""
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(key): json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return json_value(asdict(value))
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else str(value)


def _key(key: object) -> str:
    """Return the key of a table as text; JSON has no others."""
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    return key.isoformat() if isinstance(key, date | time) else str(key)
