"""The end of a run: prints findings and the location of results, and writes the report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kiviat.analysis.aggregate.known_errors import in_words, kinds, known_errors
from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.analysis.findings.all import findings, top
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.run_page import write_report
from kiviat.cli.text.values import failures
from kiviat.record import Row
from kiviat.record.run import Run
from kiviat.record.units import counted
from kiviat.store import call_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables

_MOST_IMPORTANT = 3


def print_verdict(path: Path, report: Path | None, quiet: bool = False) -> None:
    """Print the end of a run and write its report, even if standard output is closed.

    BrokenPipeError is raised afterwards. `quiet`: print the run's directory only, and failures to standard
    error.
    """
    run, rows, _ = load(path)
    tables = grids(load_tables(path))
    closed = None
    try:
        if quiet:
            for line in failures(rows):
                print(line, file=sys.stderr)
            print(path, flush=True)
        else:
            _print_findings(path, run, rows, tables)
    except BrokenPipeError as error:
        closed = error
    report = report or path / "report.html"
    write_report([run], rows, report, tables)
    if closed:
        raise closed
    if not quiet:
        print(f"report   {report}")


def _print_findings(path: Path, run: Run, rows: Sequence[Row], tables: Sequence[Grid]) -> None:
    done = counted(len({row.case for row in rows if row.outcome == "ok"}), "case")
    if run.clock == "simulated":
        print(f"{done} simulated")
    else:
        print(f"{done} measured in {counted(len(run.launches), 'launch')}")
    for line in failures(rows):
        print(line)
    # Failures have been printed already.
    summaries = summarise(rows)
    found = [one for one in findings(summaries, [run], rows, tables) if one.kind != "failures"]
    for number, finding in enumerate(top(found, _MOST_IMPORTANT), 1):
        print(f"{number}. {finding.headline}")
    if run.machine.model and (of := kinds(summaries)):
        print(f"known errors of the model: {in_words(known_errors(run.machine.model), of)}")
    print(typeable(f"results  {path}  (`kiviat show {call_run(path)}`)"))
    sys.stdout.flush()
