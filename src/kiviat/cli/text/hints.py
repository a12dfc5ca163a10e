"""Commands in what kiviat says, as the user can type them."""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path


def typeable(text: str) -> str:
    """The text, with its `kiviat …` called as this one was: by its path, unless it is the one on PATH."""
    return text.replace("`kiviat ", f"`{_called()} ")


@cache
def _called() -> str:
    called = Path(sys.argv[0])
    if called.name != "kiviat":  # python -m
        return "kiviat"
    with suppress(OSError):
        found = shutil.which("kiviat")
        if found and called.samefile(found):
            return "kiviat"
    return shlex.quote(sys.argv[0])
