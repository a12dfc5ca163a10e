"""Where kiviat notes what a later kiviat may have to clean up."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    named = os.environ.get("XDG_STATE_HOME", "")
    return (Path(named) if named.startswith("/") else Path.home() / ".local/state") / "kiviat"
