"""b_eff 3.x, the effective bandwidth benchmark: its files .prot, .short and .sum, and its closing line.

Its MB are 10^6 bytes; the memory per process, of which the longest message is 1/128, is in units of 2^20. The
logarithmic averages of rings and random patterns, and the patterns beside them, are those of the official
analysis path, which .short has; .sum has some of them without decimals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kiviat.ingest.reported import Case, metric, number, record, whole
from kiviat.record import InputError, Metric, Record
from kiviat.record.types import Scalar, Table

NAME = "b_eff"

_HEAD = re.compile(r"^b_eff\.c, Revision (\S+)", re.MULTILINE)
_CLOSING = re.compile(
    r"^b_eff((?:SHORT)?&?(?:TEST)?) = +(\S+) MB/s = +(\S+) \* +(\d+) PEs with +(\d+) MB/PE", re.MULTILINE
)
_LENGTHS = re.compile(r"^msglng=((?: \d+)+)\s*$", re.MULTILINE)
_MB, _US = 1e6, 1e-6
# 1/128 of the memory of a process, at most 128 MB; with the bytes in a MB of memory.
_SHARE, _MOST = 128, 128 << 20
# The largest message of Kiviat's own b_eff if nothing else is asked for.
_USUAL_LARGEST = 1 << 20
# Metrics of ours: the line of their number, and its unit.
_VALUES = {
    "rings": (r"^ log_avg of all rings  : .*\|\| +\S+ -> +(\S+) MByte/s", _MB),
    "randoms": (r"^ log_avg of all random : .*\|\| +\S+ -> +(\S+) MByte/s", _MB),
    "at_lmax": (r"^b_eff at Lmax: +(\S+) MByte/s on ", _MB),
    "rings_at_lmax": (r"^b_eff at Lmax \(ring pattern\): +(\S+) MByte/s on ", _MB),
    "pingpong_bandwidth": (r"^Ping-pong bandwidth at Lmax: +(\S+) MByte/s at ", _MB),
    "pingpong_latency": (r"^Ping-pong latency: +(\S+) microsec", _US),
    "worst_order": (r"^ p\d+ worst-cyc-1dim +:\(.*-> +(\S+) MByte/s", _MB),
    "grid_2d": (r"^ p\d+ cyclic-2dim-all +:\(.*-> +(\S+) MByte/s", _MB),
    "grid_3d": (r"^ p\d+ cyclic-3dim-all +:\(.*-> +(\S+) MByte/s", _MB),
}
_LINES = {name: (re.compile(line, re.MULTILINE), unit) for name, (line, unit) in _VALUES.items()}
# The last path of analysis is the official one; others before it have lines that begin alike.
_OFFICIAL = "SECTION-BY-PATTERN-MSGLNG-BEGIN"
_SHARED = ("at_lmax", "rings_at_lmax")
# The summary: ranks, b_eff, Lmax, b_eff at Lmax (of all, of rings), three latencies, ping-pong.
_SUMMARY = re.compile(
    r"^accumulated \| +\d+ +\S+ +\d+ MB +(\S+) +(\S+) +\S+ +\S+ +(\S+) +(\S+) *$", re.MULTILINE
)
_OF_SUMMARY = ("at_lmax", "rings_at_lmax", "pingpong_latency", "pingpong_bandwidth")
_BY_SIZE = re.compile(r"^ +(\d+) +\S+ +(\S+) +(\S+) +(\S+)(?: +\S+)+ *$", re.MULTILINE)


def sniff(text: str) -> bool:
    """True for text with the head of a file, or with the line that closes all of them."""
    return _HEAD.search(text) is not None or _CLOSING.search(text) is not None


def parse(text: str, where: str, ranks: int | None = None) -> list[Record]:
    """Return a record for each closing line; InputError for a file without one."""
    closings = list(_CLOSING.finditer(text))
    if not closings:
        raise InputError(f"{where} has no closing line 'b_eff = …'; is the file complete?")
    starts = [0, *(closing.end() for closing in closings[:-1])]
    return [
        _record(text[start : closing.end()], closing, where)
        for start, closing in zip(starts, closings, strict=True)
    ]


def _record(text: str, closing: re.Match[str], where: str) -> Record:
    kind, accumulated, share, count, memory = closing.groups()
    ranks, mbytes = whole(count, where), whole(memory, where)
    axes: dict[str, Scalar] = {"version": kind.replace("&", "-").lower()} if kind else {}
    lengths = _LENGTHS.search(text)
    largest = whole(lengths[1].split()[-1], where) if lengths else min(_MOST, (mbytes << 20) // _SHARE)
    if largest != _USUAL_LARGEST:
        axes["lmax"] = largest
    values = {
        "b_eff": number(accumulated, where) * _MB,
        "b_eff_per_process": number(share, where) * _MB,
        **_values(text, where),
    }
    for name in _SHARED:
        if name in values and ranks:
            values[f"{name}_per_process"] = values[name] / ranks
    metrics = [_metric(name, value) for name, value in values.items()]
    head = _HEAD.search(text)
    notes = {"version": f"b_eff {head[1]}"} if head else {}
    found = record(Case("b_eff", ranks, None, axes), metrics)
    return replace(found, notes=notes, tables=tuple(_by_size(text, where)))


def _metric(name: str, value: float) -> Metric:
    return metric(name, "s" if name == "pingpong_latency" else "B/s", value, 1)


def _values(text: str, where: str) -> dict[str, float]:
    """Return what the official path and the summary tell; what was not measured, 0 there, is left out."""
    official = text[text.rfind(_OFFICIAL) :] if _OFFICIAL in text else ""
    found = {}
    for name, (line, unit) in _LINES.items():
        if match := line.search(official):
            found[name] = number(match[1], f"{where}, {name}") * unit
    if not found and (summary := _SUMMARY.search(text)):
        for name, word in zip(_OF_SUMMARY, summary.groups(), strict=True):
            found[name] = number(word, f"{where}, {name}") * _LINES[name][1]
    return {name: value for name, value in found.items() if value > 0}


def _by_size(text: str, where: str) -> Iterator[Table]:
    """Yield the bandwidth per process by message length: the averages of all patterns, rings and randoms."""
    start, end = text.find("SECTION-BY-MSGLNG-BEGIN"), text.find("SECTION-BY-MSGLNG-END")
    lines = _BY_SIZE.findall(text[start:end]) if 0 <= start < end else []
    if lines:
        sizes, *columns = zip(*lines, strict=True)
        values = [number(word, where) * _MB for column in columns for word in column]
        axes = (("patterns", ("all", "rings", "random")), ("bytes", tuple(sizes)))
        known = tuple(value if value > 0 else None for value in values)
        yield Table("bandwidth_per_process", "B/s", "higher", axes, known)
