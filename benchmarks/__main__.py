"""`python -m benchmarks [ROW…] [--brief]`: measures, prints one table, writes build/bench.json.

With --write, docs/reference/performance.md gets the rows, too.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    accuracy,
    b_eff,
    emulated,
    fft,
    gears,
    hpcc,
    hpccg,
    imb_set,
    latency,
    launches,
    lj,
    load,
    memory,
    npb,
    page,
    pages,
    placement,
    profiler,
    report,
    same_machine,
    simulation,
    startup,
    traces,
)
from benchmarks.finding import Finding, details, not_measured, table, write_json
from benchmarks.hpcc import last_level_cache
from benchmarks.mpi import BUILD, ROOT, LaunchError, mpis
from benchmarks.setting import Setting
from kiviat.machine.host import files
from kiviat.machine.host.description import describe_host

Row = Callable[[Setting], Iterator[Finding]]

ROWS: Mapping[str, Row] = {
    row.ROW: row.measure
    for row in (
        latency,
        launches,
        imb_set,
        accuracy,
        same_machine,
        b_eff,
        hpcc,
        fft,
        npb,
        hpccg,
        lj,
        gears,
        pages,
        profiler,
        traces,
        emulated,
        simulation,
        placement,
        report,
        startup,
        load,
        memory,
    )
}
# Parts of rows, which --only selects.
_PARTS: Mapping[str, Sequence[str]] = {npb.ROW: npb.PROGRAMS, accuracy.ROW: accuracy.BENCHMARKS}
WITHOUT_MPI = {simulation.ROW, placement.ROW, report.ROW, startup.ROW, load.ROW}

# Load average over a minute above which other processes disturb the measurements.
_BUSY = 0.5


def main() -> int:
    arguments = _arguments()
    chosen = arguments.rows or list(ROWS)
    load = os.getloadavg()[0]  # before this process itself causes load
    mpis_here = mpis() if set(chosen) - WITHOUT_MPI else ()
    setting = Setting(mpis_here, arguments.brief, arguments.repetitions, arguments.only)
    if caution := _caution(setting, load):
        print(caution, file=sys.stderr)
    findings: list[Finding] = []
    broken = False
    machine = _machine(setting, load)

    def found(finding: Finding) -> None:
        """Record a finding at once, so that an interrupted run keeps it."""
        findings.append(finding)
        print(f"{finding.row}: {finding.what}: {finding.figure}", file=sys.stderr, flush=True)
        write_json(BUILD / "bench.json", findings, machine)

    for name in chosen:
        before, begin = len(findings), time.monotonic()
        here = {**machine, "noise_percent": _noise(setting)}
        try:
            for finding in ROWS[name](setting):
                found(finding)
        except Exception as error:
            broken = True
            found(not_measured(name, "could not run", "", f"{type(error).__name__}: {error}"))
        else:  # a row that broke off leaves the page as it is
            if len(findings) == before:
                found(not_measured(name, "all of it", "", "no MPI found"))
            if arguments.write:  # after each row, so that an interrupted run keeps it
                page.write(findings[before:], here, caution, ROWS)
        print(f"{name}: took {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    print(f"{machine['cpu']}, {machine['cores']} cores{caution and ': '}{caution}\n")
    print(table(findings))
    if below := details(findings):
        print(f"\n{below}")
    print(f"\nAll values: {BUILD / 'bench.json'}")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"all, or some of: {', '.join(ROWS)}")
    brief = "few repetitions: tries the workings, proves nothing"
    parser.add_argument("--brief", action="store_true", help=brief)
    parser.add_argument("--repetitions", type=int, metavar="N", help="instead of each row's own number")
    parser.add_argument("--write", action="store_true", help=f"write these rows into {page.PAGE.name}")
    parser.add_argument(
        "--only",
        type=lambda words: tuple(words.split(",")),
        default=(),
        metavar="NAME,…",
        help="of the rows npb and accuracy: these programs or benchmarks",
    )
    arguments = parser.parse_args()
    if arguments.repetitions is not None and arguments.repetitions < 1:
        parser.error(f"--repetitions is {arguments.repetitions}; give at least 1")
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; rows are {', '.join(ROWS)}")
    parts = _PARTS.get(arguments.rows[0], ()) if len(arguments.rows) == 1 else ()
    if arguments.only and not parts:
        parser.error(f"--only is for one row alone, {' or '.join(_PARTS)}")
    if unknown := set(arguments.only) - set(parts):
        parser.error(f"{arguments.rows[0]} has no {', '.join(sorted(unknown))}; it has {', '.join(parts)}")
    return arguments


def _caution(setting: Setting, load: float) -> str:
    """Return why the results are of limited value; empty if no disturbance is known."""
    reasons = []
    if load > _BUSY:
        reasons.append(f"the machine was busy (load {load:.1f})")
    if setting.brief:
        reasons.append("few repetitions (--brief)")
    cautions = [f"these figures prove little: {' and '.join(reasons)}"] if reasons else []
    if setting.only:
        cautions.append(f"measured were only {', '.join(setting.only)}")
    return "; ".join(cautions)


def _noise(setting: Setting) -> float | None:
    """Return the per cent of the cores' time that the system, its host and other programs take just now.

    None without an MPI that measures it.
    """
    if not setting.mpis:
        return None
    try:
        noise: float = setting.mpis[0].measure(["noise noise"]).metric("noise", "noise")["p50"]
    except LaunchError:
        return None
    return noise


def _machine(setting: Setting, load: float) -> dict[str, object]:
    host = describe_host()
    return {
        "cpu": host["cpu"] or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": load,
        "revision": _revision(),
        "system": _system(host),
        "python": platform.python_version(),
        "mpis": [mpi.name for mpi in setting.mpis],
    }


def _revision() -> str | None:
    """Return the short name of this checkout's commit, with a plus if files differ from it."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    return _first_line(words)


def _system(host: Mapping[str, Any]) -> str:
    """Return what else decides a figure: machine, memory, system, compilers, and who gets huge pages."""
    huge_pages = files.text(Path("/sys/kernel/mm/transparent_hugepage/enabled")) or ""
    facts = (
        host["virtualization"] and f"a virtual machine ({host['virtualization']})",
        host["memory_bytes"] and f"{host['memory_bytes'] / 2**30:.0f} GiB of memory",
        f"{last_level_cache() / 2**20:.0f} MiB of last-level cache",
        host["os"],
        host["kernel"],
        " ".join(platform.libc_ver()),
        *(_first_line([name, "--version"]) for name in ("c++", "gfortran")),
        f"transparent huge pages: {huge_pages.partition('[')[2].partition(']')[0] or 'unknown'}",
    )
    return ", ".join(fact for fact in facts if fact)


def _first_line(words: Sequence[str]) -> str | None:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


if __name__ == "__main__":
    sys.exit(main())
