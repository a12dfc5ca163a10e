"""Power at a point of a curve, performance per watt, and energy to solution.

Following Martin, Leiker, Laros and Doerfler (section 8), the power of a machine is that of the sockets in
use: 64 ranks use 11 sockets of six cores at 15 W, or 64 sockets of one core at 115 W. Power declared per
socket is multiplied by the sockets used, power per node by the nodes used; meters measure whole nodes.
Without a declaration or meter, energy is unavailable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kiviat.analysis.aggregate.nodes import nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid, of_kernel
from kiviat.record.run import DeclaredWatts, Launch, Run
from kiviat.record.traits import Traits


@dataclass(frozen=True, slots=True)
class Power:
    """Watts of all that is used, the quantity per watt (rates only), and joules of one solution.

    `origin` is "measured", "declared" or "unavailable"; `words` names the source, or the reason.
    """

    watts: float | None
    per_watt: float | None
    joules: float | None
    origin: str
    words: str


# Metrics that power adds to those of a benchmark, their units and the metrics that they need.
POWER_METRICS: Mapping[str, str] = {"power": "time", "energy": "time", "rate_per_watt": "rate"}


def at_size(run: Run, ranks: int) -> Run:
    """Return the run with only those launches that had `ranks` ranks.

    With all if cases ran on a part of them.
    """
    own = tuple(launch for launch in run.launches if launch.world == ranks)
    return replace(run, launches=own) if own else run


def nodes_used(run: Run, ranks: int) -> int | None:
    """Return the number of nodes that `ranks` ranks used; None if launches differ or it is unknown."""
    nodes = nodes_of(at_size(run, ranks), ranks)
    return None if nodes is None else nodes.count(ranks)


def sockets_of(run: Run, ranks: int) -> int | None:
    """Return the number of sockets that `ranks` ranks use; None if launches differ or it is unknown."""
    used = _sockets_or_why(run, ranks)
    return used if isinstance(used, int) else None


_UNKNOWN = "how many are used is not known"
_UNBOUND = "ranks are not bound to a socket"


def _sockets_or_why(run: Run, ranks: int) -> int | str:
    """Return the number of sockets that `ranks` ranks use, or the reason why it is unknown.

    If the processors of each rank are unknown, as on modelled machines, ranks fill the sockets of their node.
    """
    run = at_size(run, ranks)
    cores = run.machine.cores
    counts = {_sockets(launch, ranks, cores) for launch in run.launches if launch.reaches(ranks)}
    found = counts.pop() if len(counts) == 1 else _UNBOUND if _UNBOUND in counts else _UNKNOWN
    if isinstance(found, int):
        return found
    modelled = _modelled_sockets(run, ranks)
    return found if modelled is None else modelled


def _sockets(launch: Launch, ranks: int, cores: int | None) -> int | str:
    """Return the number of sockets that the ranks of a launch use, or the reason why it is unknown.

    A rank that may run on several uses one of them, and which is not known; but ranks that are as many as the
    `cores` of their node use all.
    """
    allowed: dict[int | str, list[frozenset[str]]] = {}
    for rank in launch.ranks:
        if rank.rank < ranks:
            allowed.setdefault(rank.node_or_host, []).append(frozenset(numbers_in(rank.sockets or "")))
    used = 0
    for of_node in allowed.values():
        bound = frozenset[str]().union(*(sockets for sockets in of_node if len(sockets) == 1))
        every = frozenset[str]().union(*of_node)
        if not all(of_node):
            return _UNKNOWN
        if bound != every and (cores is None or len(of_node) < cores):
            return _UNBOUND
        used += len(every)
    return used or _UNKNOWN


def numbers_in(text: str) -> list[str]:
    """Return the numbers in a list as the kernel writes it: "0,2-3" gives 0, 2 and 3."""
    found = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += [str(one) for one in range(int(first), int(last or first) + 1)]
    return found


def _modelled_sockets(run: Run, ranks: int) -> int | None:
    model, nodes = run.machine.model, nodes_of(run, ranks)
    if model is None or nodes is None:
        return None
    spread = run.bind == "co-processor"
    used = 0
    for node in set(nodes.of[:ranks]):
        own = nodes.of[:ranks].count(node)
        used += min(model.sockets, own if spread else math.ceil(own / model.cores))
    return used


def whole_factor(summary: Summary, traits: Traits) -> float:
    """Return the factor that converts a quantity to that of all ranks together."""
    alone = traits.per_rank or summary.axes.get("scope") == "star"
    return float(summary.ranks) if alone and summary.better == "higher" else 1.0


def powered(metric: str, summary: Summary, power: Power) -> Summary | None:
    """Return the summary of a metric of POWER_METRICS, from that of the metric it needs; None without power.

    Its values vary as those of `summary` do, except watts, which are one number.
    """
    if metric == "power":
        return None if power.watts is None else _as(summary, metric, "W", "lower", 0.0, power.watts)
    if metric == "energy":
        value, unit, better = power.joules, "J", "lower"
    else:
        value, unit, better = power.per_watt, _per_watt(summary.unit), "higher"
    return None if value is None else _as(summary, metric, unit, better, value / summary.median)


def _per_watt(unit: str) -> str:
    """Return the unit of a rate per watt: flop/J for flop/s."""
    return f"{unit.removesuffix('/s')}/J"


def _as(summary: Summary, metric: str, unit: str, better: str, factor: float, value: float = 0.0) -> Summary:
    """Return the summary with all its values times a factor, plus a value that does not vary."""

    def of(one: float | None) -> float | None:
        return None if one is None or not factor else one * factor

    return replace(
        summary,
        metric=metric,
        unit=unit,
        better=better,
        median=summary.median * factor + value,
        low=of(summary.low),
        high=of(summary.high),
        minimum=of(summary.minimum),
        maximum=of(summary.maximum),
        mean=of(summary.mean),
        p90=of(summary.p90),
        p99=of(summary.p99),
        launch_medians=tuple(one * factor + value for one in summary.launch_medians),
    )


def power_of(
    run: Run, summary: Summary, factor: float, grids: Sequence[Grid], seconds: float | None
) -> Power:
    """Return the power of a summary.

    `factor` converts the quantity to that of all ranks; `seconds` is the time of the case, None if it has
    none.
    """
    note = summary.notes.get("energy", "")
    tables = {
        grid.name: grid
        for grid in grids
        if (grid.run, grid.case) == (summary.run, summary.case) and grid.name in ("power", "energy")
    }
    watts = joules = None
    origin, words = "unavailable", note.removeprefix("unavailable: ") or "neither meters nor declared watts"
    if (declared := run.machine.declared_watts) is not None:
        watts, words = _declared(run, summary.ranks, declared)
        origin = "unavailable" if watts is None else "declared"
    elif (measured := of_kernel(tables.get("power"), summary)) is not None:
        watts, joules = measured, of_kernel(tables.get("energy"), summary)
        origin, words = ("declared" if note.startswith("declared") else "measured"), note
    if watts is None:
        return Power(None, None, None, origin, words)
    if joules is None and (time := summary.median if summary.unit == "s" else seconds) is not None:
        joules = watts * time
    per_watt = summary.median * factor / watts if summary.better == "higher" else None
    return Power(watts, per_watt, joules, origin, words)


def _declared(run: Run, ranks: int, declared: DeclaredWatts) -> tuple[float | None, str]:
    value, per = declared.value, declared.per
    source = f"declared: {value:g} W per {per} ({declared.source})"
    used = _sockets_or_why(run, ranks) if per == "socket" else nodes_used(run, ranks) or _UNKNOWN
    if isinstance(used, str):
        return None, f"{source}, but {used}"
    return value * used, source
