"""The open folder of a run, which is found again after it was moved."""

from __future__ import annotations

import os
from pathlib import Path

from kiviat.record import InputError

LOST = "its records are lost, and the run ends here: start a new one"


class HeldFolder:
    """Holds the folder at `path` open; `here` is its path for this process, wherever it is moved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.here = Path(f"/proc/self/fd/{self._descriptor}")

    def refuse_vanished(self) -> None:
        """Raise InputError if the folder is no longer at `path`."""
        if is_at(self._descriptor, self.path):
            return
        now = str(self.here.readlink())
        if now.endswith(" (deleted)"):
            raise InputError(f"{self.path} was deleted while the run was going on; {LOST}")
        raise InputError(
            f"{self.path} was moved to {now} while the run was going on, so the run ends here; "
            f"finished results are kept there, and `kiviat run --resume {now}` goes on"
        )

    def close(self) -> None:
        """Close the folder."""
        os.close(self._descriptor)


def is_at(descriptor: int, path: Path) -> bool:
    """Return whether the open file or folder is the one at `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
