"""OSU micro-benchmarks: the tables of the point-to-point and collective programs, versions 3 to 7.

Only the multi-pair ones print the number of ranks; for others the user gives it. Buffers on accelerators,
datatypes, persistent requests and windows of one-sided operations, printed in headers, are part of the case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.ingest.reported import Case, LacksRanksError, metric, number, record, whole
from kiviat.record import Metric, Record
from kiviat.record.types import Scalar

NAME = "OSU micro-benchmarks"

_TITLE = re.compile(
    r"# OSU MPI(?:_(\w+))?(?:-(\w+))? (.+?)((?: Latency| Persistent)*) Test v([\d.]+)", re.IGNORECASE
)
# Examples: "DEVICE (D)", "HOST (H)", "MANAGED (M)"; "MANAGED (MD)" says where managed memory was touched
# last.
_BUFFERS = re.compile(r"# Send Buffer on (\w+) \((\w+)\) and Receive Buffer on (\w+) \((\w+)\)")
_DATATYPE = re.compile(r"# Datatype: MPI_(\w+)")
_WINDOW = re.compile(r"# Window creation: MPI_Win_(\w+)")
_EPOCH = re.compile(r"# Synchronization: MPI_Win_(\S+)")
_OUR_EPOCHS = {"lock/unlock": "lock", "post/start/complete/wait": "pscw"}
_PAIRS = re.compile(r"# \[ pairs: (\d+) \] \[ window size: (\d+) \]")
_OUR_WINDOW = 64
_POINT_TO_POINT = {
    "latency": "pingpong",
    "bandwidth": "uniband",
    "bi-directional bandwidth": "biband",
    "multiple bandwidth / message rate": "uniband",
    "multi": "latency",
}
_COLLECTIVE = {
    "broadcast": "bcast",
    "all-to-all personalized exchange": "alltoall",
    "all-to-all": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
    "all-to-allw personalized exchange": "alltoallw",
}
_TWO_RANKS = ("pingpong", "biband")
# Column titles, as they have changed over the versions: metric and unit.
_MEGABYTE = 1e6


def sniff(text: str) -> bool:
    """True for text with the title of an OSU micro-benchmark."""
    return _TITLE.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each line. `ranks` is required unless the benchmark runs between two ranks."""
    records: list[Record] = []
    lacking = ""
    for found in _records(text, where, ranks):
        if isinstance(found, Record):
            records.append(found)
        else:
            lacking = lacking or found
    if lacking:
        raise LacksRanksError(lacking, records)
    return records


@dataclass
class _Table:
    benchmark: str
    ranks: int | None
    window: int = _OUR_WINDOW
    columns: Sequence[str] = ()
    collective: bool = True
    axes: dict[str, Scalar] = field(default_factory=dict)

    def note(self, line: str) -> None:
        """Read a header line; properties equal to Kiviat's defaults are omitted."""
        if pairs := _PAIRS.match(line):
            self.ranks, self.window = 2 * int(pairs[1]), int(pairs[2])
        elif buffers := _BUFFERS.match(line):
            ends = [_buffer(*buffers.group(at, at + 1)) for at in (1, 3)]
            self._set("buffer", ends[0] if ends[0] == ends[1] else "-".join(ends), "host")
        elif datatype := _DATATYPE.match(line):
            self._set("datatype", datatype[1].lower(), "char")
        elif window := _WINDOW.match(line):
            self._set("memory", window[1].lower(), "allocate")
        elif epoch := _EPOCH.match(line):
            self._set("epoch", _OUR_EPOCHS.get(epoch[1].lower(), epoch[1].lower().replace("/", "_")), "flush")

    def _set(self, axis: str, value: str, usual: str) -> None:
        self.axes.pop(axis, None)
        if value != usual:
            self.axes[axis] = value

    def case(self, ranks: int, size: int | None) -> Case:
        axes = {} if self.window == _OUR_WINDOW else {"window": self.window}
        return Case(self.benchmark, ranks, size, self.axes | axes)


def _buffer(where: str, letters: str) -> str:
    return where.lower() + {"MD": "_device", "MH": "_host"}.get(letters.upper(), "")


