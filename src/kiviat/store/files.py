"""Reads and replaces run.json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kiviat.record import OLDER_RUN_SCHEMAS, RUN_SCHEMA, InputError, refuse_other_version
from kiviat.record.files import IrregularFileError, read_text
from kiviat.record.run import Run
from kiviat.record.valid import first_wrong, parse_json
from kiviat.record.writing import sync_directory
from kiviat.store.lock import has_living_writer

RUN_FILE = "run.json"
RECORDS_FILE = "records.jsonl"


def read_run(path: Path) -> Run:
    """Return the run in the folder `path`; a run whose writer died is interrupted.

    Raise InputError if it is missing or violates its schema.
    """
    return Run.from_json(read_run_json(path))


def read_written_run(path: Path) -> Run:
    """Return the run as `read_run` does, but in the state that run.json gives, even if its writer died."""
    return Run.from_json(_written_run_json(path))


def read_run_json(path: Path) -> dict[str, Any]:
    """Return the content of run.json in the folder `path`, including keys unknown to the schema."""
    run = _written_run_json(path)
    if run["state"] == "running" and not has_living_writer(path):
        run = _written_run_json(path)  # again, because the writer may have finished meanwhile
        if run["state"] == "running":
            run["state"] = "interrupted"
    return run


def _written_run_json(path: Path) -> dict[str, Any]:
    file = path / RUN_FILE
    try:
        run = parse_json(read_text(file))
    except FileNotFoundError:
        raise InputError(f"{path} is not a run: it has no {RUN_FILE}; `kiviat runs` lists the runs") from None
    except IrregularFileError as error:
        raise InputError(f"{file} is {error.kind} instead of a file; kiviat did not write it") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; check its permissions") from None
    except ValueError as error:
        raise InputError(f"{file} is not JSON: {error}; it is truncated or kiviat did not write it") from None
    if not isinstance(run, dict):
        raise InputError(f"{file} holds {type(run).__name__}, not a run; kiviat did not write it")
    try:
        refuse_other_version(run.get("schema"), RUN_SCHEMA, OLDER_RUN_SCHEMAS)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    if wrong := first_wrong(run, "run"):
        raise InputError(f"{file}: {wrong}; it is damaged or kiviat did not write it")
    return run


def replace_run(path: Path, run: Mapping[str, Any]) -> None:
    """Write run.json so that readers see either the old or the new one, never a part."""
    new = path / f"{RUN_FILE}.new"
    try:
        with new.open("w", encoding="utf-8") as stream:
            json.dump(run, stream, indent=1, allow_nan=False)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path / RUN_FILE)
        sync_directory(path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise
