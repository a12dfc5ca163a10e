"""GPCNeT: the tables of network_test and network_load_test, plain and verbose.

The layout is that of print_results and print_comparison_results (utils.c): a line for each test, with the
mean and the 99th percentile, which is of the slowest calls for bandwidths, too. MiB/s/rank are 2^20 bytes per
second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kiviat.ingest.reported import Case, metric, number, record, whole
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar

NAME = "GPCNeT"

_START = re.compile(r"^Network ?(?:Load )?Tests v(\S+)\s*$", re.MULTILINE)
_RANKS = re.compile(r"^\s*Test with (\d+) MPI ranks \((\d+) nodes\)", re.MULTILINE)
_TEST = re.compile(r"(.+?)(?: \(\s*(\d+) B\))?$")
_UNITS = {"usec": ("s", 1e-6, "latency"), "MiB/s/rank": ("B/s", 2.0**20, "bandwidth")}
_BESIDE = {
    "Isolated Network Tests": "nothing",
    "Isolated Congestion Tests": "nothing",
    "Network Tests running with Congestion Tests": "congestion",
}
# Columns of numbers that hold the mean and the 99th percentile, by the number of columns.
_COLUMNS = {2: (0, 1), 6: (2, 4)}


def sniff(text: str) -> bool:
    """True for text with the title of either program and its number of ranks."""
    return _START.search(text) is not None and _RANKS.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each test and what ran beside it; InputError for lines that are incomplete."""
    match = _RANKS.search(text)
    assert match
    count, nodes = whole(match[1], where), match[2]
    found: dict[str, tuple[Case, dict[str, Metric]]] = {}
    for case, metrics in _lines(text, where, count):
        _, known = found.setdefault(case.id, (case, {}))
        for one in metrics:  # verbose tables repeat the congestors
            known.setdefault(one.name, one)
    start = _START.search(text)
    notes = {"version": f"GPCNeT {start[1]}" if start else "GPCNeT", "nodes": nodes}
    return [replace(record(case, [*known.values()]), notes=notes) for case, known in found.values()]


def _lines(text: str, where: str, ranks: int) -> Iterator[tuple[Case, list[Metric]]]:
    beside = ""
    for at, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            continue
        place = f"{where} line {at}"
        name, *cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not cells:
            beside = next((how for title, how in _BESIDE.items() if name.startswith(title)), "")
            beside = "impact" if name.endswith("Key Results") else beside
        elif beside == "impact" and len(cells) == 2 and cells[0].endswith("X"):
            names = ("congestion_impact", "congestion_impact_p99")
            values = [number(cell.removesuffix("X"), f"{place}, {name}") for cell in cells]
            yield (
                _case(name, "congestion", ranks, place),
                [metric(each, "1", value, 1) for each, value in zip(names, values, strict=True)],
            )
        elif beside in _BESIDE.values() and cells[-1] in _UNITS:
            if len(cells) - 1 not in _COLUMNS:
                raise InputError(f"{place}: {name} has {len(cells) - 1} numbers, not 2 or 6; is it complete?")
            unit, factor, what = _UNITS[cells[-1]]
            mean, p99 = (factor * number(cells[one], f"{place}, {name}") for one in _COLUMNS[len(cells) - 1])
            yield (
                _case(name, beside, ranks, place),
                [metric(what, unit, mean, 1), metric(f"{what}_p99", unit, p99, 1)],
            )


def _case(name: str, beside: str, ranks: int, where: str) -> Case:
    match = _TEST.match(name)
    if match is None or not (test := re.sub(r"[^a-z0-9]+", "_", match[1].lower()).strip("_")):
        raise InputError(f"{where}: {name[:40]!r} is no name of a test; is the file complete?")
    axes: dict[str, Scalar] = {"test": test}
    axes |= {"beside": beside} if beside != "nothing" else {}
    return Case("gpcnet", ranks, int(match[2]) if match[2] else None, axes)
