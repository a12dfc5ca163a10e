"""STREAM: the table of stream.c, with or without threads, and of its MPI version."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import replace

from kiviat.ingest.formats import hpcc
from kiviat.ingest.reported import Case, metric, record
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar

NAME = "STREAM"
# It often runs without a launcher: only a launch that starts a program of this name says anything of it.
ALONE = "stream"

_HEAD = re.compile(r"^Function\s+(?:Best )?Rate \(?MB/s\)?", re.MULTILINE)
_LOOP = re.compile(r"^(Copy|Scale|Add|Triad):\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", re.MULTILINE)
_BEGIN = re.compile(r"^STREAM version", re.MULTILINE)
_COUNTED = re.compile(r"Number of Threads (?:counted|requested)[^\d\n]*=\s*(\d+)", re.IGNORECASE)
_RANKS = re.compile(r"distributed across (\d+) MPI ranks", re.IGNORECASE)
_EACH = re.compile(r"uses (\d+) bytes per (?:array element|DOUBLE)")
_ELEMENTS = re.compile(r"Array size = (\d+)(?: \(elements\)|,)")
_FIRST = ("Triad", "Copy", "Scale", "Add")


def sniff(text: str) -> bool:
    """True for text with the head of STREAM's table, but not for that of HPC Challenge, which has it too."""
    return _HEAD.search(text) is not None and not hpcc.sniff(text)


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each table, with rates per rank; the MPI version prints the sum over ranks.

    Processes that ran at the same time, each with a table, make one record: mean and extremes over them.
    InputError if a table says that it is of no rank.
    """
    for distributed in _RANKS.finditer(text):
        if not int(distributed[1]):
            line = text.count("\n", 0, distributed.start()) + 1
            raise InputError(f"{where} line {line} says {distributed[0]!r}; is the file complete?")
    heads = list(_HEAD.finditer(text))
    if _at_once(text, heads, ranks):
        return _record(text, len(heads))
    ends = [head.start() for head in heads[1:]]
    # A table's description begins where the rows of the table before it end.
    starts = [0, *(_end_of_rows(text, head.end(), end) for head, end in zip(heads, ends, strict=False))]
    ends = [*starts[1:], len(text)]
    return [
        found
        for start, end in zip(starts, ends, strict=True)
        for found in _record(text[start:end], None if len(heads) > 1 else ranks)
    ]


def _at_once(text: str, heads: Sequence[re.Match[str]], ranks: int | None) -> bool:
    """True if several processes began before the first of them printed a table, or made `ranks` tables."""
    if len(heads) < 2 or _RANKS.search(text):
        return False
    return len(heads) == ranks or len(_BEGIN.findall(text, 0, heads[0].start())) > 1


def _end_of_rows(text: str, start: int, end: int) -> int:
    begin = _BEGIN.search(text, start, end)
    return begin.start() if begin else end


def _record(text: str, processes: int | None) -> list[Record]:
    """Return the record of one table, or of those of `processes` that ran at once; none without rows."""
    rates: dict[str, list[float]] = {}
    for loop in _LOOP.finditer(text):
        rates.setdefault(loop[1], []).append(float(loop[2]) * 1e6)
    if not rates:
        return []
    distributed = _RANKS.search(text)
    count = int(distributed[1]) if distributed else processes or 1
    shared = count if len(next(iter(rates.values()))) == 1 else 1
    axes: dict[str, Scalar] = {}
    elements = _ELEMENTS.search(text)
    if elements:
        each = _EACH.search(text)
        axes["memory"] = 3 * (int(each[1]) if each else 8) * int(elements[1]) // shared
    if threads := [int(number) for number in _COUNTED.findall(text)]:
        # Version 5.10 prints the requested and then the counted threads of each process; the latter ran.
        axes |= {"threads": threads[-1]} if threads[-1] > 1 else {}
    metrics = [_rate(name, rates[name], shared) for name in _FIRST if name in rates]
    valid = "Solution Validates" in text
    failed = "Failed Validation" in text
    return [
        record(
            Case("stream", count, None, axes),
            metrics,
            check=False if failed else True if valid else None,
            wrong="STREAM's validation failed",
        )
    ]


def _rate(name: str, rates: Sequence[float], shared: int) -> Metric:
    """Return the mean over processes, with the extremes; a sum over ranks is shared by them.

    Each rate is the best of a process's iterations, so it is one value, not their mean.
    """
    if len(rates) == 1:
        return metric(name.lower(), "B/s", rates[0] / shared, 1)
    mean = metric(name.lower(), "B/s", statistics.fmean(rates), len(rates))
    return replace(mean, min=min(rates), max=max(rates))
