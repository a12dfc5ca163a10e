"""The directory of a new run, as the command line says it: below which folder, of which machine."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kiviat.cli.options.substrate import WHERE
from kiviat.launch.substrates.simulated import described_machine
from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine import describe_host
from kiviat.store import RunDirectory, runs_home


def home_of(arguments: Namespace) -> Path:
    return Path(arguments.output) if arguments.output else runs_home()


def new_run(
    arguments: Namespace,
    name: str,
    substrate: Substrate,
    *,
    plan: Mapping[str, Any] | None = None,
    watts: Mapping[str, Any] | None = None,
) -> RunDirectory:
    """`plan` and `watts`, declared ones, are as run.json holds them."""
    return RunDirectory.create(
        home_of(arguments),
        name,
        machine=_machine(arguments.machine, substrate) | ({"declared_watts": watts} if watts else {}),
        plan=plan,
        substrate=substrate.kind,
        clock=substrate.clock,
        where={name: getattr(arguments, name) for name in WHERE},
    )


def _machine(name: str | None, substrate: Substrate) -> dict[str, Any]:
    if substrate.machine:
        return {**described_machine(substrate.machine), **({"name": name} if name else {})}
    return describe_host(name or substrate.machine_name)
