"""Writes the page about runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from kiviat.analysis.aggregate.tables import Grid, grids
from kiviat.record import Row, write_whole
from kiviat.record.run import Run
from kiviat.store.read import load
from kiviat.store.tables import load_tables


def report_on(paths: Sequence[Path], output: Path) -> None:
    """Write one page about all of these runs; print warnings about their files."""
    runs, rows = [], []
    for path in paths:
        run, its_rows, warnings = load(path)
        runs.append(run)
        rows += its_rows
        for warning in warnings:
            print(f"kiviat: {warning}", file=sys.stderr)
    write_report(runs, rows, output, grids(chain.from_iterable(load_tables(path) for path in paths)))


def write_report(runs: Sequence[Run], rows: Sequence[Row], path: Path, tables: Sequence[Grid] = ()) -> None:
    """Write the page about runs and their rows, with `tables` added. Raise InputError if that fails."""
    from kiviat.report import (
        render,
    )  # imported here, so that a run neither waits for it nor fails with it before it measures

    write_whole(render(runs, rows, tables), path, "report")
