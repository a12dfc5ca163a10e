"""Errors of validated rows by kind and class, beside a null model (docs/adr/0010-words-for-errors.md)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kiviat.analysis.published.question import Row, all_rows
from kiviat.analysis.published.verdict import Verdict
from kiviat.machine.modelled.machine import Machine
from kiviat.record.published import System

# Kinds by what a row measures. Rows left out repeat one of these: b_eff accumulated is b_eff per process.
_KINDS: Mapping[str, str] = {
    "b_eff.b_eff_per_process": "b_eff",
    "b_eff.rings_at_lmax_per_process": "rings at L_max",
    "b_eff.pingpong_bandwidth": "point to point",
    "b_eff.pingpong_latency": "point to point",
    "pingpong.bandwidth": "point to point",
    "pingpong.time": "point to point",
    "sendrecv.bandwidth": "point to point",
    "streaming.pair_bandwidth": "point to point",
}
_RANDOM = "random patterns at L_max"
_REPEATED = {"b_eff.b_eff", "b_eff.at_lmax", "b_eff.at_lmax_per_process", "b_eff.rings_at_lmax"}
_PINGPONG = "b_eff.pingpong_bandwidth"
_DROPS = "drop"


def kind(row: Row) -> str | None:
    """Return the kind of a row with a number; None if it repeats another row's quantity."""
    fact = row.number
    if fact is None or fact.measures in _REPEATED:
        return None
    asks = fact.claims[0].asks if fact.claims else ""
    if asks == "square_over":
        return _RANDOM
    return _KINDS.get(fact.measures, "point to point" if asks == _DROPS else "other")


def is_fitted(machine: Machine, row: Row) -> bool:
    """Return whether the machine, or the base of a variant, was fitted to the row."""
    return row.id in (*machine.calibrated_on, *machine.base_rows)


@dataclass(frozen=True)
class Score:
    """Median error of the rows of a kind and class; `null` is that of the null model, None if it has none."""

    machine: str
    kind: str
    fitted: bool
    rows: int
    median: float
    worst: float
    null: float | None


def scores(machine: Machine, verdicts: Sequence[Verdict]) -> Iterator[Score]:
    """Yield the scores of a machine by kind, rows that it was fitted to apart from all others."""
    groups: dict[tuple[str, bool], list[Verdict]] = {}
    for one in verdicts:
        named = kind(one.row)
        if named and one.error is not None and one.holds is None:
            groups.setdefault((named, is_fitted(machine, one.row)), []).append(one)
    for (named, fitted), found in sorted(groups.items()):
        errors = [abs(one.error or 0.0) for one in found]
        nulls = [abs(error) for one in found if (error := null_error(one.row)) is not None]
        null = statistics.median(nulls) if len(nulls) == len(found) else None
        yield Score(machine.name, named, fitted, len(found), statistics.median(errors), max(errors), null)


def null_error(row: Row) -> float | None:
    """Return the error of the null model: the row's own ping-pong times other machines' ratio to theirs.

    The ratio is the geometric mean over the other machines of the paper, weighted alike. None for rows
    without a ping-pong beside them, and for ping-pongs.
    """
    fact = row.number
    if fact is None or kind(row) not in ("b_eff", "rings at L_max", _RANDOM):
        return None
    wanted = kind(row) or ""
    own = _pingpong(row.system)
    ratios: dict[tuple[str, str], list[float]] = {}
    for other in all_rows():
        number, name = other.number, (other.system.machine, other.system.mode)
        if number is None or name == (row.system.machine, row.system.mode) or kind(other) != wanted:
            continue
        if beside := _pingpong(other.system):
            ratios.setdefault(name, []).append(number.value / beside)
    if own is None or not ratios:
        return None
    logarithms = [statistics.fmean(map(math.log, each)) for each in ratios.values()]
    return own * math.exp(statistics.fmean(logarithms)) / fact.value - 1


def _pingpong(system: System) -> float | None:
    """Return the ping-pong bandwidth published beside a system's other rows, or for as many processes."""
    for other in all_rows():
        of = other.system
        alike = (of.machine, of.mode, of.processes) == (system.machine, system.mode, system.processes)
        if alike and other.number is not None and other.number.measures == _PINGPONG:
            return other.number.value
    return None