def _records(text: str, where: str, ranks: int | None) -> Iterator[Record | str]:
    """Yield the records, and for lines whose number of ranks is unknown what is to be done."""
    table: _Table | None = None
    for at, line in enumerate(text.splitlines(), 1):
        if title := _TITLE.match(line):
            table = _table(title, ranks)
        elif table is None:
            continue
        elif line.startswith(("# Size", "# Avg Latency", "# Overall")) and "=" not in line:
            table.columns = [name.strip() for name in re.split(r"\s{2,}|(?<=\))\s", line[1:].strip())]
        elif line.startswith("#"):
            table.note(line)
        elif (words := line.split()) and table.columns and words[0].replace(".", "").isdecimal():
            if table.ranks is None:
                yield (
                    f"{where} line {at}: OSU benchmarks do not print the number of ranks of "
                    f"{table.benchmark}; give --ranks"
                )
            else:
                yield _record(table, table.ranks, words, f"{where} line {at}")


def _table(title: re.Match[str], ranks: int | None) -> _Table:
    operation, accelerator, words, more, _ = title.groups()
    name = words.lower().removesuffix(" latency").strip()
    table = _one_sided(operation.lower(), name) if operation else _two_sided(name, ranks)
    if "persistent" in more.lower():
        table.axes["requests"] = "persistent"
    if accelerator:  # unless a later line names the buffers
        table.axes["buffer"] = "device"
    return table


def _one_sided(operation: str, name: str) -> _Table:
    """Return the table of a one-sided operation between two ranks; bandwidths use windows of operations."""
    table = _Table(operation, 2, collective=False)
    if name != "latency":
        table.axes["window"] = _OUR_WINDOW
    if name.startswith("bi-directional"):
        table.axes["ways"] = "both"
    return table


def _two_sided(name: str, ranks: int | None) -> _Table:
    if name.startswith("non-blocking "):
        base = name.removeprefix("non-blocking ")
        return _Table("i" + _COLLECTIVE.get(base, base), ranks)
    benchmark = _POINT_TO_POINT.get(name) or _COLLECTIVE.get(name, name)
    between_two = benchmark in _TWO_RANKS or name == "bandwidth"
    collective = benchmark not in _POINT_TO_POINT.values()
    return _Table(benchmark, 2 if between_two else ranks, collective=collective)


def _record(table: _Table, ranks: int, words: Sequence[str], where: str) -> Record:
    values = dict(zip(table.columns, words, strict=False))
    size = whole(values["Size"], where) if "Size" in values else None
    validation = values.get("Validation")
    numbers = {name: number(word, where) for name, word in values.items() if name != "Validation"}
    metrics = list(_metrics(table, numbers))
    return record(
        table.case(ranks, size), metrics, check=None if validation is None else validation == "Pass"
    )


def _metrics(table: _Table, values: Mapping[str, float]) -> Iterator[Metric]:
    count = int(values.get("Iterations", 0))
    percentiles = {
        int(percentile[1]): value * 1e-6
        for name, value in values.items()
        if (percentile := re.match(r"P(\d+) Tail Lat", name))
    }
    for name, value in values.items():
        column = name.replace(" ", "").lower()
        if column in ("latency(us)", "avglatency(us)"):
            ours = "time_rank_mean" if table.collective else "time"
            yield metric(ours, "s", value * 1e-6, count, percentiles)
        elif column in _TIMES:
            yield metric(_TIMES[column], "s", value * 1e-6, count)
        elif column == "overlap(%)":
            yield metric("overlap", "%", value, count)
        elif column in ("bandwidth(mb/s)", "mb/s"):
            yield metric("bandwidth", "B/s", value * _MEGABYTE, count)
        elif column == "messages/s":
            yield metric("message_rate", "1/s", value, count)


_TIMES = {
    "minlatency(us)": "time_rank_min",
    "maxlatency(us)": "time_rank_max",
    "overall(us)": "time_overlapped",
    "compute(us)": "time_compute",
    "purecomm.(us)": "time",
}
