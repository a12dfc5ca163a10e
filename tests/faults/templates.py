"""Runs that trials start from: a finished one, an interrupted one, and exports of the finished one."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

from . import world
from .command import LIMIT_S, Command, measuring, wait_until
from .ledger import RECORDS, finished, run_json, whole_lines


def make(mpi: str, program: Path, templates: Path) -> dict[str, Any]:
    """Create the runs inside a trial's namespaces and copy them to the folder `templates`."""
    more = world.built(program)

    def call(*words: str) -> Command:
        command = Command(list(words), more=more)
        command.wait()
        if command.code:
            raise SystemExit(f"kiviat {' '.join(words)}: {command.code}\n{command.errors()}")
        return command

    call(*measuring(mpi))
    (run,) = world.run_folders()
    world.copy(run, templates / "finished")
    for form in ("csv", "json", "parquet"):
        call("export", str(run), "-o", str(world.OUT / f"export.{form}"))
    world.copy(world.OUT, templates / "outputs")
    shutil.rmtree(run)
    command = Command(measuring(mpi), more=more)
    wait_until(lambda: most_records() > 6, LIMIT_S)
    command.process.send_signal(signal.SIGINT)
    command.wait()
    (run,) = world.run_folders()
    shutil.rmtree(run / "launches")
    world.copy(run, templates / "interrupted")
    return {"interrupted": run_json(run)["state"], "records": len(finished(run))}


def most_records() -> int:
    files = [path / RECORDS for path in world.run_folders() if (path / RECORDS).exists()]
    return max((len(whole_lines(file.read_bytes())) for file in files), default=0)


def planned_in(templates: Path) -> set[tuple[int, str]]:
    """Return the pairs (repetition, case) of the undisturbed run."""
    return {one.key for one in finished(templates / "finished")}


def is_whole(data: bytes, suffix: str, undisturbed: Path) -> bool:
    match suffix:
        case ".html":
            return data.rstrip().endswith(b"</html>")
        case ".parquet":
            return data[:4] == data[-4:] == b"PAR1"
        case _:
            return data == undisturbed.read_bytes()
