"""The end of a run: what was found, where the results are, and the report."""

from __future__ import annotations

import sys
from pathlib import Path

from kiviat.analysis.findings import findings, top
from kiviat.analysis.grids import grids
from kiviat.analysis.summary import summarise
from kiviat.cli.report import write_report
from kiviat.cli.words import failures
from kiviat.record.units import counted
from kiviat.store import call_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables

_MOST_IMPORTANT = 3


def print_verdict(path: Path, report: Path | None) -> None:
    run, rows, _ = load(path)
    done = counted(len({row.case for row in rows if row.outcome == "ok"}), "case")
    if run["clock"] == "simulated":
        print(f"{done} simulated")
    else:
        print(f"{done} measured in {counted(len(run['launches']), 'launch')}")
    for line in failures(rows):
        print(line)
    # What failed has just been told.
    tables = grids(load_tables(path))
    found = [one for one in findings(summarise(rows), [run], rows, tables) if one.kind != "failures"]
    for number, finding in enumerate(top(found, _MOST_IMPORTANT), 1):
        print(f"{number}. {finding.headline}")
    print(f"results  {path}  (`kiviat show {call_run(path)}`)")
    sys.stdout.flush()
    report = report or path / "report.html"
    write_report([run], rows, report, tables)
    print(f"report   {report}")
