"""Checks that this process may create a cluster and that the system has the commands and devices for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from kiviat.launch.emulated import commands
from kiviat.record import InputError

# Bit numbers from linux/capability.h.
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
_STATUS = Path("/proc/self/status")


def refuse_without_rights(found: Callable[[str], str | None] = commands.found) -> None:
    """Raise InputError that names what is missing, before anything is created."""
    if lacking := _lacking_capabilities():
        raise InputError(
            f"an emulated cluster needs the rights of root, and this process (user {os.geteuid()}) lacks "
            f"{' and '.join(lacking)}; run it as root or by sudo, in a container as a privileged one"
        )
    missing = [command for command in commands.PACKAGES if not found(command)]
    if missing:
        packages = dict.fromkeys(commands.PACKAGES[command] for command in missing)
        raise InputError(
            f"an emulated cluster needs {', '.join(missing)}, which this machine lacks; "
            f"install them (Debian: `apt install {' '.join(packages)}`)"
        )


def _lacking_capabilities() -> list[str]:
    """Return the capabilities that commands started by kiviat would lack.

    Root's commands have its effective capabilities, those of other users the ambient ones only.
    """
    kind = "CapEff" if os.geteuid() == 0 else "CapAmb"
    held = re.search(rf"^{kind}:\s*([0-9a-f]+)", _STATUS.read_text(), re.MULTILINE)
    bits = int(held[1], 16) if held else 0
    return [name for name, bit in _CAPABILITIES.items() if not bits >> bit & 1]
