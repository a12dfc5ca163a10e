"""The end of a run: what was found, where the results are, and the report."""

from __future__ import annotations

from pathlib import Path

from kiviat.cli.report import write_report
from kiviat.cli.words import failures
from kiviat.store.read import load


def print_verdict(path: Path, report: Path | None) -> None:
    run, rows, _ = load(path)
    report = report or path / "report.html"
    write_report([run], rows, report)
    print(f"run {run['id']}: {len({row.case for row in rows if row.outcome == 'ok'})} cases measured")
    for line in failures(rows):
        print(f"  {line}")
    print(f"results  {path}  (`kiviat show {path.name}`)")
    print(f"report   {report}")
