from __future__ import annotations

from collections import Counter

import pytest

from kiviat.record import Row
from kiviat.record.rows import Rows
from tests.analysis.rows import row

FAILED = row(
    launch=1, outcome="failed", reason="hung", metric=None, unit=None, better=None, count=0, p50=None
)
GIVEN = [
    row(launch=0, p50=1.0, p90=2.0, notes={"blas": "A"}, numbers={"n": 3.0}),
    row(launch=0, metric="bandwidth", unit="B/s", better="higher"),
    row(run="other", launch=None, case="b", benchmark="bcast", bytes=None, axes={"root": 1}, level=0.9),
    FAILED,
    row(launch=2, check="failed", disturbed="others"),
]


def test_rows_are_returned_as_given() -> None:
    rows = Rows.of(GIVEN)
    assert list(rows) == GIVEN
    assert (len(rows), rows[2], rows[-1], list(rows[1:3])) == (5, GIVEN[2], GIVEN[4], GIVEN[1:3])
    assert Rows.of(rows) is rows
    with pytest.raises(IndexError):
        rows[5]


def test_equal_facts_are_stored_once() -> None:
    rows = Rows.of(row(launch=launch, p50=float(launch)) for launch in range(100))
    assert (len(rows), len(rows.cases), len(rows.outcomes), len(rows.metrics)) == (100, 1, 1, 1)


@pytest.mark.parametrize("parts", [[], [[]], [GIVEN], [GIVEN[:2], [], GIVEN[2:]], [GIVEN, GIVEN]])
def test_parts_are_joined_in_order(parts: list[list[Row]]) -> None:
    assert list(Rows.joined(parts)) == [one for part in parts for one in part]


def test_selections() -> None:
    rows = Rows.of(GIVEN)
    assert list(rows.of_cases(lambda case: case.benchmark == "bcast")) == [GIVEN[2]]
    of_run = rows.of_run("r")
    assert list(of_run) == [one for one in GIVEN if one.run == "r"]
    assert list(of_run.of_cases(lambda case: case.benchmark == "bcast")) == []
    assert list(rows.without_result()) == [one for one in GIVEN if one.failure] == GIVEN[3:]
    assert list(rows.without_result().without_result()) == GIVEN[3:]
    assert rows.completed() == {("r", GIVEN[0].case), ("other", "b")}


def test_the_last_of_repeated_measurements_says_what_stopped_it() -> None:
    measured = [
        row(launch=0, stopped_by="budget"),
        row(launch=1, stopped_by="target"),
        row(launch=0, stopped_by="samples", axes={"root": 1}),
        row(run="other", stopped_by=None),
        row(run="simulated", clock="simulated"),
        FAILED,
    ]
    stops = {"r": Counter({"samples": 1, "target": 1}), "other": Counter({None: 1})}
    assert Rows.of(measured).stops() == stops
    assert Rows.joined([measured, measured]).stops() == stops
