"""Makes names safe for file names and job scripts."""

from __future__ import annotations

import re

_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def plain_name(text: str) -> str:
    """Return `text` with each run of characters other than ASCII letters, digits and "_.-" as one "-"."""
    return _NO_NAME.sub("-", text)
