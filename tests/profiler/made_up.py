"""A fabricated profile: halo exchange on a torus with a reduction in every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from kiviat.profile import Calls, Interfaces, Profile, Traffic, Waits
from kiviat.profile.profile import Groups

SIZES = 36


def halo_profile(side: int = 4, per_node: int = 4, steps: int = 100, **changes: Any) -> Profile:
    """Return the profile of side × side ranks; each rank waits 0.1 s longer than the one before it."""
    ranks = side * side
    node = np.arange(ranks) // per_node
    entries = []
    lines: list[dict[str, Any]] = []
    for rank in range(ranks):
        row, column = divmod(rank, side)
        there = [
            (row + 1) % side * side + column,
            (row - 1) % side * side + column,
            row * side + (column + 1) % side,
            row * side + (column - 1) % side,
        ]
        entries += [(rank, other, steps, 1000 * steps) for other in there]
        far = [int(node[other] != node[rank]) for other in there]
        sent = [0, 1000 * steps * (4 - sum(far)), 0, 0, 1000 * steps * sum(far)]
        lines.append(
            _line(rank, "MPI_Isend", [0, 4 * steps, 0, 0, 0], [0, 0.1, 0, 0, 0], sent, 4 * steps, 10)
        )
        lines.append(
            _line(rank, "MPI_Waitall", [0, 0, 0, 0, steps], [0, 0, 0, 0, 1 + rank / 10], [0] * 5, 0, None)
        )
        reduced = [0, 0, 0, 0, 2 * 8 * (ranks - 1) // ranks * steps]
        lines.append(_line(rank, "MPI_Allreduce", [0, 0, 0, 0, steps], [0, 0, 0, 0, 0.5], reduced, steps, 4))
    columns = {name: np.array([line[name] for line in lines]) for name in lines[0]}
    none = Traffic.of_entries(ranks, [])
    ones = np.ones(ranks, dtype=np.int64)
    groups = Groups(
        np.arange(ranks), ranks * ones, 0 * ones, ones, 2 * steps * ones, 0 * ones, 8 * steps * ones
    )
    fields: dict[str, Any] = {
        "path": "halo.profile",
        "program": "halo <b>",
        "library": "Open MPI v4.1.4",
        "ranks": ranks,
        "seen": np.ones(ranks, dtype=np.bool_),
        "ended": np.ones(ranks, dtype=np.bool_),
        "node": node,
        "socket": np.zeros(ranks, dtype=np.int64),
        "hosts": tuple(f"n{one}" for one in node),
        "cpus": ("0-3",) * ranks,
        "seconds": np.full(ranks, 10.0),
        "threads": np.zeros(ranks, dtype=np.int64),
        "thread_count": np.ones(ranks, dtype=np.int64),
        "started_s": 1_700_000_000,
        "inside": {},
        "calls": Calls(**columns),
        "files": Calls(**{name: column[:0] for name, column in columns.items()}),
        "sent": Traffic.of_entries(ranks, entries),
        "fetched": none,
        "rows": none,
        "groups": groups,
        "crossed": None,
        "interfaces": tuple(Interfaces(int(one), 5_000_000, 5_000_000) for one in np.unique(node)),
        "memory_bytes": 60_000,
        "remarks": (),
    }
    fields |= changes
    return Profile(**{"thread_s": fields["seconds"], **fields})


def halo_waits(ranks: int = 16) -> Waits:
    """Return fabricated wait states: in the reduction all ranks wait 0.3 s for the last one, whose clock
    differs; in MPI_Waitall each waits 0.1 s for its predecessor.
    """
    early, rank = np.arange(ranks - 1), np.arange(1, ranks)
    last = np.full(ranks - 1, ranks - 1)
    both = np.concatenate([early, rank])
    half = ranks - 1
    return Waits(
        rank=both,
        cause=np.concatenate([last, rank - 1]),
        call=np.array(["MPI_Allreduce"] * half + ["MPI_Waitall"] * half),
        kind=np.array(["imbalance"] * half + ["late sender"] * half),
        count=np.full(2 * half, 100),
        seconds=np.array([0.3] * half + [0.1] * half),
        longest_s=np.full(2 * half, 0.01),
        error_s=np.array([0.001] * half + [0.0] * half),
        clocks=2,
        recorded=9600,
        remarks=("3 receives match no recorded send",),
    )


def _line(
    rank: int,
    name: str,
    calls: list[int],
    seconds: list[float],
    sent: list[int],
    messages: int,
    size: int | None,
) -> dict[str, Any]:
    sizes = np.zeros(SIZES, dtype=np.int64)
    if size is not None:
        sizes[size] = messages
    return {
        "rank": rank,
        "phase": 1,
        "name": name,
        "calls": calls,
        "seconds": [float(one) for one in seconds],
        "bytes": sent,
        "messages": messages,
        "longest_s": sum(seconds) / 2,
        "sizes": sizes,
    }
