"""`kiviat runs`: lists the runs."""

from __future__ import annotations

from typing import Any

from kiviat.cli.options.request import RunsRequest
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import print_csv, print_json, print_table
from kiviat.store import RunSummary, runs_home, summaries


def execute(request: RunsRequest) -> int:
    """Print the runs in the runs folder, with their state, plan and machine."""
    found = [{**_entry(summary), "path": str(path)} for path, summary in summaries()]
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


def _entry(run: RunSummary) -> dict[str, Any]:
    return {
        "run": run.id,
        "state": run.state,
        "plan": run.plan,
        "cases": run.cases,
        "launches": run.launches,
        "machine": run.machine,
        "mpi": run.mpi,
    }
