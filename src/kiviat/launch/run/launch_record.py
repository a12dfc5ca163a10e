"""What is known of a launch: before it starts, and as `run.json` holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.vendors import vendors
from kiviat.launch.run.events import Event
from kiviat.launch.run.program import Program
from kiviat.launch.substrates.substrate import Start
from kiviat.placement import differences
from kiviat.record import InputError

_UNKNOWN_MPI = "unknown MPI"  # native/platform/vendor.hpp, of headers that it does not know


@dataclass(frozen=True)
class Setting:
    """What is known before the launch starts. `environment` is what we set, beside that of the user."""

    index: int
    repetition: int
    world: int
    folder: Path
    substrate: str
    start: Start
    command: tuple[str, ...]
    environment: Mapping[str, str]
    user_environment: Mapping[str, str]
    toolchain: Toolchain
    transport: Mapping[str, Any]
    oversubscribed: bool
    run: str
    plan: str
    timeout_s: float | None


def described(setting: Setting) -> dict[str, Any]:
    """The launch as `run.json` holds it. What only kiviat-bench can say is null."""
    return {
        "index": setting.index,
        "repetition": setting.repetition,
        "command": list(setting.command),
        "environment": {**setting.user_environment, **setting.environment},
        "started": now(),
        "ended": None,
        "exit": None,
        "outcome": "running",
        "reason": None,
        "mpi": None,
        "mpi_version": None,
        "library": None,
        "embedded": setting.toolchain.embedded,
        "toolchain": setting.toolchain.to_json(),
        "compiler": None,
        "flags": None,
        "transport": dict(setting.transport),
        "world": None,
        "ranks": [],
        "placement": _asked(setting.start),
        "clock_cost_s": None,
        "oversubscribed": setting.oversubscribed,
    }


def said(setting: Setting, event: Event) -> dict[str, Any]:
    """What the launch event adds to it."""
    names = ("mpi", "mpi_version", "library", "compiler", "flags", "world", "ranks", "clock_cost_s")
    layout = setting.start.layout
    placement = _asked(setting.start)
    if layout is not None and placement is not None:
        placement["differences"] = differences(layout, event.get("ranks", []))
    told = {name: event.get(name) for name in names}
    if told["mpi"] == _UNKNOWN_MPI:
        told |= {"mpi": setting.toolchain.vendor.title, "mpi_version": setting.toolchain.version}
    return {
        **told,
        "placement": placement,
        "oversubscribed": setting.oversubscribed or bool(event.get("oversubscribed")),
    }


def _asked(start: Start) -> dict[str, Any] | None:
    """The placement asked for; None where the launcher decides."""
    if start.layout is None:
        return None
    return {
        "policy": start.layout.policy,
        "binding": start.layout.binding,
        "nodes": [place.node for place in start.layout.places],
        "differences": None,
    }


def refuse_wrong_mpi(setting: Setting, program: Program, event: Event) -> None:
    """The launcher of another MPI starts N worlds of one rank, without any error."""
    toolchain = setting.toolchain
    library = str(event.get("library") or "an unknown MPI")
    first_line = library.partition("\n")[0].strip()
    if event.get("world") != setting.world:
        raise InputError(
            f"{setting.command[0]} started {setting.world} ranks, but {program.name} sees "
            f"{event.get('world')} ({first_line}): launcher and {program.path} are not of one MPI; "
            "choose with --mpi"
        )
    for vendor in vendors().values():
        if vendor.library_marker in library and toolchain.vendor.library_marker not in library:
            raise InputError(
                f"{program.name} was built with {toolchain.mpicxx} ({toolchain.name}), but loads "
                f"{first_line}; see LD_LIBRARY_PATH and LD_PRELOAD"
            )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
