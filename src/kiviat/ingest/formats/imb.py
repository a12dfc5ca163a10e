"""Intel MPI Benchmarks: the tables of IMB-MPI1, IMB-NBC and IMB-MT, from Pallas 2.2.1 to version 2021.

A MByte is 2^20 bytes in versions before 2019 and 10^6 since. Because version 2021 may report itself as 2018,
the unit is derived from the times, or rates of messages, and bandwidths in the tables; only where they do not
tell, it is that of the version in the title, and of 2018 a note says that it is unknown. t_max of
point-to-point benchmarks becomes `time`, because their bandwidth is computed from it; the three times of
collectives are statistics over the ranks' means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

from kiviat.ingest.reported import Case, metric, record, whole
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar

NAME = "IMB-MPI1"

_TITLE = re.compile(r"Intel ?\(R\) MPI Benchmark|PALLAS MPI Benchmark Suite")
_SECTION = re.compile(r"# Benchmarking (\S+)")
_PROCESSES = re.compile(r"# #processes = (\d+)(?: \(threads: (\d{1,9})\))?")  # threads: of IMB-MT
_WAITING = re.compile(r"# \( ?(\d+) additional processes? waiting")
_MODE = re.compile(r"#\s+MODE: (NON-)?AGGREGATE")  # of IMB-EXT: many transfers in an epoch, or one
_GROUPS = re.compile(r"# \( ?(\d+) groups of (\d+) processes each")
# The last line of IMB, and headings of other programs.
_END = re.compile(r"# (?:All processes entering|OSU|OMB|nThread|Collective test) |#@|#[ \t]+size\b")
_WHOLE = ("Group", "#bytes", "#repetitions")
_NOT_MEASURED = re.compile(r"(?:out-of-mem|int-overflow|time-out)\b")
_LOOP_TIMED = ("pingpong", "pingping", "sendrecv", "exchange", "barrier")
# Number of messages that one rank moves in the reported time.
_MESSAGES = {
    **dict.fromkeys(("pingpong", "pingpongspecificsource", "pingponganysource"), 1),
    **dict.fromkeys(("pingping", "pingpingspecificsource", "pingpinganysource"), 1),
    **dict.fromkeys(("unidir_get", "unidir_put"), 1),
    **{"sendrecv": 2, "exchange": 4},
}
_NEW, _OLD = 1e6, 2.0**20
_VERSION = re.compile(r"(?:Intel ?\(R\)|PALLAS) MPI Benchmark(?:s| Suite)? V?(\d{1,4})(?!\d)")
_UNCLEAR = 2018
# Values with two decimals of at least this tell the two units, which differ by 4.9 %, from each other.
_TELLING = 0.5
_FREQUENT = 100.0  # messages per second, which IMB rounds to whole numbers
# The command line in IMB's output; some switches change the measured quantity.
_CALLED = re.compile(r"# \S*IMB-(\w+(?:-GPU)?) (.*)")
_MORE = re.compile(r"#\s{2,}(\S.*)")  # the C versions break it every sixth word, and indent what follows
_ROOTED = ("bcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
_REDUCING = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "reduce_local")
_OTHER_NAMES = {"uniband": {"window": 256}, "biband": {"window": 256}}


def sniff(text: str) -> bool:
    """True for text with the title of IMB or Pallas MPI Benchmarks, or the head of one of their tables."""
    return _TITLE.search(text) is not None or (_SECTION.search(text) is not None and "#repetitions" in text)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each line of the tables, which include the number of ranks."""
    lines = list(_lines(text, where))
    derived = _megabyte(lines) or _of_version(text)
    megabyte = derived or _NEW
    records: list[Record] = []
    groups: dict[str, int] = {}
    for line in lines:
        measured = line.record(megabyte)
        if derived is None and measured.metric("bandwidth"):
            measured = replace(measured, notes=_UNKNOWN)
        if "Group" in line.columns and measured.case in groups:
            # -multi 1 prints every group; the slowest counts, as with -multi 0.
            at = groups[measured.case]
            records[at] = max(records[at], measured, key=_slowness)
            continue
        groups[measured.case] = len(records)
        records.append(measured)
    return records


def _slowness(group: Record) -> float:
    slowest = group.metric("time") or group.metric("time_rank_max")
    return slowest.mean if slowest and slowest.mean else 0.0


