"""Fabricated run.json files of simulated runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kiviat.record.run import Run

from .synthetic import make_run_json

SIMULATED: Mapping[str, Any] = {"substrate": "simulated", "clock": "simulated"}
ONCE: Mapping[str, Any] = {**SIMULATED, "mode": "once", "stopped_by": "fixed", "check": "not run"}


def model(name: str = "catapult", **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "title": "Catapult, a cluster that never was",
        "summary": "12 nodes of six cores",
        "version": 3,
        "hash": "a1b2c3d4e5f6" + "0" * 52,
        "base": None,
        "uncalibrated": None,
        "calibrated_on": ["X-001", "X-002"],
        "assumed": ["memory.passes"],
        "losses": [],
        "open_questions": [],
        "published": [],
        "collectives": "mpich",
        "nodes": 12,
        "sockets": 1,
        "cores": 6,
        "link_bandwidth": 2e9,
        "hop_s": 3e-8,
        "topology": {"kind": "kautz", "parameters": {"degree": [3], "diameter": [2]}},
    } | changes


def simulated_run_json(run: str = "sim", launches: int = 1, **changes: Any) -> dict[str, Any]:
    """Return the run.json of a simulated run; `changes` replaces fields of the model."""
    of_model = model(**changes)
    machine = {
        **make_run_json()["machine"],
        "name": f"simulated:{of_model['name']}",
        "cpu": of_model["title"],
        "virtualization": "simulated",
        "interfaces": [],
        "model": of_model,
    }
    launch = {
        "mpi": "SimGrid SMPI",
        "mpi_version": "3.32",
        "transport": {"near": None, "far": None, "fallback_to_tcp": None, "evidence": "modelled"},
        "placement": {"policy": "blocked", "binding": "core", "nodes": [0, 0, 1, 1], "differences": []},
    }
    return make_run_json(run, machine=machine, launches=launches, launch=launch, **SIMULATED)


def simulated_run(*arguments: Any, **changes: Any) -> Run:
    """Parse `simulated_run_json` into a `Run`."""
    return Run.from_json(simulated_run_json(*arguments, **changes))
