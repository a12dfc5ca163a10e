"""Peak memory of a program's ranks: the kernel's high-water mark (VmHWM), read while they run.

Long programs need not end: they are ended when their memory has stopped growing.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.mpi import LaunchError, Mpi

# Describes a figure in the lines below a table.
HOW = "one launch each, peers with their default pages: largest VmHWM of a rank in /proc/PID/status"
# A program's memory counts as final if it has not grown for this time.
_STEADY_S = 10.0


def peak_of_cases(mpi: Mpi, cases: Sequence[str], ranks: int) -> float:
    """Return the peak memory of kiviat-bench with `cases`, lines as in cases.txt: bytes of the rank that uses
    most.
    """
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "cases.txt"
        asked.write_text("\n".join(cases) + "\n", encoding="utf-8")
        return peak_bytes(mpi, [mpi.program, "--cases", asked, "--out", Path(folder) / "events.jsonl"], ranks)


def peak_bytes(mpi: Mpi, program: Sequence[str | Path], ranks: int, folder: Path | None = None) -> float:
    """Return the peak memory in bytes of the rank that uses most; raise LaunchError if no rank was seen. The
    program runs in `folder`.
    """
    executable = Path(program[0]).resolve()
    peak, grown_s = 0.0, 0.0

    def has_all() -> bool:
        nonlocal peak, grown_s
        now = max((_mark(process) for process in _processes(executable)), default=0.0)
        if now > peak:
            peak, grown_s = now, time.monotonic()
        return peak > 0 and time.monotonic() - grown_s > _STEADY_S

    mpi.launch(program, ranks, folder=folder, enough=has_all)
    if not peak:
        raise LaunchError(f"no process of {executable.name} was seen")
    return peak


def _processes(executable: Path) -> list[Path]:
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "exe").readlink() == executable:
                found.append(process)
        except OSError:  # the process has ended, or belongs to another user
            continue
    return found


def _mark(process: Path) -> float:
    try:
        mark = re.search(r"^VmHWM:\s+(\d+) kB$", (process / "status").read_text(), re.MULTILINE)
    except OSError:
        return 0.0
    return float(mark[1]) * 1024 if mark else 0.0
