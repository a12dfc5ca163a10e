"""`kiviat export`: results as CSV, JSON, Parquet or OpenMetrics."""

from __future__ import annotations

import shutil
import sys
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from kiviat.analysis.aggregate.summary import summarise
from kiviat.api.runs import opened
from kiviat.cli.options.request import ExportRequest
from kiviat.cli.text.openmetrics import openmetrics
from kiviat.record import InputError, is_replaced, refusing, replacing
from kiviat.store import find_run
from kiviat.store.query import export
from kiviat.store.read import load

_SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".txt": "openmetrics",
    ".prom": "openmetrics",
}


def execute(request: ExportRequest) -> int:
    """Write a run's results to a file or to standard output. Raise InputError for Parquet on a terminal."""
    run = find_run(request.run)
    target = Path(request.output) if request.output else None
    form = request.format or _format_of(target)
    if target is None and form == "parquet" and sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal; give a file with -o")
    if target is None:
        with TemporaryFile() as file:
            _write(run, file, form, request.what)
            file.seek(0)
            if sys.stdout.isatty():
                sys.stdout.writelines(TextIOWrapper(file, encoding="utf-8"))
            else:
                shutil.copyfileobj(file, sys.stdout.buffer)
    else:
        with refusing(target, "export"), replacing(target) as file:
            _write(run, file, form, request.what)
    return 0


def _format_of(target: Path | None) -> str:
    """Return the format that the file's suffix names; CSV without a suffix."""
    suffix = target.suffix.lower() if target and is_replaced(target) else ""
    if suffix and suffix not in _SUFFIXES:
        raise InputError(
            f"-o {target}: exports are CSV, JSON, Parquet or OpenMetrics; name a file that ends in "
            f"{', '.join(_SUFFIXES)}, or give --format"
        )
    return _SUFFIXES.get(suffix, "csv")


def _write(run: Path, target: BinaryIO, form: Any, what: str) -> None:
    if form == "openmetrics":
        about, rows, _ = load(run)
        target.write(openmetrics(about, summarise(rows)).encode("utf-8", "backslashreplace"))
        return
    with opened([run], summaries=what == "summaries") as connection:
        export(connection, f"SELECT * FROM {what}", target, form)
