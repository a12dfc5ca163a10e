"""Commands in messages, in a form that the user can type."""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


def typeable(text: str) -> str:
    """Return the text with `kiviat …` as this process was called.

    By its path unless it is the one on PATH.
    """
    return text.replace("`kiviat ", f"`{_called()} ")


@cache
def _called() -> str:
    called = Path(sys.argv[0])
    if called.name != "kiviat":  # called by python -m
        return "kiviat"
    with suppress(OSError):
        found = shutil.which("kiviat")
        if found and called.samefile(found):
            return "kiviat"
    return shlex.quote(sys.argv[0])