@dataclass
class _Table:
    """The current section: its benchmark, processes and columns."""

    benchmark: str
    ranks: int | None = None
    axes: dict[str, Scalar] = field(default_factory=dict)
    columns: Sequence[str] = ()
    strays: int = 0  # lines since the last row that begin with a number but are not rows

    def note(self, line: str) -> None:
        """Keep the number of processes, or the axis, that a comment states."""
        if processes := _PROCESSES.match(line):
            self.ranks = int(processes[1])
            if processes[2]:
                self.axes["threads"] = int(processes[2])
        elif waiting := _WAITING.match(line):
            self.axes["world"] = (self.ranks or 0) + int(waiting[1])
        elif groups := _GROUPS.match(line):
            self.ranks = int(groups[1]) * int(groups[2])
            self.axes["group"] = int(groups[2])
        elif mode := _MODE.match(line):
            self.axes["aggregate"] = "off" if mode[1] else "on"

    def has_row(self, words: Sequence[str]) -> bool:
        """True if words are a row: with all columns, or with IMB's reason for having no numbers."""
        if at := _reason_at(words):
            return all(word.isdecimal() for word in words[:at])
        return len(words) >= len(self.columns) and all(
            word.isdecimal() if name in _WHOLE else _is_number(word)
            for name, word in zip(self.columns, words, strict=False)
        )


@dataclass(frozen=True)
class _Line:
    """A line of a table. `values` is None if the line has text, `reason`, instead of numbers."""

    benchmark: str
    ranks: int
    axes: Mapping[str, Scalar]
    columns: Sequence[str]
    size: int | None
    values: Mapping[str, float] | None
    reason: str

    def record(self, megabyte: float) -> Record:
        case = Case(self.benchmark, self.ranks, self.size, self.axes)
        if self.values is None:
            return record(case, (), skipped=self.reason or "no numbers in the line")
        defects = self.values.get("defects")
        metrics = list(_metrics(self.benchmark, self.values, self.size, megabyte))
        return record(case, metrics, check=None if defects is None else defects == 0)


@dataclass
class _Switches:
    """Switches of IMB's command line, whose last word so far is `last`."""

    program: str = ""
    values: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def add(self, words: Iterable[str]) -> None:
        """Read further words of the command line."""
        for word in words:
            if self.last.startswith("-"):
                self.values[self.last.lstrip("-")] = word
            self.last = word

    def axes(self, benchmark: str) -> dict[str, Scalar]:
        """Return the axes of a benchmark that differ from the default."""
        base, switches = benchmark.removeprefix("i"), self.values
        axes: dict[str, Scalar] = dict(_OTHER_NAMES.get(benchmark, {}))
        if "window" in axes and switches.get("window_size", "").isdecimal():
            axes["window"] = int(switches["window_size"])
        if switches.get("off_cache", "0") not in ("0", "0.0"):
            axes["cache"] = "off"
        if _on(switches.get("root_shift")) and base in _ROOTED:
            axes["shift"] = 1
        if _on(switches.get("imb_barrier")):
            axes["barrier"] = "imb"
        if switches.get("sync") is not None and not _on(switches["sync"]):
            axes["sync"] = "off"
        usual, switch = ("float", "red_data_type") if base in _REDUCING else ("byte", "data_type")
        if (datatype := switches.get(switch, usual).lower()) != usual:
            axes["datatype"] = datatype
        memory = switches.get("mem_alloc_type", "device" if self.program.endswith("GPU") else "cpu").lower()
        return axes if memory == "cpu" else axes | {"buffer": memory}


def _on(word: str | None) -> bool:
    return (word or "").lower() in ("1", "on", "yes", "enable", "true")


