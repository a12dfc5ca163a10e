"""`kiviat report`: a page about one or more runs."""

from __future__ import annotations

import gc
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from kiviat.analysis.grids import Grid, grids
from kiviat.cli.files import names_profile, write_whole
from kiviat.profile import read_profile
from kiviat.record import InputError, Row
from kiviat.store import find_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables


def execute(arguments: Namespace) -> int:
    if any(map(names_profile, arguments.runs)):
        return _of_profile(arguments)
    # A million small objects live until the page is written; to look at them again and again takes a fifth
    # of the time.
    gc.disable()
    report_on([find_run(name) for name in arguments.runs], Path(arguments.output))
    print(arguments.output)
    return 0


def report_on(paths: Sequence[Path], output: Path) -> None:
    """One page about all of these runs; what is odd about their files is told."""
    runs, rows = [], []
    for path in paths:
        run, its_rows, warnings = load(path)
        runs.append(run)
        rows += its_rows
        for warning in warnings:
            print(f"kiviat: {warning}", file=sys.stderr)
    write_report(runs, rows, output, grids(chain.from_iterable(load_tables(path) for path in paths)))


def _of_profile(arguments: Namespace) -> int:
    from kiviat.report.profile import render_profile

    if len(arguments.runs) > 1:
        raise InputError(f"{', '.join(arguments.runs)}: a profile has a page of its own; give one alone")
    write_whole(render_profile(read_profile(Path(arguments.runs[0]))), Path(arguments.output))
    print(arguments.output)
    return 0


def write_report(
    runs: Sequence[Mapping[str, Any]], rows: Sequence[Row], path: Path, tables: Sequence[Grid] = ()
) -> None:
    from kiviat.report import render  # a run must not wait for it, nor fail with it, before it measures

    write_whole(render(runs, rows, tables), path)
