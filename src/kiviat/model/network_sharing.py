"""Questions for published rows of programs that share a network (analysis.published.arrangements)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kiviat.analysis.published.arrangements import CLAIMS, Arrangement, Claim
from kiviat.machine.modelled.machine import Machine
from kiviat.model.question import Answer, Question, Row, Want, value_of
from kiviat.record.types import Record

_SENT = "message_bytes"


def want(program: str, where: Arrangement) -> Want:
    """Return the case of a program, class B, in an arrangement of its ranks."""
    return Want(
        program, where.ranks, axes={"class": "B"}, per_node=where.per_node, place=where.place, bind=where.bind
    )


def network_bytes(record: Record, arrangement: Arrangement) -> float | None:
    """Return the bytes between different nodes, None if the record has no message matrix."""
    table = next((table for table in record.tables if table.name == _SENT), None)
    if table is None or record.outcome != "ok":
        return None
    ranks = len(dict(table.axes)["to"])
    return sum(
        value or 0.0
        for index, value in enumerate(table.values)
        if arrangement.node(index // ranks % ranks) != arrangement.node(index % ranks)
    )


def _questioner(claim: Claim) -> Callable[[Machine, Row], Question]:
    pairs = [(program, where) for program in claim.programs for where in claim.arrangements]

    def ask(machine: Machine, row: Row) -> Question:
        def of(records: Sequence[Record]) -> Answer:
            by_pair = dict(zip(pairs, records, strict=True))

            def value(program: str, where: Arrangement) -> float | None:
                record = by_pair[program, where]
                return value_of(record, "rate") if claim.quantity == "rate" else network_bytes(record, where)

            return claim.answered(value)

        return Question(row, tuple(want(program, where) for program, where in pairs), of)

    return ask


NETWORK_SHARING: Mapping[str, Callable[[Machine, Row], Question]] = {
    row: _questioner(claim) for row, claim in CLAIMS.items()
}
