"""`python -m benchmarks [ROW…] [--brief]`: measures, prints one table, writes build/bench.json."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks import accuracy, imb_set, latency, memory, report, same_machine, startup
from benchmarks.finding import Finding, details, not_measured, table, write_json
from benchmarks.mpi import BUILD, mpis
from benchmarks.setting import Setting

Row = Callable[[Setting], Iterator[Finding]]

ROWS: Mapping[str, Row] = {
    row.ROW: row.measure for row in (latency, imb_set, accuracy, same_machine, report, startup, memory)
}
WITHOUT_MPI = {report.ROW, startup.ROW}


def main() -> int:
    arguments = _arguments()
    chosen = arguments.rows or list(ROWS)
    setting = Setting(mpis() if set(chosen) - WITHOUT_MPI else (), arguments.brief)
    findings: list[Finding] = []
    broken = False
    for name in chosen:
        try:
            found = list(ROWS[name](setting))
        except Exception as error:
            broken = True
            found = [not_measured(name, "could not run", "", f"{type(error).__name__}: {error}")]
        findings += found or [not_measured(name, "everything", "", "no MPI found")]
    print(_heading(setting))
    print(table(findings))
    if below := details(findings):
        print(f"\n{below}")
    write_json(BUILD / "bench.json", findings, _machine(setting))
    print(f"\nAll values: {BUILD / 'bench.json'}")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"all, or some of: {', '.join(ROWS)}")
    brief = "few repetitions: tries the workings, proves nothing"
    parser.add_argument("--brief", action="store_true", help=brief)
    arguments = parser.parse_args()
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; rows are {', '.join(ROWS)}")
    return arguments


def _heading(setting: Setting) -> str:
    machine = _machine(setting)
    note = "\nBrief: too few repetitions for a verdict to mean anything." if setting.brief else ""
    return f"{machine['cpu']}, {machine['cores']} cores, load {machine['load']:.1f} at the end{note}\n"


def _machine(setting: Setting) -> dict[str, object]:
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "mpis": [mpi.name for mpi in setting.mpis],
        "brief": setting.brief,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
