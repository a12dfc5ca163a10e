"""`kiviat export`: results as CSV, JSON, Parquet or OpenMetrics."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kiviat.analysis.summary import Summary, summarise
from kiviat.cli.openmetrics import openmetrics
from kiviat.record import InputError
from kiviat.store import find_run
from kiviat.store.query import add_table, connect, export
from kiviat.store.read import load

_SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".txt": "openmetrics",
    ".prom": "openmetrics",
}


def execute(arguments: Namespace) -> int:
    run = find_run(arguments.run)
    target = Path(arguments.output) if arguments.output else None
    form = arguments.format or _SUFFIXES.get(target.suffix if target else "", "csv")
    if target and not target.parent.is_dir():
        raise InputError(f"{target.parent} is not a folder; make it, or name another with -o")
    if target is None and form == "parquet" and sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal; give a file with -o")
    with TemporaryDirectory(prefix="kiviat-") as folder:
        made = target or Path(folder) / "export"
        _write(run, made, form, arguments.what)
        if target is None:
            with made.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    return 0


def _write(run: Path, target: Path, form: Any, what: str) -> None:
    if form == "openmetrics":
        about, rows, _ = load(run)
        target.write_text(openmetrics(about, summarise(rows)), encoding="utf-8")
        return
    with connect([run]) as connection:
        if what == "summaries":
            _, rows, _ = load(run)
            add_table(connection, "summaries", _TYPES, (asdict(summary) for summary in summarise(rows)))
        export(connection, f"SELECT * FROM {what}", target, form)


_KINDS = {
    "str": "VARCHAR",
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "tuple[float, ...]": "DOUBLE[]",
}
_TYPES = {
    field.name: _KINDS.get(str(field.type).removesuffix(" | None"), "JSON") for field in fields(Summary)
}
