"""System commands: where they are, and how they run so that none outlives us unnoticed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kiviat.launch.process import children
from kiviat.launch.process.processes import VARIABLE, Marker

# Not on the PATH of every user, not even of one who became root by `su`.
_SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
# The commands needed, and Debian's packages that have them.
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
    """Ends with us, and a later kiviat recognises by the marker what it has started itself."""
    variables = {"PATH": path(), "LC_ALL": "C", VARIABLE: str(marker)}
    return children.run(
        words, text=text, folder=folder, environment={**os.environ, **variables}, tie=signal.SIGKILL
    )
