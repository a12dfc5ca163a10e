"""`kiviat export`: results as CSV, JSON, Parquet or OpenMetrics, a trace of times as trace events."""

from __future__ import annotations

import shutil
import sys
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from kiviat.analysis.aggregate.summary import summarise
from kiviat.api.runs import opened
from kiviat.cli.options.files import names_profile, names_trace
from kiviat.cli.options.request import ExportRequest
from kiviat.cli.text.openmetrics import openmetrics
from kiviat.cli.text.warnings import print_warning, print_warnings
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
    target = Path(request.output) if request.output else None
    if names_profile(request.run):
        raise InputError(
            f"{request.run} is a profile, which holds sums and no events: `kiviat show --format csv` prints "
            "these, `kiviat trace --times` records events"
        )
    if names_trace(request.run):
        return _of_trace(Path(request.run), target, request)
    run = find_run(request.run)
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


def _of_trace(path: Path, target: Path | None, request: ExportRequest) -> int:
    """Write the calls and waits of a trace of times as trace events, which Perfetto and Chrome open."""
    from kiviat.profile.chrome_trace import MOST_CALLS, write_chrome_trace
    from kiviat.profile.recorded import recorded_in
    from kiviat.trace import read_trace

    if (request.format or "json") != "json" or (target and is_replaced(target) and target.suffix != ".json"):
        raise InputError(f"{path} is a trace, whose events are exported as JSON: -o FILE.json")
    trace = read_trace(path)
    _, recording, waits = recorded_in(trace)
    if target is None:
        omitted = write_chrome_trace(sys.stdout.buffer, trace, recording, waits)
    else:
        with refusing(target, "export"), replacing(target) as file:
            omitted = write_chrome_trace(file, trace, recording, waits)
    if omitted:
        print(
            f"kiviat: the {omitted:,} shortest calls are left out: viewers open at most {MOST_CALLS:,}",
            file=sys.stderr,
        )
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
        if what != "summaries":
            raise InputError(
                f"--what {what}: OpenMetrics has summaries only; give another --format, or leave --what out"
            )
        about, rows, warnings = load(run)
        print_warnings(warnings)
        target.write(openmetrics(about, summarise(rows)).encode("utf-8", "backslashreplace"))
        return
    with opened([run], summaries=what == "summaries", tell=print_warning) as connection:
        export(connection, f"SELECT * FROM {what}", target, form)
