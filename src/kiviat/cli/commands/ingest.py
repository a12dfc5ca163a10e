"""`kiviat ingest`: makes a run from the output of other programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat.cli.options.request import IngestRequest
from kiviat.cli.text.hints import typeable
from kiviat.ingest import parse
from kiviat.record import InputError
from kiviat.record.files import read_text
from kiviat.record.units import counted
from kiviat.store import RunDirectory, call_run, runs_home


def execute(request: IngestRequest) -> int:
    """Write the results in all files as one new run. Raise InputError for files of unknown formats."""
    records = [record for name in request.files for record in parse(_text(name), name, request.ranks)]
    home = Path(request.output) if request.output else runs_home()
    machine = _unknown_machine(request.machine or "unknown")
    with RunDirectory.create(
        home, "ingested", machine=machine, plan=None, substrate="ingested", clock="reported"
    ) as directory:
        for record in records:
            directory.append(replace(record, run=directory.id))
        directory.finish()
    path = directory.path
    print(typeable(f"{counted(len(records), 'result')} in {path}  (`kiviat show {call_run(path)}`)"))
    return 0


def _text(name: str) -> str:
    try:
        return read_text(Path(name), errors="replace")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None


def _unknown_machine(name: str) -> dict[str, Any]:
    """Return a machine of which nothing but the name is known; results need not be from this machine."""
    facts = ("cpu", "sockets", "cores", "threads", "cpu_limit", "memory_bytes", "kernel", "os")
    others = ("virtualization", "governor")
    return {"name": name, **dict.fromkeys((*facts, *others)), "caches": [], "interfaces": []}
