"""`kiviat runs`: lists the runs."""

from __future__ import annotations

from typing import Any

from kiviat.cli.options.request import RunsRequest
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import print_csv, print_json, print_table
from kiviat.record.run import Run
from kiviat.store import each_run, runs_home


def execute(request: RunsRequest) -> int:
    """Print the runs in the runs folder, with their state, plan and machine."""
    found = [{**entry, "path": str(path)} for path, entry in each_run(_entry)]
    if request.format == "json":
        print_json(found)
    elif request.format == "csv":
        print_csv(found)
    elif not found:
        print(typeable(f"no runs in {runs_home()}; `kiviat run` makes one"))
    else:
        headings = ["run", "state", "plan", "cases", "launches", "machine", "MPI"]
        cells = [["–" if value is None else str(value) for value in entry.values()][:7] for entry in found]
        print_table("<<<>><<", headings, cells)
    return 0


def _entry(run: Run) -> dict[str, Any]:
    return {
        "run": run.id,
        "state": run.state,
        "plan": run.plan and run.plan.name,
        "cases": run.plan and run.plan.cases,
        "launches": len(run.launches),
        "machine": run.machine.name,
        "mpi": ", ".join(run.mpis) or None,
    }
