"""Communicators between two groups of a recorded program: messages and bytes of their replay are arithmetic.

The groups have three and two ranks. Ranks of the first are in descending order, so ranks of a group, of both
groups and of the world differ.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain

from .conftest import Record, replayed

Built = Callable[..., Path]

RANKS = 5
REDUCED = 2 + 1  # messages of a reduction or broadcast within both groups
# Messages and bytes of each call. In calls of all ranks each group works within itself, and its first rank
# exchanges the result with that of the other.
CALLS = {
    "messages": (9, 1000 * (3 + 2 + 4 + 5) + 4 * 50 + 9),
    # Dissemination in two rounds and in one, of empty messages.
    "barrier": (3 * 2 + 2 * 1 + 2 + REDUCED, 2 + REDUCED),
    "bcast": (2, 2 * 2000),
    "reduce": (2, 2 * 2000),
    "allreduce": (2 * REDUCED + 2, 8 * 2000),
    "gather": (2, 2 * 300),
    "scatter": (2, 2 * 300),
    "gatherv": (2, 110 + 111),
    "scatterv": (2, 110 + 111),
    "allgather": (2 * REDUCED + 2, 2 * 10 + 20 + (3 * 10 + 2 * 20) + 2 * (2 * 20) + 3 * 10),
    "allgatherv": (12, 2 * (100 + 101 + 102) + 3 * (100 + 101)),
    "alltoall": (12, 6 * 10 + 6 * 20),
    "alltoallv": (12, 2 * 6 * 100 + 10 * (2 * (0 + 1 + 2) + 3 * (0 + 1)) + 3 * (0 + 1) + 2 * (0 + 1 + 2)),
    "reduce_scatter_block": (2 * REDUCED + 2, 5 * 1200 + 2 * 400 + 600),
    "reduce_scatter": (2 * REDUCED + 2, 5 * 1200 + 3 * 200),
    "ibarrier": (12, 12),
    "ibcast": (2, 2 * 2000),
    "iallreduce": (12, 12 * 2000),
    "iallgather": (12, 6 * 10 + 6 * 20),
}
# New communicators cost messages of the simulator, too: 4 B from each member but the first.
MADE = {"merge": 10 * (1 + 2 + 3 + 4 + 5), "dup": 4 * 10, "split": 2 + 1}


def sent(
    folder: Path, record: Record, toolchain: Toolchain, program: Path, *names: str
) -> tuple[float, float]:
    """Return messages and bytes of a replay of some calls."""
    recorded = record(toolchain, program, *names, ranks=RANKS)
    assert (recorded.status, recorded.out) == (0, "done\n"), recorded.err
    found = replayed(folder, recorded.path, "--speed", "inf")
    messages, bytes_ = (found[f"network_{what}"] + found[f"node_{what}"] for what in ("messages", "bytes"))
    return messages, bytes_


@pytest.mark.both_mpis
def test_calls_between_two_groups(toolchain: Toolchain, built: Built, record: Record, tmp_path: Path) -> None:
    program = built(toolchain, "groups.c")
    none, all_of_them = (sent(tmp_path, record, toolchain, program, *names) for names in ((), CALLS))
    expected = [sum(counts) for counts in zip(*CALLS.values(), strict=True)]
    assert [many - few for many, few in zip(all_of_them, none, strict=True)] == expected


@pytest.mark.full
@pytest.mark.parametrize("name", CALLS)
def test_each_call(name: str, openmpi: Toolchain, built: Built, record: Record, tmp_path: Path) -> None:
    program = built(openmpi, "groups.c")
    none, one = (sent(tmp_path, record, openmpi, program, *names) for names in ((), (name,)))
    assert (one[0] - none[0], one[1] - none[1]) == CALLS[name]


def test_communicators_made_of_two_groups(
    openmpi: Toolchain, built: Built, record: Record, tmp_path: Path
) -> None:
    program = built(openmpi, "groups.c")
    none, all_of_them = (sent(tmp_path, record, openmpi, program, *names) for names in ((), MADE))
    made = [4, 4 + 2 + 1, 2 + 1]  # merged; both groups and each of them; the same, one rank less each
    assert all_of_them[1] - none[1] == sum(MADE.values()) + 4 * sum(made)
