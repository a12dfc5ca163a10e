"""What published rows ask of a model, and how its answers are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kiviat.machine.modelled.machine import Machine, find_machine, load_machine, machines
from kiviat.model.claims import CLAIMS
from kiviat.model.page import ModelVerdict, columns, page
from kiviat.model.question import Question, Row, Want
from kiviat.model.rows import calibration, question, validation
from kiviat.model.verdict import conflicts, is_exact, judge
from kiviat.record.published import Fact, Paper, Statement, System, papers, uses
from tests.store.made_up import metric, record

SMALL = Path(__file__).parents[1] / "simulated" / "small.toml"


def row(system: dict[str, Any] | None = None, **fact: Any) -> Row:
    given: dict[str, Any] = {
        **{
            "id": "X-1",
            "location": "Table 1",
            "benchmark": "b",
            "metric": "m",
            "value": 100e6,
            "unit": "B/s",
        },
        **{"relation": "=", "exactness": "exact_table", "use": "validate"},
        **{"measures": "pingpong.bandwidth", "message_size": "1 MB"},
    }
    held = System(**{"machine": "Small", "processes": 2, **(system or {})})
    return Row(Paper("p", ("A",), "T", (held,)), held, Fact(**(given | fact)))


def asked(system: dict[str, Any] | None = None, **fact: Any) -> Question:
    return question(load_machine(SMALL), row(system, **fact))


def answer(bandwidth: float, **more: Any) -> Any:
    return record("r", metrics=(metric("bandwidth", unit="B/s", p50=bandwidth),), **more)


def test_every_claim_is_a_row_that_judges() -> None:
    """A claim whose row was renamed, or serves for something else, would never be asked."""
    known = uses()
    assert {name: known.get(name) for name in CLAIMS} == dict.fromkeys(CLAIMS, "validate")


def test_every_validate_row_is_asked_or_says_why_not() -> None:
    machine = load_machine(SMALL)
    for paper in papers():
        for system in paper.systems:
            for fact in system.rows:
                if fact.use == "validate":
                    one = question(machine, Row(paper, system, fact))
                    assert one.wants or one.not_asked or fact.id in ("V-009", "V-010"), fact.id
                    assert one.not_asked != "no benchmark of Kiviat measures it", fact.id


def test_every_validate_row_is_held_against_some_model() -> None:
    found = {one.row.id for name in machines() for one in validation(find_machine(name))}
    assert found == {name for name, use in uses().items() if use == "validate"}


@pytest.mark.parametrize(
    ("system", "fact", "wants"),
    [
        ({}, {}, [Want("pingpong", 2, 1 << 20)]),
        ({"processes": 8}, {"measures": "b_eff.at_lmax"}, [Want("b_eff", 8)]),
        ({"processes": 8}, {"measures": "b_eff.pingpong_latency"}, [Want("pingpong", 2, 1)]),
        ({"placement": "distance 1 (same node)"}, {}, [Want("pingpong", 2, 1 << 20)]),
        ({"placement": "distance 2..16 (Myrinet)"}, {}, [Want("pingpong", 2, 1 << 20, {"distance": 2})]),
        ({"placement": "1 process per node"}, {}, [Want("pingpong", 2, 1 << 20, per_node=1)]),
        ({"mode": "off-node"}, {}, [Want("pingpong", 2, 1 << 20, per_node=1)]),
        ({"mode": "on-node"}, {}, [Want("pingpong", 2, 1 << 20)]),
        (
            {"processes": None, "processes_range": "2..12", "placement": "1 process per node"},
            {"measures": "sendrecv.bandwidth"},
            [Want("sendrecv", ranks, 1 << 20, per_node=1) for ranks in (2, 4, 8, 12)],
        ),
    ],
)
def test_a_row_becomes_cases(system: dict[str, Any], fact: dict[str, Any], wants: list[Want]) -> None:
    assert list(asked(system, **fact).wants) == wants


def test_what_does_not_fit_says_so() -> None:
    assert (
        "takes 17 ranks, and the machine has 16 cores"
        in asked({"processes": 17}, measures="b_eff.b_eff").not_asked
    )
    assert "no benchmark of Kiviat" in asked(measures="").not_asked
    assert "lacks the number of processes" in asked({"processes": None}).not_asked


def test_an_error_is_predicted_over_published_less_one() -> None:
    assert judge(asked(), [answer(150e6)]).error == pytest.approx(0.5)
    assert judge(asked(), [answer(50e6)]).error == pytest.approx(-0.5)


def test_the_best_of_several_sizes_counts() -> None:
    several = asked(message_size="best (1 or 2 MB)")
    assert judge(several, [answer(80e6), answer(120e6)]).error == pytest.approx(0.2)


@pytest.mark.parametrize(("relation", "holds"), [("<", False), ("<=", False), (">", True), (">=", True)])
def test_bounds_hold_or_fail(relation: str, holds: bool) -> None:
    assert judge(asked(relation=relation), [answer(150e6)]).holds is holds


def test_a_failed_case_is_unavailable_and_says_why() -> None:
    verdict = judge(asked(), [record("r", outcome="failed", reason="it died", metrics=())])
    assert (verdict.predicted, verdict.error) == (None, None)
    assert "it died" in verdict.reason
    assert columns(verdict)[1] == "unavailable"


def test_rows_of_the_same_cases_contradict_each_other() -> None:
    """Two table rows give ping-pong of ranks 0 and 1 as 711 and 900 MB/s: no model meets both."""
    one, near, far = (
        question(load_machine(SMALL), row(id=name, value=value))
        for name, value in (("A", 711e6), ("B", 704e6), ("C", 900e6))
    )
    assert conflicts([one, near]) == {}
    assert conflicts([one, near, far]) == {"A": ["C"], "B": ["C"], "C": ["A", "B"]}
    assert not is_exact(asked(relation="~"))


@pytest.mark.parametrize("name", sorted(machines()))
def test_models_are_judged_by_rows_they_were_not_made_of(name: str) -> None:
    machine = find_machine(name)
    assert not {one.row.id for one in validation(machine)} & set(machine.calibrated_on)
    assert all(one.row.fact.use == "calibrate" for one in calibration(machine))


def claim(name: str, machine: Machine) -> Question:
    (found,) = (Row(p, s, r) for p in papers() for s in p.systems for r in s.rows if r.id == name)
    return question(machine, found)


def test_orderings_are_read_from_the_curves() -> None:
    machine = find_machine("cray-opteron")
    falls = claim("F2-022", machine)
    for values, holds in (((90, 80, 70), True), ((90, 80, 85), False)):
        records = [
            record("r", metrics=(metric("b_eff_per_process", unit="B/s", p50=value * 1e6),))
            for value in values
        ]
        assert judge(falls, records).holds is holds
    drop = claim("F2-032", machine)
    assert judge(drop, [answer(100e6), answer(60e6)]).predicted == pytest.approx(40)
    chance = claim("V-009", machine)
    assert judge(chance, []).predicted == pytest.approx(100 * 14 / 15)


def test_the_page_has_the_bad_ones_too() -> None:
    machine = load_machine(SMALL)
    statement = Statement("X-2", "1", "b", "a claim", "<", "qualitative", "validate")
    said = Question(replace(row(), fact=statement), (), lambda records: False)
    judged = [
        ModelVerdict(judge(asked(), [answer(300e6)])),
        ModelVerdict(judge(said, [])),
        ModelVerdict(judge(asked(measures=""), [])),
    ]
    text = page([(machine, judged)], "2026-01-01")
    assert "| [small](#small) | 1 | 200 % | 200 % | 0 of 1 hold | 1 |" in text
    assert "| X-1 | b, m, 2 processes, 1 MB | 100 MB/s | 300 MB/s | +200.0 % |" in text
    assert "| X-2 | b, a claim, 2 processes | it is so | it is not so | fails |" in text
    assert machine.hash[:16] in text


def test_no_percent_is_missed_by_so_many_points() -> None:
    """Rows of no reduction at all read "unavailable", as if nothing had been simulated."""
    none_lost = row(value=0.0, unit="%", measures="")
    judged = judge(Question(none_lost, (Want("ft", 2),), lambda records: 0.0125), [answer(1)])
    assert columns(judged) == ["0 %", "0.0125 %", "+0.013 points"]
