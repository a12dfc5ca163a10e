"""Creates the directory of a new run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.cli.options.request import RunRequest
from kiviat.launch.substrates.simulated import described_machine, refuse_blanks
from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine import describe_host
from kiviat.store import RunDirectory, runs_home


def home_of(output: str | None) -> Path:
    """Return the folder for new runs: that of `-o`, or the default one."""
    return Path(output) if output else runs_home()


def new_run(
    request: RunRequest,
    name: str,
    substrate: Substrate,
    *,
    plan: Mapping[str, Any] | None = None,
    watts: Mapping[str, Any] | None = None,
    benchmarks: Mapping[str, Any] | None = None,
) -> RunDirectory:
    """Create the directory of a new run in the requested folder, for the requested machine.

    `plan`, declared `watts` and `benchmarks` are in the form of run.json. Raise InputError if a simulation
    cannot run in the folder.
    """
    if substrate.machine:
        refuse_blanks(home_of(request.output).absolute())
    return RunDirectory.create(
        home_of(request.output),
        name,
        machine=_machine(request.machine, substrate) | ({"declared_watts": watts} if watts else {}),
        plan=plan,
        substrate=substrate.kind,
        clock=substrate.clock,
        benchmarks=benchmarks,
        where=asdict(request.where),
    )


def _machine(name: str | None, substrate: Substrate) -> dict[str, Any]:
    if substrate.machine:
        return {**described_machine(substrate.machine), **({"name": name} if name else {})}
    return describe_host(name or substrate.machine_name)
