"""Names chosen by others, made safe for file names and job scripts."""

from __future__ import annotations

import re

_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def plain_name(text: str) -> str:
    """`text` with one "-" for each row of characters other than ASCII letters, digits, "_", "." and "-"."""
    return _NO_NAME.sub("-", text)
