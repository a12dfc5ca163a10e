"""What Narayanaswamy, Balaji and Feng say of NAS programs whose ranks share a node's network.

"Impact of Network Sharing in Multi-core Architectures" (2008), sections 4.3 and 4.4: class B of seven
programs on 16 ranks with one, two or four of them a node, and on 64 ranks with four. Ranks go to nodes
cyclically unless the row says blocked; two ranks of a node have a socket each unless it says virtual
(processor).

Performance is the program's rate. A loss is 1 less the quotient of the rates, a gain the quotient less 1; of
a loss that the paper gives for the worst program the worst of ours counts, whichever that is. Network bytes
are those of all messages between different nodes, also inside collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kiviat.machine.model import Machine
from kiviat.model.question import Answer, Question, Row, Want, values_of
from kiviat.record.types import Record

SEVEN = ("bt", "cg", "ft", "is", "lu", "mg", "sp")
_ALL_TO_ALL = ("ft", "is")
_NEIGHBOURS = ("bt", "cg", "lu", "mg", "sp")
_ALL_BUT_CG = ("bt", "ft", "is", "lu", "mg", "sp")
_SENT = "message_bytes"


@dataclass(frozen=True)
class Arrangement:
    """So many nodes with so many ranks each, as the paper writes them: 16X1, 8X2, 4X4, 16X4."""

    nodes: int
    per_node: int
    place: str = "cyclic"
    bind: str | None = None

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    def node(self, rank: int) -> int:
        return rank % self.nodes if self.place == "cyclic" else rank // self.per_node

    def want(self, program: str) -> Want:
        return Want(
            program, self.ranks, axes={"class": "B"}, per_node=self.per_node, place=self.place, bind=self.bind
        )


ALONE = Arrangement(16, 1)
CO_PROCESSOR = Arrangement(8, 2, bind="co-processor")
VIRTUAL_PROCESSOR = Arrangement(8, 2, bind="virtual-processor")
FOUR = Arrangement(4, 4)
CYCLIC = Arrangement(16, 4)
BLOCKED = Arrangement(16, 4, place="blocked")


def network_bytes(record: Record, arrangement: Arrangement) -> float | None:
    """Bytes between different nodes; None where the record has no map of its messages."""
    table = next((table for table in record.tables if table.name == _SENT), None)
    if table is None or record.outcome != "ok":
        return None
    ranks = len(dict(table.axes)["to"])
    return sum(
        value or 0.0
        for index, value in enumerate(table.values)
        if arrangement.node(index // ranks % ranks) != arrangement.node(index % ranks)
    )


_Claim = Callable[[Machine, Row], Question]


def _of_rates(
    programs: Sequence[str],
    first: Arrangement,
    second: Arrangement,
    answer: Callable[[Sequence[float]], Answer],
) -> _Claim:
    """`answer` gets, for each program, its rate in the second arrangement over that in the first."""

    def asked(machine: Machine, row: Row) -> Question:
        wants = tuple(where.want(program) for program in programs for where in (first, second))

        def of(records: Sequence[Record]) -> Answer:
            rates = values_of(records, "rate")
            return answer([b / a for a, b in zip(rates[::2], rates[1::2], strict=True)]) if rates else None

        return Question(row, wants, of)

    return asked


def _of_bytes(
    programs: Sequence[str], arrangements: Sequence[Arrangement], answer: Callable[[float], float]
) -> _Claim:
    """`answer` gets network bytes in an arrangement over those in the first: of all the farthest from 1."""

    def asked(machine: Machine, row: Row) -> Question:
        pairs = [(program, where) for program in programs for where in arrangements]
        wants = tuple(where.want(program) for program, where in pairs)

        def of(records: Sequence[Record]) -> Answer:
            sent = [network_bytes(record, where) for record, (_, where) in zip(records, pairs, strict=True)]
            known = [value for value in sent if value is not None]
            if len(known) < len(sent):
                return None
            count = len(arrangements)
            ratios = [
                value / known[start]
                for start in range(0, len(known), count)
                for value in known[start + 1 : start + count]
            ]
            return answer(max(ratios, key=lambda ratio: abs(ratio - 1)))

        return Question(row, wants, of)

    return asked


def _worst_loss(ratios: Sequence[float]) -> float:
    return 100 * (1 - min(ratios))


def _reduction(ratio: float) -> float:
    return 100 * (1 - ratio)


NETWORK_SHARING: Mapping[str, _Claim] = {
    "V-001": _of_rates(SEVEN, ALONE, CO_PROCESSOR, _worst_loss),
    "V-002": _of_rates(SEVEN, ALONE, CO_PROCESSOR, lambda ratios: max(ratios) < 1),
    "V-011": _of_bytes(_ALL_TO_ALL, (ALONE, CO_PROCESSOR), _reduction),
    "V-012": _of_bytes(_NEIGHBOURS, (ALONE, CO_PROCESSOR), _reduction),
    "V-016": _of_bytes(("cg",), (ALONE, CO_PROCESSOR, FOUR), _reduction),
    "V-017": _of_rates(SEVEN, CO_PROCESSOR, VIRTUAL_PROCESSOR, _worst_loss),
    "V-018": _of_rates(SEVEN, CO_PROCESSOR, VIRTUAL_PROCESSOR, lambda ratios: max(ratios) < 1),
    "V-025": _of_rates(("cg",), CYCLIC, BLOCKED, lambda ratios: 100 * (ratios[0] - 1)),
    "V-026": _of_rates(_ALL_BUT_CG, CYCLIC, BLOCKED, lambda ratios: max(ratios) <= 1),
    "V-031": _of_bytes(("cg",), (CYCLIC, BLOCKED), lambda ratio: ratio),
    "V-032": _of_bytes(_ALL_TO_ALL, (CYCLIC, BLOCKED), lambda ratio: -_reduction(ratio)),
}
