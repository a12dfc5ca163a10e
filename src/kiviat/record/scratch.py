"""Temporary folders, which are removed even if this process is killed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

# The process that watches kiviat (launch.process.children.Sentinel) is forked from it and inherits this name.
_OURS = f"kiviat-{os.urandom(6).hex()}-"


def scratch_folder() -> TemporaryDirectory[str]:
    """Return a new temporary folder, a context that removes it at its end."""
    return TemporaryDirectory(prefix=_OURS)


def remove_scratch_folders() -> None:
    """Remove all scratch folders of this process, or of the one that it was forked from."""
    for path in Path(gettempdir()).glob(f"{_OURS}*"):
        shutil.rmtree(path, ignore_errors=True)
