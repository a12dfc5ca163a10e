"""The null model: what a prediction must be better than to show skill (docs/adr/0010-words-for-errors.md)."""

from __future__ import annotations

import math
import statistics

from kiviat.analysis.published.question import Row, all_rows
from kiviat.record.published import System

_PINGPONG = "b_eff.pingpong_bandwidth"
# Of b_eff, what is proportional to a ping-pong by the null model.
_PER_PROCESS = ("b_eff.b_eff_per_process", "b_eff.rings_at_lmax_per_process")
_RANDOM_PATTERNS = "square_over"


def null_error(row: Row) -> float | None:
    """Return the error of the null model: the row's own ping-pong times other machines' ratio to theirs.

    The ratio is the geometric mean over the other machines of the paper, weighted alike. None for rows
    that are no bandwidth per process of b_eff, and for those without a ping-pong beside them.
    """
    fact, wanted = row.number, _asks(row)
    if fact is None or not wanted:
        return None
    own = _pingpong(row.system)
    ratios: dict[tuple[str, str], list[float]] = {}
    for other in all_rows():
        number, name = other.number, (other.system.machine, other.system.mode)
        if number is None or name == (row.system.machine, row.system.mode) or _asks(other) != wanted:
            continue
        if beside := _pingpong(other.system):
            ratios.setdefault(name, []).append(number.value / beside)
    if own is None or not ratios:
        return None
    logarithms = [statistics.fmean(map(math.log, each)) for each in ratios.values()]
    return own * math.exp(statistics.fmean(logarithms)) / fact.value - 1


def _asks(row: Row) -> str:
    """Return what a row of b_eff per process asks for; empty for all other rows."""
    fact = row.number
    if fact is None:
        return ""
    if fact.claims and fact.claims[0].asks == _RANDOM_PATTERNS:
        return _RANDOM_PATTERNS
    return fact.measures if fact.measures in _PER_PROCESS else ""


def _pingpong(system: System) -> float | None:
    """Return the ping-pong bandwidth published beside a system's other rows, or for as many processes."""
    for other in all_rows():
        of = other.system
        alike = (of.machine, of.mode, of.processes) == (system.machine, system.mode, system.processes)
        if alike and other.number is not None and other.number.measures == _PINGPONG:
            return other.number.value
    return None
