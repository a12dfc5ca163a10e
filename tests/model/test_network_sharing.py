"""Rows about shared networks: the paper's percentages, computed from made-up rates and bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest

from kiviat.analysis.published.cases import arrangement
from kiviat.analysis.published.question import Case
from kiviat.analysis.published.results import key, lookup_in, network_bytes
from kiviat.analysis.published.verdict import Verdict, judge
from kiviat.machine.modelled.machine import find_machine
from kiviat.model.validation import validation
from kiviat.record.types import Record, Table
from tests.store.made_up import metric, record

Bytes = Callable[[int, int], float]


def of(text: str) -> Case:
    return arrangement("cg", text, {"class": "B"})


ALONE, CO_PROCESSOR, FOUR = of("16x1"), of("8x2 bind=co-processor"), of("4x4")
CYCLIC, BLOCKED = of("16x4"), of("16x4 place=blocked")


def record_of(ranks: int, rate: float = 1.0, sent: Bytes = lambda source, target: 1.0) -> Record:
    names = tuple(map(str, range(ranks)))
    values = tuple(sent(source, target) for source in range(ranks) for target in range(ranks))
    table = Table(
        "message_bytes", "B", "lower", (("kernel", ("cg",)), ("from", names), ("to", names)), values
    )
    return record("r", metrics=(metric("rate", unit="op/s", p50=rate),), tables=(table,))


def verdict(name: str, records: Sequence[Record]) -> Verdict:
    questions = {question.row.id: question for question in validation(find_machine("vt-myri10g"))}
    by_case = {key(case): one for case, one in zip(questions[name].cases, records, strict=True)}
    return judge(questions[name], lookup_in(by_case))


def to_all(source: int, target: int) -> float:
    return float(source != target)


def to_partner(source: int, target: int) -> float:
    """Four partners at powers of two: all on other nodes if placed cyclically, two of them if blocked."""
    return float((source ^ target) in (1, 2, 4, 8))


def test_ranks_have_the_nodes_that_placement_gives_them() -> None:
    assert [CYCLIC.node(rank) for rank in (0, 1, 16, 17)] == [0, 1, 0, 1]
    assert [BLOCKED.node(rank) for rank in (0, 3, 4, 63)] == [0, 0, 1, 15]
    both = CO_PROCESSOR
    assert (both.ranks, both.per_node, both.place, both.bind) == (16, 2, "cyclic", "co-processor")
    assert both.axes == {"class": "B"}


@pytest.mark.parametrize(
    ("placed", "share"), [(ALONE, 1), (CO_PROCESSOR, 14 / 15), (FOUR, 12 / 15), (BLOCKED, 60 / 63)]
)
def test_an_exchange_of_all_stays_on_the_node_as_often_as_a_random_peer(placed: Case, share: float) -> None:
    ranks = placed.ranks
    sent = network_bytes(record_of(ranks, sent=to_all), placed)
    assert sent == pytest.approx(ranks * (ranks - 1) * share)


def test_a_reduction_of_network_bytes_is_the_farthest_of_all() -> None:
    records = [record_of(16, sent=to_all) for _ in range(4)]
    assert verdict("V-011", records).answer == pytest.approx(100 / 15)
    halved = [record_of(64, sent=to_partner) for _ in range(2)]
    assert verdict("V-031", halved).answer == pytest.approx(0.5)
    far = [record_of(16, sent=lambda s, t: float((t - s) % 16 == 1)) for _ in range(10)]
    assert verdict("V-012", far).answer == pytest.approx(0)


def test_losses_and_gains_are_of_the_rates() -> None:
    """The fourth of seven programs loses most."""
    losing = [0.9, 0.95, 0.8, 0.75, 0.99, 0.85, 0.9]
    records = [record_of(16, rate) for loss in losing for rate in (2.0, 2.0 * loss)]
    assert verdict("V-001", records).answer == pytest.approx(25)
    assert verdict("V-001", records).holds
    assert verdict("V-002", records).holds
    records[1] = record_of(16, 2.1)
    assert verdict("V-002", records).holds is False
    assert verdict("V-025", [record_of(64, 1.0), record_of(64, 1.2)]).error == pytest.approx(20 / 17 - 1)


def test_a_failed_program_leaves_no_answer() -> None:
    failed = record("r", outcome="failed", reason="it died", metrics=(), tables=())
    said = verdict("V-025", [record_of(64), failed])
    assert said.answer is None
    assert "it died" in said.words
    assert verdict("V-031", [record_of(64), failed]).answer is None
    assert math.isfinite(network_bytes(record_of(16), ALONE) or math.nan)
