"""Values of quantities in single records, such as those of simulated cases."""

from __future__ import annotations

from collections.abc import Mapping

from kiviat.analysis.published.question import Case, Lookup, Quantity, Value
from kiviat.record.types import Record

# Metric of claims about the bytes of messages between different nodes.
NETWORK_BYTES = "network_bytes"
_SENT = "message_bytes"


def lookup_in(records: Mapping[str, Record]) -> Lookup:
    """Return a function that looks up quantities in simulated records, by the `key` of their cases."""

    def look(quantity: Quantity) -> Value:
        record = records.get(key(quantity.case))
        if record is None:
            return Value(None, f"no result of {quantity.case.benchmark} on {quantity.case.ranks} ranks")
        if record.outcome != "ok":
            return Value(None, f"{record.case} failed: {record.reason}")
        if quantity.metric == NETWORK_BYTES:
            value, unit = network_bytes(record, quantity.case), "B"
        else:
            value = value_of(record, quantity.metric)
            unit = found.unit if (found := record.metric(quantity.metric)) else ""
        return Value(
            value, "" if value is not None else "the simulation does not contain this quantity", True, unit
        )

    return look


def key(case: Case) -> str:
    """Return a text that is the same for equal cases."""
    return repr(case)


def value_of(record: Record, name: str) -> float | None:
    """Return the median of a metric, or its mean if it has none; None if it is missing or the case failed."""
    metric = record.metric(name)
    if metric is None or record.outcome != "ok":
        return None
    return metric.mean if metric.p50 is None else metric.p50


def network_bytes(record: Record, case: Case) -> float | None:
    """Return the bytes between different nodes, None if the record has no message matrix."""
    table = next((table for table in record.tables if table.name == _SENT), None)
    if table is None or record.outcome != "ok":
        return None
    ranks = len(dict(table.axes)["to"])
    return sum(
        value or 0.0
        for index, value in enumerate(table.values)
        if case.node(index // ranks % ranks) != case.node(index % ranks)
    )
