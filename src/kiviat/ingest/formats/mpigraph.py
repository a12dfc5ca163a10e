"""mpiGraph: bandwidth from each process to each other while all communicate, at distances 1 to P - 1 in turn.

The layout is that of mpiGraph.c (LLNL): tables "Send" and "Recv" separated by tabs, a line for each process.
MB/s are 2^20 bytes per second there.
"""

from __future__ import annotations

import re
import statistics
from dataclasses import replace

from kiviat.ingest.reported import Case, metric, number, record, whole
from kiviat.record import InputError, Record
from kiviat.record.types import Table

NAME = "mpiGraph"

_START = re.compile(r"^START mpiGraph v?(\S*)\s*$", re.MULTILINE)
_SETTING = re.compile(r"^(MsgSize|Times|Window|Procs)\t(\d+)\s*$", re.MULTILINE)
_LINE = {
    "send": re.compile(r"^(\S+):(\d+) to\t(.*)$", re.MULTILINE),
    "receive": re.compile(r"^(\S+):(\d+) from\t(.*)$", re.MULTILINE),
}
_MB = 2.0**20


def sniff(text: str) -> bool:
    """True for text with the first line of mpiGraph's output."""
    return _START.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record with both matrices; InputError if one is incomplete or the end is missing."""
    starts = [match.start() for match in _START.finditer(text)]
    return [
        _record(text[start:end], where, ranks)
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    ]


def _record(text: str, where: str, ranks: int | None) -> Record:
    settings = dict(_SETTING.findall(text))
    if "MsgSize" not in settings:
        raise InputError(f"{where} has no line 'MsgSize'; is the file complete?")
    if "END mpiGraph" not in text:
        raise InputError(f"{where} has no line 'END mpiGraph'; is the file complete?")
    size = whole(settings["MsgSize"], where)
    count = whole(settings["Procs"], where) if "Procs" in settings else ranks
    if count is None:
        count = len(_LINE["send"].findall(text))
    metrics, tables, hosts = [], [], list[str]()
    for way, pattern in _LINE.items():
        lines = pattern.findall(text)
        matrix = [_values(cells, count, f"{where}, {way} {host}:{rank}") for host, rank, cells in lines]
        if len(matrix) != count or [int(rank) for _, rank, _ in lines] != list(range(count)):
            raise InputError(
                f"{where} has {len(matrix)} lines of {way} bandwidth, not {count}; is the file complete?"
            )
        hosts = [host for host, _, _ in lines]
        known = [value for line in matrix for value in line if value is not None]
        if not known:
            raise InputError(f"{where} has no {way} bandwidth; is the file complete?")
        for name, value in (
            ("median", statistics.median(known)),
            ("min", min(known)),
            ("max", max(known)),
        ):
            metrics.append(metric(f"{way}_bandwidth_{name}", "B/s", value, len(known)))
        names = tuple(map(str, range(count)))
        axes = (("from", names), ("to", names)) if way == "send" else (("to", names), ("from", names))
        values = tuple(value for line in matrix for value in line)
        tables.append(Table(f"{way}_bandwidth", "B/s", "higher", axes, values))
    found = record(Case("mpigraph", count, size, {}), metrics)
    notes = {name.lower(): settings[name] for name in ("Times", "Window") if name in settings}
    notes["hosts"] = ", ".join(hosts)
    return replace(found, notes=notes, tables=tuple(tables))


def _values(cells: str, count: int, where: str) -> list[float | None]:
    """Return the values of a line in B/s; the pair of a process with itself, 0 there, is None."""
    words = cells.split()
    if len(words) != count:
        raise InputError(f"{where} has {len(words)} values, not {count}; is the file complete?")
    return [value * _MB if (value := number(word, where)) > 0 else None for word in words]
