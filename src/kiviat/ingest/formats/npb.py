"""NAS Parallel Benchmarks: what their programs print at the end, in versions 2.x to 3.4, with MPI or threads.

The layout is that of print_results.f and c_print_results.c: 3.3 and older print "Compiled procs", 3.4 prints
"Active processes" where not all take part. Rates are in 10^6 operations per second. Programs that ended too
early for their clock print 0.00 for both: they have no result. Programs without MPI print no "Total
processes"; "Total threads" are those of all processes.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kiviat.ingest.reported import Case, metric, number, record, whole
from kiviat.record import InputError, Record
from kiviat.record.types import Scalar

NAME = "NAS Parallel Benchmarks"

_END = re.compile(r"^ ?([A-Z]{2}(?:-MZ)?) Benchmark Completed\.?\s*$", re.MULTILINE)
_LINE = re.compile(r"^ ?([A-Z][A-Za-z/ ]+?)\s*= *(.*?)\s*$", re.MULTILINE)


def sniff(text: str) -> bool:
    """True for text in which a program of the suite says that it has completed."""
    return _END.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each completed program; InputError if one lacks its class, time or rate."""
    ends = list(_END.finditer(text))
    bounds = [*(match.start() for match in ends), len(text)]
    return [
        _record(match[1], text[match.end() : bound], where)
        for match, bound in zip(ends, bounds[1:], strict=True)
    ]


def _record(program: str, text: str, where: str) -> Record:
    said: dict[str, str] = {}
    for name, value in _LINE.findall(text):
        said.setdefault(name.strip(), value)
    lacking = [name for name in ("Class", "Time in seconds", "Mop/s total") if not said.get(name)]
    if lacking:
        raise InputError(f"{where}: {program} has no line {lacking[0]!r}; is the file whole?")
    about = f"{where}, {program}"
    count = whole(said["Total processes"], about) if "Total processes" in said else 1
    active = said.get("Active processes")
    threads = whole(said["Total threads"], about) // max(count, 1) if "Total threads" in said else 1
    axes: dict[str, Scalar] = {"class": said["Class"]} | ({"threads": threads} if threads > 1 else {})
    values = (
        ("rate", "op/s", number(said["Mop/s total"], about) * 1e6),
        ("time", "s", number(said["Time in seconds"], about)),
    )
    metrics = [metric(name, unit, value, 1) for name, unit, value in values if value]
    verified = said.get("Verification", "").upper()
    check = {"SUCCESSFUL": True, "UNSUCCESSFUL": False}.get(verified)
    case = Case(program.lower(), count, None, axes)
    skipped = None if metrics else f"it took {said['Time in seconds']} s, too short a time for its clock"
    found = record(case, metrics, check=check, skipped=skipped, wrong="the program's verification failed")
    notes = {"version": f"NPB {said['Version']}"} if said.get("Version") else {}
    notes |= {"active processes": active} if active else {}
    return replace(found, notes=notes)
