"""Undisturbed results: a finished run, on each kind of machine; exports, a profile, a trace; and a run that
was interrupted, from which trials of resuming start.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.slurm.site import Slurm

from . import jobs, world
from .command import LIMIT_S, WHERE, Command, measuring, profiling, wait_until
from .ledger import RECORDS, finished, run_json, whole_lines
from .plan import PROFILERS


def make(mpi: str, products: Sequence[Path], mpiexec: str, templates: Path) -> dict[str, Any]:
    """Create the results inside a trial's namespaces and copy them to the folder `templates`."""
    for product in products:
        world.copy(product.parent, world.BUILDS / product.parent.name)

    def call(*words: str, slurm: Slurm | None = None) -> Command:
        more, prefix = (slurm.environment, slurm.prefix) if slurm else (world.AS_ROOT, ())
        command = Command(list(words), more=dict(more), prefix=prefix)
        command.wait()
        if command.code:
            raise SystemExit(f"kiviat {' '.join(words)}: {command.code}\n{command.errors()}")
        return command

    for phase in WHERE:
        slurm = jobs.start() if phase == "slurm" and jobs.installed() else None
        if phase != "slurm" or slurm:
            call(*measuring(mpi, phase), slurm=slurm)
            (run,) = world.run_folders()
            world.copy(run, finished_in(templates, phase))
            shutil.rmtree(run)
    call(*measuring(mpi))
    (run,) = world.run_folders()
    world.copy(run, finished_in(templates))
    for form in ("csv", "json", "parquet"):
        call("export", str(run), "-o", str(world.OUT / f"export.{form}"))
    for phase in PROFILERS:
        call(*profiling(phase, mpiexec, str(products[0]), world.OUT / f"bench.{phase}"))
    world.copy(world.OUT, templates / "outputs")
    shutil.rmtree(run)
    command = Command(measuring(mpi))
    wait_until(lambda: most_records() > 6, LIMIT_S)
    command.process.send_signal(signal.SIGINT)
    command.wait()
    (run,) = world.run_folders()
    shutil.rmtree(run / "launches")
    world.copy(world.BUILDS, templates / "builds")  # also what emulated clusters have built
    world.copy(run, templates / "interrupted")
    return {"interrupted": run_json(run)["state"], "records": len(finished(run))}


def most_records() -> int:
    files = [path / RECORDS for path in world.run_folders() if (path / RECORDS).exists()]
    return max((len(whole_lines(file.read_bytes())) for file in files), default=0)


def finished_in(templates: Path, phase: str = "") -> Path:
    """Return the folder of the undisturbed run for a phase."""
    return templates / f"finished-{phase if phase in WHERE else 'here'}"


def planned_in(templates: Path, phase: str) -> set[tuple[int, str]]:
    """Return the pairs (repetition, case) of the undisturbed run for a phase."""
    return {one.key for one in finished(finished_in(templates, phase))}


def is_whole(data: bytes, suffix: str, undisturbed: Path) -> bool:
    match suffix:
        case ".html":
            return data.rstrip().endswith(b"</html>")
        case ".parquet":
            return data[:4] == data[-4:] == b"PAR1"
        case ".profile" | ".trace":
            return True  # `kiviat show`, which verifies checksums, reads it afterwards
        case _:
            return data == undisturbed.read_bytes()
