"""Description of the host, as run.json stores it."""

from __future__ import annotations

import platform
import socket
from pathlib import Path
from typing import Any

from kiviat.machine.host.control_group import cpu_limit, memory_left
from kiviat.machine.host.files import integer, text
from kiviat.machine.host.interfaces import interfaces
from kiviat.machine.host.processor import caches, cores, model, sockets, threads
from kiviat.machine.host.virtualization import virtualization


def describe_host(name: str | None = None, root: Path = Path("/")) -> dict[str, Any]:
    """Return the host's processor, memory, system and network facts; unavailable ones are None.

    `root` is the folder that contains proc, sys and etc; tests pass other trees.
    """
    return {
        "name": name or host_name(root),
        "cpu": model(root),
        "sockets": sockets(root),
        "cores": cores(root),
        "threads": threads(root),
        "cpu_limit": cpu_limit(root),
        "memory_bytes": _memory(root),
        "caches": caches(root),
        "kernel": _kernel(root),
        "os": _os(root),
        "virtualization": virtualization(root),
        "governor": text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "interfaces": interfaces(root),
    }


def host_name(root: Path = Path("/")) -> str:
    """Return the name that the kernel has for this machine."""
    return text(root / "proc/sys/kernel/hostname") or socket.gethostname()


def available_memory_bytes(root: Path = Path("/")) -> int | None:
    """Return the memory that programs can still allocate, in bytes: what machine and control groups grant."""
    known = [left for left in (_memory(root, "MemAvailable"), memory_left(root)) if left is not None]
    return min(known, default=None)


def _memory(root: Path, field: str = "MemTotal") -> int | None:
    for line in (text(root / "proc/meminfo") or "").splitlines():
        if line.startswith(f"{field}:"):
            kibibytes = integer(line.split()[1])
            return None if kibibytes is None else kibibytes * 1024
    return None


def _kernel(root: Path) -> str | None:
    release = text(root / "proc/sys/kernel/osrelease")
    return f"Linux {release} {platform.machine()}" if release else None


def _os(root: Path) -> str | None:
    for line in (text(root / "etc/os-release") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip("\"'")
    return None
