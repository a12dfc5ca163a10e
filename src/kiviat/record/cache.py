"""The user's cache folder: builds of the native program, and data that can be computed again from runs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path:
    """Return kiviat's folder in XDG_CACHE_HOME, or in ~/.cache if that is unset or relative."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named.startswith("/") else Path.home() / ".cache") / "kiviat"


def replace_cached(file: Path, content: bytes) -> bool:
    """Replace a file of the cache as a whole by renaming, and return whether that was possible."""
    draft = file.with_name(f".{file.name}-{os.urandom(8).hex()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            draft.write_bytes(content)
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
        return True
    return False
