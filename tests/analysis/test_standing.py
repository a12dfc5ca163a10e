"""Position of a machine among published ones."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import pytest

from kiviat.analysis.aggregate.summary import summarise
from kiviat.analysis.published.nearest import Odd, distance, odd
from kiviat.analysis.published.standing import AXES, Value, judged, references, standing
from kiviat.report.facts.runs import labels
from kiviat.report.run.front import front, placed
from kiviat.report.table import Cell
from tests.report.hpcc import hpcc_rows, hpcc_run
from tests.report.synthetic import make_rows, make_run, with_launches

AXIS = {axis.id: axis for axis in AXES}


def test_shares_are_decades_between_fixed_ends() -> None:
    latency, memory = AXIS["latency_near"], AXIS["memory"]
    assert [latency.share(value) for value in (1e-3, 1e-4, 1e-5, 1e-7, 1e-8)] == pytest.approx(
        [0, 0, 1 / 3, 1, 1]
    )
    assert (memory.share(1e9), memory.rim) == (pytest.approx(1 / 3), pytest.approx(1e11))


def test_rates_of_ranks_with_threads_are_those_of_several_cores() -> None:
    def of(threads: int) -> dict[str, float]:
        axes = {"threads": threads}
        rows = [
            replace(row, axes={**row.axes, **axes}) if row.benchmark != "ring" else row for row in hpcc_rows()
        ]
        return {axis: value.value for axis, value in standing(hpcc_run(), summarise(rows)).items()}

    mixed = [
        replace(row, axes={**row.axes, "threads": 8}) if row.benchmark == "hpl" else row
        for row in hpcc_rows()
    ]
    one, eight = of(1), of(8)
    assert standing(hpcc_run(), summarise(mixed))["memory"].value == one["memory"]
    for axis in ("memory", "compute", "ring"):
        assert eight[axis] == pytest.approx(one[axis] / 8), axis


def test_near_and_far_are_distinguished_by_nodes() -> None:
    run, summaries = make_run(), summarise(make_rows())
    own = standing(run, summaries)
    assert {"latency_near", "bandwidth_near"} <= own.keys() and "latency_far" not in own
    apart = with_launches(
        {
            "index": index,
            "world": 4,
            "ranks": [{"rank": rank, "host": f"n{rank}", "node": rank, "cpus": [0]} for rank in range(4)],
        }
        for index in range(6)
    )
    assert {"latency_far", "bandwidth_far"} <= standing(apart, summaries).keys()
    assert "latency_near" not in standing(apart, summaries)


def test_oversubscribed_results_stand_nowhere() -> None:
    assert standing(make_run(), summarise(make_rows(oversubscribed=True))) == {}


def test_disturbed_results_are_shown_and_not_judged() -> None:
    run, label = make_run(), labels([make_run()])
    for why in (None, "other programs used 1.00 of 2 processors"):
        summaries = summarise([*make_rows(disturbed=why), *hpcc_rows("run-a", ranks=2)])
        shown = front([run], {"run-a": summaries}, label)
        assert shown is not None
        rows = [cast("tuple[Cell, ...]", row.cells) for row in shown.table.rows]
        lines = {cells[0].value: cells for cells in rows}
        latency, memory = lines["Latency, near"], lines["Memory, per core"]
        assert (latency[1].below == "disturbed") is (why is not None)
        assert (not latency[0].below) is (why is not None)  # the verdict
        assert memory[0].below and not memory[1].below


def test_kernels_are_per_core() -> None:
    own = standing(hpcc_run("run-a", 4, 2), summarise(hpcc_rows("run-a", ranks=4)))
    assert own["compute"].value == pytest.approx(12.5e9)
    assert own["ring"].value == pytest.approx(0.5e9)
    assert "message_rate" not in own


def test_references_are_machines_of_today() -> None:
    values = {"latency_near": Value(1e-6, "x"), "memory": Value(3e9, "x")}
    found = references(make_run(), values)
    assert len(found) == 3
    assert {each.paper.name for each in found} == {"archer-benchmarks"}
    assert len({each.name for each in found}) == 3


def test_the_nearest_machines_come_first() -> None:
    def names(latency_s: float, memory: float) -> list[str]:
        values = {"latency_near": Value(latency_s, "x"), "memory": Value(memory, "x")}
        return [each.name for each in references(make_run(), values)]

    assert names(0.28e-6, 3.3e9)[0] == "Athena"
    assert names(0.5e-6, 2.7e9)[0] == "Cirrus"


def test_one_odd_quantity_does_not_decide_which_machine_is_near() -> None:
    machine = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert distance({**machine, "c": 300.0}, machine) == 1
    assert distance({"a": 2.0, "b": 1.0}, machine) == pytest.approx(2)
    assert distance({"z": 1.0}, machine) == math.inf


def test_what_is_far_from_all_neighbours_is_odd() -> None:
    others = [{"a": 1.0, "b": 2.0, "c": 1.0}, {"a": 4.0, "b": 2.0}]
    own = {"a": 40.0, "b": 0.5, "c": 99.0}
    assert odd(own, others) == [Odd("a", 10.0), Odd("b", 0.25)]  # c: one neighbour is no range
    assert odd({"a": 7.9, "b": 1.1}, others) == []


def test_the_sentence_names_the_nearest_machines_and_what_is_odd() -> None:
    run, rows = hpcc_run("run-a", 4, 2), hpcc_rows("run-a", ranks=4)
    said = placed(run, summarise(rows))
    assert said.startswith("Of the published machines ") and said.endswith("nothing is far from all of them.")
    slow = [replace(row, p50=row.p50 and row.p50 / 20) if row.benchmark == "stream" else row for row in rows]
    assert "odd beside them: Memory, per core (" in placed(run, summarise(slow))
    assert "times less than any of theirs)." in placed(run, summarise(slow))


@pytest.mark.parametrize(
    ("seconds", "level", "factor"),
    [(0.14e-6, "good", 2), (0.3e-6, "good", 1), (0.363e-6, "usual", 1.1), (3.3e-6, "poor", 10)],
)
def test_a_word_of_judgement(seconds: float, level: str, factor: float) -> None:
    latency = AXIS["latency_near"]
    beside = references(make_run(), {"latency_near": Value(seconds, "x")})
    found = judged(latency, seconds, [each for each in beside if each.name != "Cirrus"])
    assert found is not None
    assert (found.level, found.factor) == (level, pytest.approx(factor, rel=0.01))
    assert judged(latency, seconds, beside[:1]) is None
