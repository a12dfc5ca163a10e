"""STREAM: the table of stream.c, with or without threads, and of its MPI version."""

from __future__ import annotations

import re

from kiviat.ingest.reported import Case, metric, record
from kiviat.record import Record
from kiviat.record.types import Scalar

NAME = "STREAM"

_HEAD = re.compile(r"^Function\s+(?:Best )?Rate \(?MB/s\)?", re.MULTILINE)
_LOOP = re.compile(r"^(Copy|Scale|Add|Triad):\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", re.MULTILINE)
_COUNTED = re.compile(r"Number of Threads (?:counted|requested)[^\d\n]*=\s*(\d+)", re.IGNORECASE)
_RANKS = re.compile(r"distributed across (\d+) MPI ranks", re.IGNORECASE)
_REPEATED = re.compile(r"executed (\d+) times")
_ELEMENTS = re.compile(r"Array size = (\d+) \(elements\)")
_FIRST = ("Triad", "Copy", "Scale", "Add")


def sniff(text: str) -> bool:
    """True for text with the head of STREAM's table."""
    return _HEAD.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return the record of a table, with rates per rank; the MPI version prints the sum over ranks."""
    rates = {loop[1]: float(loop[2]) for loop in _LOOP.finditer(text)}
    if not rates:
        return []
    distributed = _RANKS.search(text)
    count = int(distributed[1]) if distributed else ranks or 1
    axes: dict[str, Scalar] = {}
    elements = _ELEMENTS.search(text)
    if elements:
        axes["memory"] = 24 * int(elements[1]) // count
    if threads := [int(number) for number in _COUNTED.findall(text)]:
        # Version 5.10 prints the requested and then the counted threads of each process; the latter ran.
        axes |= {"threads": threads[-1]} if threads[-1] > 1 else {}
    repeated = _REPEATED.search(text)
    # STREAM itself excludes the first iteration.
    samples = max(1, int(repeated[1]) - 1) if repeated else 1
    metrics = [
        metric(name.lower(), "B/s", rates[name] * 1e6 / count, samples) for name in _FIRST if name in rates
    ]
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
