"""Rows of programs whose ranks share a network (analysis.published.arrangements), as cases to simulate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kiviat.analysis.published.arrangements import CLAIMS, Arrangement, Claim
from kiviat.machine.modelled.machine import Machine
from kiviat.model.question import Answer, Question, Row, Want, value_of
from kiviat.record.types import Record

_SENT = "message_bytes"


def want(program: str, where: Arrangement) -> Want:
    return Want(
        program, where.ranks, axes={"class": "B"}, per_node=where.per_node, place=where.place, bind=where.bind
    )


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


def _asked(claim: Claim) -> Callable[[Machine, Row], Question]:
    pairs = [(program, where) for program in claim.programs for where in claim.arrangements]

    def asked(machine: Machine, row: Row) -> Question:
        def of(records: Sequence[Record]) -> Answer:
            found = dict(zip(pairs, records, strict=True))

            def value(program: str, where: Arrangement) -> float | None:
                record = found[program, where]
                return value_of(record, "rate") if claim.quantity == "rate" else network_bytes(record, where)

            return claim.answered(value)

        return Question(row, tuple(want(program, where) for program, where in pairs), of)

    return asked


NETWORK_SHARING: Mapping[str, Callable[[Machine, Row], Question]] = {
    row: _asked(claim) for row, claim in CLAIMS.items()
}
