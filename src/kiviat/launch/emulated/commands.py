"""System commands: where they are, and how they run so that none outlives us unnoticed."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kiviat.launch.processes import VARIABLE, Marker

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
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
    return os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM_FOLDERS])


def found(command: str) -> str | None:
    return shutil.which(command, path=path())


def run(
    words: Sequence[str], marker: Marker, text: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Ends with us, and a later kiviat recognises by the marker what it has started itself.

    In a session of its own, so that Ctrl-C reaches us alone.
    """
    parent = os.getpid()

    def die_with_parent() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return subprocess.run(
        words,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=folder,
        env={**os.environ, "PATH": path(), "LC_ALL": "C", VARIABLE: str(marker)},
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
