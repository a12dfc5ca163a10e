"""The end of a run: prints findings and the location of results, and writes the report."""

from __future__ import annotations

import sys
from pathlib import Path

from kiviat.analysis.aggregate.known_errors import in_words, kinds, known_errors
from kiviat.analysis.findings.all import top
from kiviat.api.runs import Run, Runs, read_one
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.values import failures
from kiviat.record.units import counted
from kiviat.store import call_run

_MOST_IMPORTANT = 3


def print_verdict(path: Path, report: Path | None, quiet: bool = False) -> None:
    """Print the end of a run and write its report, even if standard output is closed.

    BrokenPipeError is raised afterwards. `quiet`: print the run's directory only, and failures to standard
    error.
    """
    run = read_one(path)
    closed = None
    try:
        if quiet:
            for line in failures(run.rows):
                print(line, file=sys.stderr)
            print(path, flush=True)
        else:
            _print_findings(run)
    except BrokenPipeError as error:
        closed = error
    report = report or path / "report.html"
    Runs([run]).report(report)
    if closed:
        raise closed
    if not quiet:
        print(f"report   {report}")


def _print_findings(run: Run) -> None:
    done = counted(len(run.rows.completed()), "case")
    if run.simulated:
        print(f"{done} simulated")
    else:
        print(f"{done} measured in {counted(len(run.about.launches), 'launch')}")
    for line in failures(run.rows):
        print(line)
    # Failures have been printed already.
    found = [finding for finding in run.findings if finding.kind != "failures"]
    for number, finding in enumerate(top(found, _MOST_IMPORTANT), 1):
        print(f"{number}. {finding.headline}")
    if (model := run.about.machine.model) and (of := kinds(run.results)):
        print(f"known errors of the model: {in_words(known_errors(model), of)}")
    print(typeable(f"results  {run.path}  (`kiviat show {call_run(run.path)}`)"))
    sys.stdout.flush()
