"""OSU micro-benchmarks: the tables of the point-to-point and collective programs, versions 3 to 7.

Only the multi-pair ones print the number of ranks; for others the user gives it. Buffers on accelerators,
datatypes, persistent requests, threads and windows of one-sided operations, printed in headers, are part of
the case. A table ends at the next title, at a comment or number that is not one of its rows, and after one
row if it has no sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kiviat.ingest.reported import Case, PartlyReadError, metric, number, record, whole
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar

NAME = "OSU micro-benchmarks"

_TITLE = re.compile(
    r"# OSU (One Sided )?MPI(?:_(\w+))?(?:-(\w+))? "
    r"(.{1,80}?)((?: Latency| Persistent){0,3}) Test(?: Test)? v[\d.]",
    re.IGNORECASE,
)
_COLUMNS = re.compile(r"# (?:Size|Avg Latency|Overall)|\s*Overall\(us\)")
_NUMBER = re.compile(r"[+-]?(?:\.?\d|nan|inf)", re.IGNORECASE)
_OTHER_TITLE = re.compile(r"# (?:OSU|OMB)[ -]")
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
    "partitioned": "partitioned_pingpong",
    # Kiviat's latency_mt has as many senders as receivers.
    "multi-threaded": "osu_latency_mt",
    "multi-process": "osu_latency_mp",
}
_COLLECTIVE = {
    "broadcast": "bcast",
    "all-to-all personalized exchange": "alltoall",
    "all-to-all": "alltoall",
    "all-to-allv personalized exchange": "alltoallv",
    "all-to-allw personalized exchange": "alltoallw",
}
_TWO_RANKS = ("pingpong", "biband", "partitioned_pingpong", "osu_latency_mt", "osu_latency_mp")
# Printed before the title by osu_latency_mt, after it by osu_latency_mp.
_SENDERS = re.compile(r"# Number of (?:Sender (threads)|forked (processes) in sender): (\d+)")
_RECEIVERS = re.compile(r"# Number of (?:Receiver threads|forked processes in receiver): (\d{1,9})")
_THREADED = ("osu_latency_mt", "osu_latency_mp")
# Version 3 has operations in a row in one-sided bandwidths, and MPI_Win_create.
_OLD_WINDOW = 32
_MEGABYTE = 1e6


def sniff(text: str) -> bool:
    """True for text with the title of an OSU micro-benchmark."""
    return _TITLE.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each line. `ranks` is required unless the benchmark runs between two ranks.

    Raise PartlyReadError if tables lack the number of ranks, or are of unknown benchmarks; InputError for
    rows that are not whole.
    """
    records: list[Record] = []
    left_out = ""
    for found in _records(text, where, ranks):
        if isinstance(found, Record):
            records.append(found)
        else:
            left_out = left_out or found
    if left_out:
        raise PartlyReadError(left_out, records)
    return records


@dataclass
class _Table:
    """A table. `unknown` is its title if its benchmark is not read, `rows` is how many it has had."""

    benchmark: str
    ranks: int | None
    window: int = _OUR_WINDOW
    columns: Sequence[str] = ()
    collective: bool = True
    axes: dict[str, Scalar] = field(default_factory=dict)
    unknown: str = ""
    rows: int = 0
    last_size: int = 0

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
        elif senders := _SENDERS.match(line):
            self.axes[senders[1] or senders[2]] = int(senders[3])
        elif receivers := _RECEIVERS.match(line):
            self._set("receivers", int(receivers[1]), self.axes.get("threads", self.axes.get("processes")))

    def _set(self, axis: str, value: Scalar, usual: Scalar | None) -> None:
        self.axes.pop(axis, None)
        if value != usual:
            self.axes[axis] = value

    def has_row(self, words: Sequence[str], where: str) -> bool:
        """True if the words of a line are a row, False if what follows the table begins there.

        Raise InputError, naming `where`, for a row that is not whole.
        """
        if len(words) > 1 and self.columns[1:2] != ["Validation"] and not _NUMBER.match(words[1]):
            return False
        if len(words) < len(self.columns):
            if len(words) > 1 or words[0] == str(2 * self.last_size or 1):
                raise InputError(
                    f"{where} has {' '.join(words)[:40]!r} for the columns {', '.join(self.columns)}; "
                    "is the file complete?"
                )
            return False
        if words[0].isdecimal():
            self.last_size = int(words[0])
        return True

    def case(self, ranks: int, size: int | None) -> Case:
        axes = {} if self.window == _OUR_WINDOW else {"window": self.window}
        return Case(self.benchmark, ranks, size, self.axes | axes)


