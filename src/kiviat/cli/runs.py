"""`kiviat runs`: what was measured so far."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from kiviat.cli.table import print_csv, print_json, print_table
from kiviat.record import InputError
from kiviat.store import list_runs, read_run, runs_home


def execute(arguments: Namespace) -> int:
    found = [_entry(path) for path in list_runs()]
    if arguments.format == "json":
        print_json(found)
    elif arguments.format == "csv":
        print_csv(found)
    elif not found:
        print(f"no runs in {runs_home()}; `kiviat run` makes one")
    else:
        headings = ["run", "state", "plan", "cases", "launches", "machine", "MPI"]
        cells = [["–" if value is None else str(value) for value in entry.values()][:7] for entry in found]
        print_table("<<<>><<", headings, cells)
    return 0


def _entry(path: Path) -> dict[str, Any]:
    try:
        run = read_run(path)
    except InputError as error:
        return {"run": path.name, "state": f"unreadable: {error}"} | dict.fromkeys(_REST)
    plan = run["plan"] or {}
    mpis = dict.fromkeys(
        f"{launch['mpi']} {launch['mpi_version']}" for launch in run["launches"] if launch["mpi"]
    )
    return {
        "run": run["id"],
        "state": run["state"],
        "plan": plan.get("name"),
        "cases": plan.get("cases"),
        "launches": len(run["launches"]),
        "machine": run["machine"]["name"],
        "mpi": ", ".join(mpis) or None,
        "path": str(path),
    }


_REST = ("plan", "cases", "launches", "machine", "mpi", "path")
