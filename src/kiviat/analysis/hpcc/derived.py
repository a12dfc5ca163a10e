"""Ratios of HPC Challenge as results in their own right, for the figures and claims of studies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.hpcc.balance import AXES, Cell, cell
from kiviat.analysis.hpcc.quantities import Size, measured_system
from kiviat.record.run import Run

# The name under which figures and claims ask for them: "balance.stream".
BALANCE = "balance"
# The note that names the bounds of a ratio, which depend on the launches of both parts.
BOUNDS = "bounds"
# Rates of all processes together, in figures 1 and 3 of Saini et al.
_TOTALS = {"ring_total": "ring_bandwidth", "copy_total": "copy"}


def ratios(runs: Sequence[Run], summaries: Sequence[Summary]) -> list[Summary]:
    """Return one summary for each axis of the balance diagram and number of ranks of a machine.

    `runs` are those of the machine; a ratio may come from several that place ranks alike. Metrics are the
    identifiers of `AXES`, and "ring_total" and "copy_total", the random ring bandwidth and STREAM copy of all
    processes in B/s. The note `BOUNDS` names the bounds of a ratio. Simulated kernels are extrapolated to
    full memory, as for `kiviat balance`.
    """
    with_hpl = {one.run for one in summaries if one.benchmark == "hpl"}
    whole = next((run for run in runs if run.id in with_hpl), None)
    if whole is None:
        return []
    alike = {run.id for run in runs if (run.place, run.ranks_per_node) == (whole.place, whole.ranks_per_node)}
    own = [one for one in summaries if one.run in alike]
    of_ranks = {one.ranks: one for one in own}
    return [
        found
        for size in measured_system(whole, "", own).sizes
        if size.processes in of_ranks
        for found in _of_size(size, of_ranks[size.processes])
    ]


def _of_size(size: Size, like: Summary) -> Iterator[Summary]:
    for axis in AXES:
        here = cell(axis, size)
        if here.value is not None:
            better = "higher" if axis.good else "lower"
            yield _summary(like, axis.id, axis.unit, better, here.value, size, here)
    for name, each in _TOTALS.items():
        if (value := size.total(each)) is not None:
            yield _summary(like, name, "B/s", "higher", value, size, Cell(value))


def _summary(
    like: Summary,
    metric: str,
    unit: str,
    better: str,
    median: float,
    size: Size,
    bounded: Cell,
) -> Summary:
    return replace(
        like,
        case=f"{BALANCE}/ranks={like.ranks}",
        benchmark=BALANCE,
        bytes=None,
        axes={},
        metric=metric,
        unit=unit,
        better=better,
        oversubscribed=size.oversubscribed,
        median=median,
        low=bounded.low,
        high=bounded.high,
        minimum=None,
        maximum=None,
        mean=None,
        p90=None,
        p99=None,
        within=None,
        spread=None,
        launch_medians=(median,),
        notes={BOUNDS: bounded.meaning} if bounded.meaning else {},
        numbers={},
        disturbed=int(size.disturbed),
    )
