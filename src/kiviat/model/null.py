"""The null model: what a prediction must be better than to show skill (docs/adr/0010-words-for-errors.md)."""

from __future__ import annotations

import math
import statistics

from kiviat.analysis.published.question import Row, all_rows
from kiviat.record.published import System

_PINGPONG = "b_eff.pingpong_bandwidth"
# Bandwidths of b_eff that the null model calls proportional to a ping-pong.
_PROPORTIONAL = ("b_eff.b_eff", "b_eff.at_lmax", "b_eff.rings_at_lmax")
_PER_PROCESS = "_per_process"
_RANDOM_PATTERNS = "square_over"


def null_error(row: Row) -> float | None:
    """Return the error of the null model: the row's own ping-pong times other machines' ratio to theirs.

    The ratio, of bandwidths per process, is the geometric mean over the other machines of the paper, weighted
    alike. None for rows that are no bandwidth of b_eff, and for those without a ping-pong beside them.
    """
    fact, wanted = row.number, _asks(row)
    if fact is None or not wanted:
        return None
    per_process = fact.value if _is_per_process(row) else fact.value / (row.system.processes or 1)
    own = _pingpong(row.system)
    ratios: dict[tuple[str, str], list[float]] = {}
    for other in all_rows():
        number, name = other.number, (other.system.machine, other.system.mode)
        if (
            number is None
            or name == (row.system.machine, row.system.mode)
            or _asks(other) != wanted
            or not _is_per_process(other)
        ):
            continue
        if beside := _pingpong(other.system):
            ratios.setdefault(name, []).append(number.value / beside)
    if own is None or not ratios:
        return None
    logarithms = [statistics.fmean(map(math.log, each)) for each in ratios.values()]
    return own * math.exp(statistics.fmean(logarithms)) / per_process - 1


def _asks(row: Row) -> str:
    """Return what a row of b_eff asks for, accumulated or per process; empty for all other rows."""
    fact = row.number
    if fact is None:
        return ""
    if fact.claims and fact.claims[0].asks == _RANDOM_PATTERNS:
        return _RANDOM_PATTERNS
    stem = fact.measures.removesuffix(_PER_PROCESS)
    return stem if stem in _PROPORTIONAL else ""


def _is_per_process(row: Row) -> bool:
    measures = row.number.measures if row.number else ""
    return _asks(row) == _RANDOM_PATTERNS or measures.endswith(_PER_PROCESS)


def _pingpong(system: System) -> float | None:
    """Return the ping-pong bandwidth published beside a system's other rows, or for as many processes."""
    for other in all_rows():
        of = other.system
        alike = (of.machine, of.mode, of.processes) == (system.machine, system.mode, system.processes)
        if alike and other.number is not None and other.number.measures == _PINGPONG:
            return other.number.value
    return None
