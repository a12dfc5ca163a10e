"""ReproMPI: the table of all measurements of mpibenchmark, a line for each call, times in seconds.

Lines that begin with "#@" state the settings (print_common_settings of its source). `count` counts
elements, whose size the settings state; of collectives with a buffer for each rank it is for one of them.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import replace

from kiviat.ingest.reported import Case, number, record, whole
from kiviat.record import InputError, Metric, Record

NAME = "ReproMPI"

_SETTING = re.compile(r"^#@(\w+)=(.*?)\s*$", re.MULTILINE)
_HEAD = re.compile(r"^\s*test\s+nrep\s+(?:count|msize)\s+runtime_sec\s*$", re.MULTILINE)
_ROW = re.compile(r"^\s*MPI_(\w+)\s+(\d+)\s+(\d+)\s+(\S+)\s*$", re.MULTILINE)


def sniff(text: str) -> bool:
    """True for text with the settings and the head of the table."""
    return "#@reproMPIcommitSHA1" in text and _HEAD.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each call and number of elements, with every measurement as a sample."""
    settings = dict(_SETTING.findall(text))
    count = whole(settings["nprocs"], where) if "nprocs" in settings else ranks
    if count is None:
        raise InputError(f"{where} does not say how many processes there were; give --ranks")
    element = whole(settings.get("datatype_extent_bytes", "1"), where)
    samples: dict[tuple[str, int], list[float]] = {}
    for call, _, elements, seconds in _ROW.findall(text):
        key = call.lower(), whole(elements, where) * element
        samples.setdefault(key, []).append(number(seconds, where))
    return [_record(call, size, times, count, settings) for (call, size), times in samples.items()]


def _record(call: str, size: int, times: list[float], ranks: int, settings: Mapping[str, str]) -> Record:
    bytes_ = None if call == "barrier" else size
    ordered = sorted(times)
    timed = Metric(
        name="time",
        unit="s",
        better="lower",
        per_call=True,
        count=len(times),
        mean=statistics.fmean(times),
        min=ordered[0],
        max=ordered[-1],
        p50=statistics.median(times),
        p90=None,
        p99=None,
        ci_low=None,
        ci_high=None,
        from_=None,
        samples=tuple(times),
    )
    found = record(Case(call, ranks, bytes_, {}), [timed])
    kept = ("operation", "datatype", "sync", "clock", "clocktype", "root_proc")
    notes = {name: settings[name] for name in kept if name in settings}
    return replace(found, notes=notes)
