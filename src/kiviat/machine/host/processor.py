"""Processors, cores, hardware threads and caches of the CPUs that are online."""

from __future__ import annotations

import re
from pathlib import Path

from kiviat.machine.host.files import count, integer, text

_CPUS = "sys/devices/system/cpu"
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def model(root: Path) -> str | None:
    """Return the processor's name.

    Its key in /proc/cpuinfo differs between x86 and POWER; Arm has numbers only.
    """
    information = text(root / "proc/cpuinfo") or ""
    for pattern in (r"^model name\s*:\s*(.+)$", r"^cpu\s*:\s*(.+)$", r"^Model\s*:\s*(.+)$"):
        if match := re.search(pattern, information, re.MULTILINE):
            return " ".join(match[1].split())
    implementer = re.search(r"^CPU implementer\s*:\s*(\S+)$", information, re.MULTILINE)
    part = re.search(r"^CPU part\s*:\s*(\S+)$", information, re.MULTILINE)
    return f"Arm implementer {implementer[1]} part {part[1]}" if implementer and part else None


def sockets(root: Path) -> int | None:
    """Return the number of sockets with an online CPU; None if the kernel does not report it."""
    return len({package for package, _ in _topology(root)}) or None


def cores(root: Path) -> int | None:
    """Return the number of cores with an online CPU; None if the kernel does not report it."""
    return len(_topology(root)) or None


def threads(root: Path) -> int | None:
    """Return the number of online CPUs (hardware threads); None if the kernel does not report it."""
    return count(text(root / _CPUS / "online")) or len(_cpus(root)) or None


def caches(root: Path) -> list[dict[str, int]]:
    """Return the data and unified caches of the first CPU by level: level, bytes and CPUs that share it."""
    data_caches = []
    for folder in sorted((root / _CPUS / "cpu0/cache").glob("index*")):
        level = integer(text(folder / "level"))
        size = _size(text(folder / "size"))
        if level is not None and size is not None and text(folder / "type") in ("Data", "Unified"):
            shared = count(text(folder / "shared_cpu_list")) or 1
            data_caches.append({"level": level, "bytes": size, "shared_by": shared})
    return sorted(data_caches, key=lambda cache: cache["level"])


def _cpus(root: Path) -> list[Path]:
    return sorted((root / _CPUS).glob("cpu[0-9]*"))


def _topology(root: Path) -> set[tuple[str, str]]:
    """Return the (socket, core) pairs of all online CPUs; offline ones have no topology."""
    pairs = set()
    for cpu in _cpus(root):
        package = text(cpu / "topology/physical_package_id")
        # Arm's clusters each begin with core 0, in one package.
        core = text(cpu / "topology/thread_siblings_list") or text(cpu / "topology/core_id")
        if package is not None and core is not None:
            # Arm's firmware may omit the package: -1 on all CPUs, which is one socket.
            pairs.add((package, core))
    return pairs


def _size(word: str | None) -> int | None:
    match = re.fullmatch(r"(\d+)([KMG]?)", word or "")
    return int(match[1]) * _UNITS.get(match[2], 1) if match else None
