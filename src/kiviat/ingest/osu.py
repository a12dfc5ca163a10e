"""OSU micro-benchmarks: the tables of the point-to-point and collective programs, version 3 to 7.

They do not print how many ranks there were, but for the multi-pair ones; the user has to say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kiviat.ingest.reported import Case, metric, record
from kiviat.record import InputError, Metric, Record

NAME = "OSU micro-benchmarks"

_TITLE = re.compile(r"# OSU MPI\S* (.+?) (?:Latency |Persistent )*Test v([\d.]+)", re.IGNORECASE)
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
    return _TITLE.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """`ranks` is how many there were; benchmarks between two ranks do without."""
    return list(_records(text, where, ranks))


@dataclass
class _Table:
    benchmark: str
    ranks: int | None
    window: int = _OUR_WINDOW
    columns: Sequence[str] = ()

    @property
    def collective(self) -> bool:
        return self.benchmark not in _POINT_TO_POINT.values()

    def case(self, size: int | None, where: str) -> Case:
        if self.ranks is None:
            raise InputError(
                f"{where}: OSU benchmarks do not print the number of ranks of {self.benchmark}; give --ranks"
            )
        axes = {} if self.window == _OUR_WINDOW else {"window": self.window}
        return Case(self.benchmark, self.ranks, size, axes)


def _records(text: str, where: str, ranks: int | None) -> Iterator[Record]:
    table: _Table | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if title := _TITLE.match(line):
            table = _table(title[1], ranks)
        elif table is None:
            continue
        elif pairs := _PAIRS.match(line):
            table.ranks, table.window = 2 * int(pairs[1]), int(pairs[2])
        elif line.startswith(("# Size", "# Avg Latency", "# Overall")) and "=" not in line:
            table.columns = [name.strip() for name in re.split(r"\s{2,}|(?<=\))\s", line[1:].strip())]
        elif (words := line.split()) and table.columns and words[0].replace(".", "").isdecimal():
            yield _record(table, words, f"{where} line {number}")


def _table(title: str, ranks: int | None) -> _Table:
    name = title.lower().removesuffix(" latency").strip()
    if name.startswith("non-blocking "):
        base = name.removeprefix("non-blocking ")
        return _Table("i" + _COLLECTIVE.get(base, base), ranks)
    benchmark = _POINT_TO_POINT.get(name) or _COLLECTIVE.get(name, name)
    between_two = benchmark in _TWO_RANKS or name == "bandwidth"
    return _Table(benchmark, 2 if between_two else ranks)


def _record(table: _Table, words: Sequence[str], where: str) -> Record:
    values = dict(zip(table.columns, words, strict=False))
    size = int(values["Size"]) if "Size" in values else None
    validation = values.get("Validation")
    numbers = {name: float(word) for name, word in values.items() if name != "Validation"}
    metrics = list(_metrics(table, numbers))
    return record(
        table.case(size, where), metrics, check=None if validation is None else validation == "Pass"
    )


def _metrics(table: _Table, values: Mapping[str, float]) -> Iterator[Metric]:
    count = int(values.get("Iterations", 0))
    percentiles = {
        int(found[1]): value * 1e-6
        for name, value in values.items()
        if (found := re.match(r"P(\d+) Tail Lat", name))
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
