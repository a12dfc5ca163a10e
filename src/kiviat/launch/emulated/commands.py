"""System commands: their paths, and how to run them so that none outlives kiviat unnoticed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kiviat.launch.process import children
from kiviat.launch.process.processes import VARIABLE, Marker

# These folders are not on the PATH of every user, not even after `su`.
_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
# The needed commands, and the Debian packages that contain them.
PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
}


def path() -> str:
    """Return PATH with the folders of system commands after those of the user."""
    return os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM_FOLDERS])


def found(command: str) -> str | None:
    """Return the path of a command on `path()`; None if it is not installed."""
    return shutil.which(command, path=path())


def run(
    words: Sequence[str], marker: Marker, text: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a system command; it ends when kiviat does.

    A later kiviat recognises by the marker what this one has started.
    """
    variables = {"PATH": path(), "LC_ALL": "C", VARIABLE: str(marker)}
    return children.run(
        words, text=text, folder=folder, environment={**os.environ, **variables}, tie=signal.SIGKILL
    )
