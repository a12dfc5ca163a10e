"""Network interfaces that are up and could carry MPI messages, and InfiniBand ports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kiviat.machine.host.files import integer, text

_LOOPBACK, _ETHERNET, _INFINIBAND = "772", "1", "32"


def interfaces(root: Path) -> list[dict[str, Any]]:
    """Return network interfaces, then InfiniBand ports, as in run.json."""
    return [*_network(root), *_infiniband(root)]


def _network(root: Path) -> list[dict[str, Any]]:
    networks = []
    for folder in sorted((root / "sys/class/net").glob("*")):
        kind = text(folder / "type")
        if kind is None or kind == _LOOPBACK or text(folder / "operstate") == "down":
            continue
        networks.append(
            {"name": folder.name, "kind": _kind(folder, kind), "speed_bits_per_s": _speed(folder)}
        )
    return networks


def _kind(folder: Path, kind: str) -> str:
    if kind == _INFINIBAND:
        return "IP over InfiniBand"
    if kind != _ETHERNET:
        return f"network type {kind}"
    return "Ethernet" if (folder / "device").exists() else "virtual Ethernet"


def _speed(folder: Path) -> int | None:
    """Return the speed in bit/s; None for virtual interfaces and those that are down (-1 or a read error)."""
    megabits = integer(text(folder / "speed"))
    return megabits * 10**6 if megabits is not None and megabits > 0 else None


def _infiniband(root: Path) -> list[dict[str, Any]]:
    ports = []
    for port in sorted((root / "sys/class/infiniband").glob("*/ports/*")):
        if (text(port / "state") or "").startswith("1:"):
            continue  # down
        rate = re.match(r"([\d.]+) Gb/sec", text(port / "rate") or "")
        ports.append(
            {
                "name": f"{port.parents[1].name}/{port.name}",
                "kind": text(port / "link_layer") or "InfiniBand",
                "speed_bits_per_s": round(float(rate[1]) * 1e9) if rate else None,
            }
        )
    return ports
