"""Writes the page about runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kiviat.analysis.aggregate.tables import Grid
from kiviat.api.runs import read
from kiviat.cli.text.values import print_warnings
from kiviat.record import Row, write_whole
from kiviat.record.run import Run


def report_on(paths: Sequence[Path], output: Path) -> None:
    """Write one page about all of these runs; print warnings about their files."""
    runs = read(paths)
    print_warnings(runs)
    runs.report(output)


def write_report(runs: Sequence[Run], rows: Sequence[Row], path: Path, tables: Sequence[Grid] = ()) -> None:
    """Write the page about runs and their rows, with `tables` added. Raise InputError if that fails."""
    from kiviat.report.run.page import (
        render,
    )  # a run must not wait for it, nor fail with it, before it measures

    write_whole(render(runs, rows, tables), path, "report")
