"""The folder with notes about what a later kiviat process may have to clean up."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any


def state_folder() -> Path:
    """Return kiviat's folder in XDG_STATE_HOME, or in ~/.local/state if that is unset or relative."""
    named = os.environ.get("XDG_STATE_HOME", "")
    return (Path(named) if named.startswith("/") else Path.home() / ".local/state") / "kiviat"


def read_note(file: Path) -> Any:
    """Return the JSON content of a note that this user's kiviat has written.

    Raise OSError or ValueError if it cannot be read or belongs to another user, who must not decide what is
    removed or ended.
    """
    with file.open(encoding="utf-8") as stream:
        if os.fstat(stream.fileno()).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "written by another user", str(file))
        return json.load(stream)
