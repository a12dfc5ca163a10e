"""Assigns ping-pongs of a run to levels of the machine: within a node or across the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kiviat.analysis.aggregate.curves import size_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.record import InputError
from kiviat.record.run import Rank, Run

Curves = Mapping[str, Sequence[Summary]]


def curves(
    run: Run, summaries: Sequence[Summary], benchmark: str = "pingpong", metric: str = "time"
) -> dict[str, list[Summary]]:
    """Return a time of a benchmark of two ranks by size, for each measured level of the machine (LEVELS).

    If several pairs are on a level, the pair with the nearest ranks is used.
    """
    pairs: dict[int, list[Summary]] = {}
    for summary in summaries:
        if summary.benchmark != benchmark or summary.metric != metric or summary.bytes is None:
            continue
        if summary.ranks != 2:
            continue
        distance = summary.axes.get("distance", 1)
        if min(summary.launch_medians) <= 0:
            continue
        if set(summary.axes) <= {"distance"} and isinstance(distance, int):
            pairs.setdefault(distance, []).append(summary)
    levels: dict[str, list[Summary]] = {}
    for distance, points in sorted(pairs.items()):
        level = level_of(run, distance)
        if level not in levels:
            levels[level] = sorted(points, key=size_of)
    return levels


def level_of(run: Run, distance: int) -> str:
    """Return the level that ranks 0 and `distance` share in all launches; InputError if launches differ."""
    seen = set()
    for launch in run.launches:
        ranks = {rank.rank: rank for rank in launch.ranks}
        if 0 in ranks and distance in ranks:
            seen.add(_level(ranks[0], ranks[distance], run.machine.sockets))
    if len(seen) != 1:
        where = "on different levels in different launches" if seen else "in unknown places"
        raise InputError(
            f"ranks 0 and {distance} of run {run.id} were {where}; fit a run that placed its ranks with "
            "--place"
        )
    return seen.pop()


def _level(one: Rank, other: Rank, sockets: int | None) -> str:
    """Return the level of two ranks; "node" if they may move between sockets."""
    if one.node != other.node:
        return "network"
    known = one.sockets and one.sockets == other.sockets and one.sockets.isdecimal()
    return "socket" if known and sockets != 1 else "node"