def _lines(text: str, where: str) -> Iterator[_Line]:
    table: _Table | None = None
    switches = _Switches()
    called = more = None
    for number, line in enumerate(text.splitlines(), 1):
        more = _MORE.match(line) if called or more else None
        called = _CALLED.match(line)
        if section := _SECTION.match(line):
            name = section[1].lower().removeprefix("multi-")
            table = _Table(name, axes=switches.axes(name))
        elif called:
            switches = _Switches(called[1])
            switches.add(called[2].split())
        elif more:
            switches.add(more[1].split())
        elif table is None:
            continue
        elif _END.match(line):
            table = None
        elif line.startswith("#") and "#repetitions" not in line:
            table.note(line)
        elif "#repetitions" in line:
            table.columns = line.split()
        elif table.columns and (words := line.split()) and _is_number(words[0]):
            table.strays = 0 if table.has_row(words) else table.strays + 1
            if table.strays > 1:
                table.columns = ()  # The table has ended.
            elif table.strays:
                continue  # The output of another program.
            elif table.ranks is None:
                raise InputError(
                    f"{where} line {number}: the number of processes of {table.benchmark} is missing; "
                    "the file is not complete"
                )
            else:
                yield _line(table, table.ranks, words, f"{where} line {number}")


def _reason_at(words: Sequence[str]) -> int:
    """Return where IMB's reason for a line without numbers begins; 0 in a line with numbers."""
    return next((at for at, word in enumerate(words) if _NOT_MEASURED.match(word)), 0)


def _line(table: _Table, ranks: int, words: Sequence[str], where: str) -> _Line:
    columns = dict(zip(table.columns, words, strict=False))
    reason = _reason_at(words)
    complete = not reason and all(isfinite(float(word)) for word in columns.values())
    return _Line(
        table.benchmark,
        ranks,
        dict(table.axes),
        table.columns,
        whole(columns["#bytes"], where) if "#bytes" in columns else None,
        {name: float(word) for name, word in columns.items()} if complete else None,
        " ".join(words[reason or sum(name.startswith("#") for name in table.columns) :]),
    )


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


_UNKNOWN = {
    "bandwidth": "a MByte is taken as 10^6 bytes; nothing tells whether it is 2^20, which is 4.9 % more"
}


def _megabyte(lines: Sequence[_Line]) -> float | None:
    """Return the bytes in a MByte, derived from the line that tells most; None if none does."""
    bandwidths = list(filter(None, map(_bandwidths, lines)))
    if not bandwidths:
        return None
    _, computed, reported = max(bandwidths)
    return min((_NEW, _OLD), key=lambda megabyte: abs(computed / megabyte - reported))


def _bandwidths(line: _Line) -> tuple[float, float, float] | None:
    """Return how well a line tells the unit, its bandwidth computed in B/s, and the reported one in MByte/s.

    The bandwidth is computed from the rate of messages, or from the time. None for lines that do not tell.
    """
    values = line.values or {}
    reported = values.get("Mbytes/sec", 0.0)
    if not line.size or reported < _TELLING:
        return None
    if rate := values.get("Msg/sec"):
        return (reported, rate * line.size, reported) if rate >= _FREQUENT else None
    time = values.get("t[usec]") or values.get("t_max[usec]") or 0.0
    if time < _TELLING or line.benchmark not in _MESSAGES:
        return None
    return min(time, reported), _MESSAGES[line.benchmark] * line.size / time * 1e6, reported


def _of_version(text: str) -> float | None:
    """Return the bytes in a MByte of the version in the title; None if that does not tell."""
    version = _VERSION.search(text)
    if version is None or int(version[1]) == _UNCLEAR:
        return None
    return _NEW if int(version[1]) > _UNCLEAR else _OLD


def _metrics(
    benchmark: str, values: Mapping[str, float], size: int | None, megabyte: float
) -> Iterator[Metric]:
    count = max(0, int(values.get("#repetitions", 0)))
    times = {
        "t[usec]": "time",
        "t_max[usec]": "time" if benchmark in _LOOP_TIMED else "time_rank_max",
        "t_avg[usec]": "time_rank_mean",
        "t_min[usec]": "time_rank_min",
        "t_pure[usec]": "time",
        "t_CPU[usec]": "time_compute",
        "t_ovrl[usec]": "time_overlapped",
    }
    for column, name in times.items():
        if column in values:
            yield metric(name, "s", values[column] * 1e-6, count)
    if "overlap[%]" in values:
        yield metric("overlap", "%", values["overlap[%]"], count)
    if "Mbytes/sec" in values and size:
        yield metric("bandwidth", "B/s", values["Mbytes/sec"] * megabyte, count)
    if "Msg/sec" in values:
        yield metric("message_rate", "1/s", values["Msg/sec"], count)
