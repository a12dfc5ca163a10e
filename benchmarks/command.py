"""Calls `kiviat` as a user does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def kiviat(*words: str | Path, accepted: Sequence[int] = (0,)) -> str:
    """Return the standard output of `kiviat words…`.

    Raise RuntimeError with its errors for other exit codes.
    """
    command = [program(), *map(str, words)]
    # Python's caches are kept, because a user's second command finds its modules compiled.
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode not in accepted:
        said = " / ".join(done.stderr.strip().splitlines()[-3:])
        raise RuntimeError(f"kiviat {' '.join(map(str, words))} exited with {done.returncode}: {said}")
    return done.stdout


def program() -> str:
    """Return the `kiviat` of the Python that runs this program."""
    beside = Path(sys.executable).with_name("kiviat")
    found = str(beside) if beside.exists() else shutil.which("kiviat")
    if not found:
        raise RuntimeError("kiviat is not installed in this Python; run `make bench`")
    return found