def _buffer(where: str, letters: str) -> str:
    return where.lower() + {"MD": "_device", "MH": "_host"}.get(letters.upper(), "")


def _records(text: str, where: str, ranks: int | None) -> Iterator[Record | str]:
    """Yield the records, and for tables that cannot be read what is to be done."""
    table: _Table | None = None
    before: list[str] = []  # the lines on threads, which may precede a title
    for at, line in enumerate(text.splitlines(), 1):
        if title := _TITLE.match(line):
            table = _table(title, ranks)
            for one in before if table.benchmark in _THREADED else ():
                table.note(one)
            before = []
        elif _OTHER_TITLE.match(line):
            table = _Table("", None, unknown=line.strip("# "))
        elif _SENDERS.match(line) or _RECEIVERS.match(line):
            if table and not table.rows and table.benchmark in _THREADED:
                table.note(line)
            else:
                before.append(line)
        elif table is None:
            continue
        elif table.rows and line.startswith("#"):
            table = None
        elif _COLUMNS.match(line) and "=" not in line:
            names = re.split(r"\s{2,}|(?<=\))\s", line.lstrip("# ").rstrip())
            table.columns = [name.strip() for name in names]
        elif line.startswith("#"):
            table.note(line)
        elif (words := line.split()) and table.columns and words[0].replace(".", "").isdecimal():
            is_row = table.has_row(words, f"{where} line {at}")
            if is_row:
                table.rows += 1
                yield _row(table, words, f"{where} line {at}")
            if not is_row or table.unknown or "Size" not in table.columns:
                table = None


def _table(title: re.Match[str], ranks: int | None) -> _Table:
    old, operation, accelerator, words, more = title.groups()
    name = words.lower().removesuffix(" latency").strip()
    table = _one_sided(operation.lower(), name, old=bool(old)) if operation else _two_sided(name, ranks)
    if "persistent" in more.lower():
        table.axes["requests"] = "persistent"
    if accelerator:  # unless a later line names the buffers
        table.axes["buffer"] = "device"
    return table


def _one_sided(operation: str, name: str, *, old: bool) -> _Table:
    """Return the table of a one-sided operation between two ranks; bandwidths use windows of operations."""
    table = _Table(operation, 2, collective=False)
    if old:
        table.axes |= {"memory": "create", "epoch": "lock" if name.startswith("passive") else "pscw"}
        name = name.removeprefix("passive").strip() or "latency"
    if name != "latency":
        table.axes["window"] = _OLD_WINDOW if old else _OUR_WINDOW
    if name.startswith("bi-directional"):
        table.axes["ways"] = "both"
    return table


def _two_sided(name: str, ranks: int | None) -> _Table:
    if name.startswith("non-blocking "):
        return _Table("i" + _collective(name.removeprefix("non-blocking ")), ranks)
    benchmark = _POINT_TO_POINT.get(name) or _collective(name)
    between_two = benchmark in _TWO_RANKS or name == "bandwidth"
    collective = benchmark not in _POINT_TO_POINT.values()
    return _Table(benchmark, 2 if between_two else ranks, collective=collective)


def _collective(name: str) -> str:
    """Return the name of a collective operation, also of one that Kiviat does not have."""
    if name.startswith("neighborhood "):
        return "neighbor_" + _collective(name.removeprefix("neighborhood "))
    return _COLLECTIVE.get(name, name.replace(" ", "_"))


def _row(table: _Table, words: Sequence[str], where: str) -> Record | str:
    """Return the record of a row; if it cannot be read, the sentence that says what to do."""
    if table.unknown:
        title = repr(table.unknown[:60])
        return f"{where}: kiviat does not read the results of {title}; remove them to read the others"
    if table.ranks is None:
        return f"{where}: OSU benchmarks do not print the number of ranks of {table.benchmark}; give --ranks"
    return _record(table, table.ranks, words, where)


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
        elif column in ("bandwidth(mb/s)", "bi-bandwidth(mb/s)", "mb/s"):
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
