"""Published claims that are not single quantities (orderings, ratios, shapes of curves), by the row's id.

Kiviat's interpretations, such as of "almost constant", are defined here and listed in
docs/reference/validation.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from kiviat.machine.modelled.machine import Machine
from kiviat.model.network_sharing import NETWORK_SHARING
from kiviat.model.question import Answer, Question, Row, Want, value_of, values_of
from kiviat.record.types import Record

_MIB = 1 << 20
# "Almost constant" and "the same": the maximum exceeds the minimum by at most this fraction.
_SAME = 0.1


def _b_eff_per_process_falls(machine: Machine, row: Row) -> Question:
    """Compare increasing, small numbers of processes; the claim itself is about all numbers."""
    numbers = (8, 16, 32) if machine.cores >= 16 else (4, 8, machine.cores)
    wants = tuple(Want("b_eff", ranks) for ranks in numbers if ranks <= machine.cores)

    def falls(records: Sequence[Record]) -> Answer:
        values = values_of(records, "b_eff_per_process")
        return all(before > after for before, after in pairwise(values)) if len(values) > 1 else None

    return Question(row, wants, falls)


def _drop_of_pingping(machine: Machine, row: Row) -> Question:
    """Return the question for the drop in percent, at 1 MiB, between ranks 0 and 1."""

    def drop(records: Sequence[Record]) -> Answer:
        values = values_of(records, "bandwidth")
        return 100 * (1 - values[1] / values[0]) if values else None

    return Question(row, (Want("pingpong", 2, _MIB), Want("pingping", 2, _MIB)), drop)


def _same_at_all_distances(machine: Machine, row: Row) -> Question:
    distances = (2, 4, 8, 16)
    wants = tuple(Want("pingpong", 2, size, {"distance": d}) for size in (8, _MIB) for d in distances)

    def same(records: Sequence[Record]) -> Answer:
        values = values_of(records, "time")
        parts = values[: len(distances)], values[len(distances) :]
        return all(max(part) <= (1 + _SAME) * min(part) for part in parts) if values else None

    return Question(row, wants, same)


def _sendrecv_constant(machine: Machine, row: Row) -> Question:
    numbers = sorted({32, 64, 128, 256, min(machine.cores, 256)})
    wants = tuple(Want("sendrecv", ranks, _MIB) for ranks in numbers if 16 < ranks <= machine.cores)
    if len(wants) < 2:
        return Question(
            row, not_asked=f"the machine has {machine.cores} cores: too few to compare numbers above 16"
        )

    def constant(records: Sequence[Record]) -> Answer:
        values = values_of(records, "bandwidth")
        return max(values) <= (1 + _SAME) * min(values) if values else None

    return Question(row, wants, constant)


def _sendrecv_best_at_two(machine: Machine, row: Row) -> Question:
    wants = tuple(Want("sendrecv", ranks, _MIB) for ranks in (2, 4, 8, 16) if ranks <= machine.cores)

    def best(records: Sequence[Record]) -> Answer:
        values = values_of(records, "bandwidth")
        return values[0] >= max(values[1:]) if len(values) > 1 else None

    return Question(row, wants, best)


def _off_node_beats_on_node(machine: Machine, row: Row) -> Question:
    wants = (Want("pingpong", 2, 4 * _MIB, per_node=1), Want("pingpong", 2, 4 * _MIB))

    def beats(records: Sequence[Record]) -> Answer:
        values = values_of(records, "bandwidth")
        return values[0] > values[1] if values else None

    return Question(row, wants, beats)


def _rises_beyond_64_kb(machine: Machine, row: Row) -> Question:
    """Return whether the time is 5 % shorter than extrapolated from 32 and 64 KiB to 256 KiB."""
    sizes = (32 << 10, 64 << 10, 256 << 10)
    wants = tuple(Want("sendrecv", 2, size, per_node=1) for size in sizes)

    def rises(records: Sequence[Record]) -> Answer:
        times = values_of(records, "time")
        if not times:
            return None
        s_per_byte = (times[1] - times[0]) / (sizes[1] - sizes[0])
        return times[1] + s_per_byte * (sizes[2] - sizes[1]) > 1.05 * times[2]

    return Question(row, wants, rises)


def _best_above_4_mb(machine: Machine, row: Row) -> Question:
    wants = tuple(Want("sendrecv", 2, size * _MIB, per_node=1) for size in (1, 2, 4, 8, 16))

    def best(records: Sequence[Record]) -> Answer:
        values = values_of(records, "bandwidth")
        return max(values[3:]) > max(values[:3]) if values else None

    return Question(row, wants, best)


def _falls_as_cores_grow(machine: Machine, row: Row) -> Question:
    wants = tuple(Want("sendrecv", ranks, _MIB) for ranks in (2, 4, 6))

    def falls(records: Sequence[Record]) -> Answer:
        values = values_of(records, "bandwidth")
        return all(before > after for before, after in pairwise(values)) if values else None

    return Question(row, wants, falls)


def _both_ways(machine: Machine, row: Row) -> Question:
    """Return the question for the higher bandwidth of the two benchmarks that the row names."""
    stream = Want("streaming", 2, None, {"long": 8 * _MIB}, per_node=1)
    sendrecv = Want("sendrecv", 2, 8 * _MIB, per_node=1)

    def highest(records: Sequence[Record]) -> Answer:
        streaming, exchange = value_of(records[0], "pair_bandwidth"), value_of(records[1], "bandwidth")
        return None if streaming is None or exchange is None else max(streaming, exchange)

    return Question(row, (stream, sendrecv), highest)


def _chance_of_another_node(per_node: int) -> Callable[[Machine, Row], Question]:
    """Compute the percentage of the P - 1 other ranks that are on other nodes, without simulation."""

    def ask(machine: Machine, row: Row) -> Question:
        ranks = row.system.processes or 0
        return Question(row, (), lambda records: 100 * (ranks - per_node) / (ranks - 1))

    return ask


CLAIMS: Mapping[str, Callable[[Machine, Row], Question]] = {
    "F2-022": _b_eff_per_process_falls,
    "F2-032": _drop_of_pingping,
    "F2-046": _same_at_all_distances,
    "H-056": _sendrecv_constant,
    "H-057": _sendrecv_best_at_two,
    "S-003": _off_node_beats_on_node,
    "S-006": _rises_beyond_64_kb,
    "S-007": _best_above_4_mb,
    "S-009": _falls_as_cores_grow,
    "S-018": _both_ways,
    "V-009": _chance_of_another_node(2),
    "V-010": _chance_of_another_node(4),
    **NETWORK_SHARING,
}
