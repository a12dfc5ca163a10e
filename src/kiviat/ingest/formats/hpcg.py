"""HPCG: the report of versions 2 to 3.1, in `key=value` or `key: value` form."""

from __future__ import annotations

import re
from itertools import pairwise

from kiviat.ingest.reported import Case, metric, record
from kiviat.record import InputError, Record
from kiviat.record.types import Scalar

NAME = "HPCG"

_TITLE = re.compile(r"^HPCG-Benchmark", re.MULTILINE)
_RATING = re.compile(r"HPCG result is VALID with a GFLOP/s rating of\s*[=:]\s*([\d.]+(?:[eE][-+]?\d+)?)")
_TOTAL = re.compile(
    r"(?:GFLOP/s Summary::|^[ \t]+)Raw Total\s*[=:]\s*([\d.]+(?:[eE][-+]?\d+)?)", re.MULTILINE
)
_PROCESSES = re.compile(r"Distributed Processes\s*[=:]\s*(\d+)")
_THREADS = re.compile(r"Threads per processes\s*[=:]\s*(\d+)")
_LOCAL = re.compile(r"Local Domain Dimensions(?:::|[=:]?\s+)n(x|y|z)\s*[=:]\s*(\d+)")


def sniff(text: str) -> bool:
    """True for text with the title of an HPCG report."""
    return _TITLE.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for the rating of each report; if HPCG declares the result invalid, its check fails.

    InputError if a report lacks the number of processes, and `ranks` is None.
    """
    starts = [title.start() for title in _TITLE.finditer(text)]
    bounds = [0, *starts[1:], len(text)]
    return [found for start, end in pairwise(bounds) for found in _report(text[start:end], where, ranks)]


def _report(text: str, where: str, ranks: int | None) -> list[Record]:
    """Return the record of a report, none without a rating."""
    invalid = "HPCG result is INVALID" in text
    rating = _RATING.search(text) or (_TOTAL.search(text) if invalid else None)
    if rating is None:
        return []
    processes = _PROCESSES.search(text)
    count = int(processes[1]) if processes else ranks
    if not count:
        raise InputError(f"{where}: this output of HPCG lacks the number of processes; give --ranks")
    threads = _THREADS.search(text)
    axes: dict[str, Scalar] = {f"n{axis}": int(size) for axis, size in _LOCAL.findall(text)}
    if threads and int(threads[1]) > 1:
        axes["threads"] = int(threads[1])
    return [
        record(
            Case("hpcg", count, None, axes),
            [metric("rate", "flop/s", float(rating[1]) * 1e9, 1)],
            check=not invalid,
            wrong="HPCG calls the result invalid",
        )
    ]
