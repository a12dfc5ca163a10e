"""Rows that compare machines, answered by models of all of them."""

from __future__ import annotations

from kiviat.analysis.published.results import key
from kiviat.analysis.published.verdict import judge
from kiviat.machine.modelled.machine import find_machine, machines
from kiviat.model.across import cases_across, lookup_across, questions_across
from kiviat.model.page import page
from tests.store.made_up import metric, record


def test_an_ordering_needs_all_the_machines_that_it_names() -> None:
    altix, dell = find_machine("altix-bx2"), find_machine("dell-poweredge")
    assert {one.row.id for one in questions_across([altix])} == {"F2-056"}  # names this one only
    assert "F2-047" in {one.row.id for one in questions_across([altix, dell])}


def test_power_is_declared_and_not_asked_of_models() -> None:
    """S-040 claims less energy and more time: a simulation tests the time only."""
    both = [find_machine("sicortex-sc072"), find_machine("opteron-myri10g")]
    (asked,) = [one for one in questions_across(both) if one.row.id == "S-040"]
    assert {one.metric for series in asked.series for one in series} == {"time"}


def test_ratios_of_hpc_challenge_are_left_to_the_study() -> None:
    """They need the plan hpcc-modelled; the page once called "balance", which is no benchmark, unknown."""
    asked = questions_across([find_machine(name) for name in machines()])
    assert len(asked) > 20
    assert not [case for one in asked for case in one.cases if case.benchmark == "balance"]


def test_a_ratio_is_answered_by_the_models_of_both_machines() -> None:
    """F2-047: a barrier of 64 ranks takes more than six times as long on the cluster."""
    modelled = [find_machine(name) for name in ("dell-poweredge-pcie", "dell-poweredge", "altix-bx2")]
    (asked,) = [one for one in questions_across(modelled) if one.row.id == "F2-047"]
    cases = cases_across(modelled, [asked])
    assert [machine.name for machine, _ in cases] == ["dell-poweredge", "altix-bx2"]  # not the variant
    times = {"dell-poweredge": 70e-6, "altix-bx2": 10e-6}
    records = {
        machine.name: {key(case): record("r", metrics=(metric(p50=times[machine.name]),))}
        for machine, case in cases
    }
    verdict = judge(asked, lookup_across(modelled, records))
    assert (round(float(verdict.answer or 0), 6), verdict.holds) == (7.0, True)
    text = page([], "2026-01-01", [verdict])
    assert (
        "## Across machines" in text and "| F2-047 |" in text and "1 of 1 orderings and bounds hold" in text
    )
    assert "70.0 µs" in text and "SGI Altix" in text
