"""The identifier of a case, which plans, replays and ingested results must spell in the same way.

Three implementations once disagreed: flag=true/x=0.3 and flag=True/x=0.30000000000000004.
"""

from __future__ import annotations

import pytest

from kiviat.ingest import reported
from kiviat.launch.programs.simulated_program import ProgramFacts, record_of
from kiviat.launch.run.simulated_runner import SimulatedCase
from kiviat.launch.run.supervise import LaunchResult
from kiviat.machine.modelled.machine import find_machine
from kiviat.plan.case import Case
from kiviat.record.case_id import case_id
from kiviat.record.types import Scalar

AXES: dict[str, Scalar] = {"x": 0.1 + 0.2, "flag": True, "class": "B"}


@pytest.mark.parametrize(
    ("size", "axes", "expected"),
    [
        (None, {}, "b/ranks=4"),
        (0, {}, "b/ranks=4/bytes=0"),
        (8, {"shift": 1}, "b/ranks=4/bytes=8/shift=1"),
        (None, {"flag": True, "off": False}, "b/ranks=4/flag=true/off=false"),
        (None, {"x": 0.1 + 0.2, "y": 2.0, "z": 1e-9}, "b/ranks=4/x=0.3/y=2/z=1e-09"),
        (None, {"n": 12345678}, "b/ranks=4/n=12345678"),
        (8, AXES, "b/ranks=4/bytes=8/class=B/flag=true/x=0.3"),
    ],
)
def test_words_and_their_order(size: int | None, axes: dict[str, Scalar], expected: str) -> None:
    assert case_id("b", 4, size, axes) == expected


def test_whatever_makes_records_agrees() -> None:
    expected = case_id("b", 4, None, AXES)
    ended = LaunchResult(0, True, None, None, None, "2026-01-01T00:00:00Z", 1.0)
    assert record_of("r", ProgramFacts("b", 4, AXES, "", []), ended).case == expected
    assert reported.Case("b", 4, None, AXES).id == expected
    assert SimulatedCase(find_machine("altix-bx2"), "b", 4, None, AXES).case().id == expected


def test_cases_txt_has_the_words_of_the_identity() -> None:
    """cases.txt spells values as the identifier does, because the native program reads them from there."""
    identity = case_id("b", 4, 8, AXES)
    case = Case(identity, "b", 4, 8, AXES, {"seed": 1}, 4)
    name, benchmark, *words = case.line().split(" ")
    assert (name, benchmark) == (identity, "b")
    assert sorted(words) == sorted([*identity.split("/")[1:], "seed=1"])
