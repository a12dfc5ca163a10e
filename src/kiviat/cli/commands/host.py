"""`kiviat host`: prints the facts about this machine that run.json records."""

from __future__ import annotations

from typing import Any

from kiviat.cli.options.request import HostRequest
from kiviat.cli.text.table import print_csv, print_json
from kiviat.machine import describe_host
from kiviat.record.units import UNAVAILABLE, counted, format_bytes


def execute(request: HostRequest) -> int:
    """Print the facts about this machine."""
    facts = describe_host()
    if request.format == "csv":
        print_csv([facts])
        return 0
    if request.format == "json":
        print_json(facts)
        return 0
    for name, fact in _words(facts).items():
        print(f"{name:16}{UNAVAILABLE if fact is None else fact}")
    return 0


def _words(facts: dict[str, Any]) -> dict[str, Any]:
    caches = (
        f"L{cache['level']} {format_bytes(cache['bytes'])} for {counted(cache['shared_by'], 'thread')}"
        for cache in facts["caches"]
    )
    interfaces = (
        f"{interface['name']} ({interface['kind']}, {_speed(interface['speed_bits_per_s'])})"
        for interface in facts["interfaces"]
    )
    return {
        "name": facts["name"],
        "processor": facts["cpu"],
        "sockets": facts["sockets"],
        "cores": facts["cores"],
        "threads": facts["threads"],
        "processor limit": "none" if facts["cpu_limit"] is None else f"{facts['cpu_limit']:g} CPUs",
        "memory": None if facts["memory_bytes"] is None else format_bytes(facts["memory_bytes"]),
        "caches": ", ".join(caches) or None,
        "system": facts["os"],
        "kernel": facts["kernel"],
        "virtualization": facts["virtualization"],
        "governor": facts["governor"],
        "interfaces": ", ".join(interfaces) or None,
    }


def _speed(bits_per_s: int | None) -> str:
    return f"speed {UNAVAILABLE}" if bits_per_s is None else f"{bits_per_s / 1e9:g} Gbit/s"
