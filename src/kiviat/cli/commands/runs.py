"""`kiviat runs`: lists the runs."""

from __future__ import annotations

from pathlib import Path

from kiviat.cli.options.request import RunsRequest
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import print_table
from kiviat.report.table import Column, tabled
from kiviat.store import RunSummary, runs_home, summaries

_COLUMNS: tuple[Column[tuple[Path, RunSummary]], ...] = (
    Column("run", lambda one: one[1].id, key="run"),
    Column("state", lambda one: one[1].state, key="state"),
    Column("plan", lambda one: one[1].plan, key="plan", absent="–"),
    Column("cases", lambda one: one[1].cases, "number", key="cases", absent="–"),
    Column("launches", lambda one: one[1].launches, "number", key="launches", absent="–"),
    Column("machine", lambda one: one[1].machine, key="machine", absent="–"),
    Column("MPI", lambda one: one[1].mpi, key="mpi", absent="–"),
    Column(None, lambda one: str(one[0]), key="path"),
)


def execute(request: RunsRequest) -> int:
    """Print the runs in the runs folder, with their state, plan and machine."""
    found = summaries()
    if not found and request.format == "table":
        home = runs_home().absolute()
        print(typeable(f"no runs in {home}; `kiviat run` makes one, KIVIAT_RUNS names another folder"))
    else:
        print_table(tabled("Runs", _COLUMNS, found), request.format)
    return 0
