"""Intel MPI Benchmarks: the tables of IMB-MPI1 and IMB-NBC, version 2.3 (Pallas: 2.2.1) to 2021.

MBytes are 2^20 bytes up to version 4.x and 10^6 from 2018 on. t_max of point-to-point benchmarks is the
time that their bandwidth is computed from, so it is our `time`; in collectives the three times are each
rank's mean, and stay so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.ingest.reported import Case, metric, record
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar

NAME = "IMB-MPI1"

_TITLE = re.compile(
    r"Intel ?\(R\) MPI Benchmark(?:s| Suite V?) *([\d.]+)|PALLAS MPI Benchmark Suite V?([\d.]+)"
)
_SECTION = re.compile(r"# Benchmarking (\S+)")
_PROCESSES = re.compile(r"# #processes = (\d+)")
_WAITING = re.compile(r"# \( ?(\d+) additional processes? waiting")
_GROUPS = re.compile(r"# \( ?(\d+) groups of (\d+) processes each")
_FIRST_DECIMAL_YEAR = 2018
_POINT_TO_POINT = ("pingpong", "pingping", "sendrecv", "exchange", "barrier")
_OTHER_NAMES = {"uniband": {"window": 256}, "biband": {"window": 256}}
_PURE, _COMPUTE, _OVERLAPPED = "t_pure[usec]", "t_CPU[usec]", "t_ovrl[usec]"


def sniff(text: str) -> bool:
    return _TITLE.search(text) is not None or (_SECTION.search(text) is not None and "#repetitions" in text)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """`ranks` is not needed: the tables tell."""
    title = _TITLE.search(text)
    return list(_records(text, where, _megabyte(title[1] or title[2]) if title else None))


def _megabyte(version: str) -> float:
    return 1e6 if int(version.split(".")[0]) >= _FIRST_DECIMAL_YEAR else 2.0**20


@dataclass
class _Table:
    """The section being read: its benchmark, and how its processes are used."""

    benchmark: str
    ranks: int | None = None
    axes: dict[str, Scalar] = field(default_factory=dict)
    columns: Sequence[str] = ()

    def case(self, size: int | None) -> Case:
        return Case(self.benchmark, self.ranks or 0, size, self.axes)


def _records(text: str, where: str, megabyte: float | None) -> Iterator[Record]:
    table: _Table | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if section := _SECTION.match(line):
            name = section[1].lower().removeprefix("multi-")
            table = _Table(name, axes=dict(_OTHER_NAMES.get(name, {})))
        elif table is None:
            continue
        elif line.startswith("#") and not line.startswith("#bytes") and not line.startswith("#repetitions"):
            _note_processes(table, line)
        elif "#repetitions" in line:
            table.columns = line.split()
        elif words := line.split():
            if not table.columns or not words[0].isdecimal():
                table.columns = ()  # The table has ended, something else follows.
            elif table.ranks is None:
                raise InputError(f"{where} line {number}: {table.benchmark} without its number of processes")
            else:
                yield _record(table, words, f"{where} line {number}", megabyte)


def _note_processes(table: _Table, line: str) -> None:
    if processes := _PROCESSES.match(line):
        table.ranks = int(processes[1])
    elif waiting := _WAITING.match(line):
        table.axes["world"] = (table.ranks or 0) + int(waiting[1])
    elif groups := _GROUPS.match(line):
        table.ranks = int(groups[1]) * int(groups[2])
        table.axes["group"] = int(groups[2])


def _record(table: _Table, words: Sequence[str], where: str, megabyte: float | None) -> Record:
    columns = dict(zip(table.columns, words, strict=False))
    size = int(columns["#bytes"]) if "#bytes" in columns else None
    if len(words) < len(table.columns) or not all(_is_number(word) for word in columns.values()):
        told = " ".join(words[sum(name.startswith("#") for name in table.columns) :])
        return record(table.case(size), (), skipped=told or "no numbers in the line")
    values = {name: float(word) for name, word in columns.items()}
    defects = values.get("defects")
    metrics = list(_metrics(table.benchmark, values, size, where, megabyte))
    return record(table.case(size), metrics, check=None if defects is None else defects == 0)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _metrics(
    benchmark: str, values: Mapping[str, float], size: int | None, where: str, megabyte: float | None
) -> Iterator[Metric]:
    count = int(values["#repetitions"])
    maximum = "time" if benchmark in _POINT_TO_POINT else "time_rank_max"
    times = {
        "t[usec]": "time",
        "t_max[usec]": maximum,
        "t_avg[usec]": "time_rank_mean",
        "t_min[usec]": "time_rank_min",
        _PURE: "time",
        _COMPUTE: "time_compute",
        _OVERLAPPED: "time_overlapped",
    }
    for column, name in times.items():
        if column in values:
            yield metric(name, "s", values[column] * 1e-6, count)
    if "overlap[%]" in values:
        yield metric("overlap", "%", values["overlap[%]"], count)
    if "Mbytes/sec" in values and size:
        if megabyte is None:
            raise InputError(f"{where}: the title of the benchmarks is missing, which tells what a MByte is")
        yield metric("bandwidth", "B/s", values["Mbytes/sec"] * megabyte, count)
    if "Msg/sec" in values:
        yield metric("message_rate", "1/s", values["Msg/sec"], count)
