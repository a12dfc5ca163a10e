"""Findings about several machines: present in curves made up for each, absent if machines are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.analysis.findings.finding import Finding
from kiviat.analysis.findings.machines import Machine, findings_across
from kiviat.record.run import Run
from kiviat.record.traits import earlier_traits
from kiviat.report.run.page import render
from tests.report.studies import study_rows, study_run

from .rows import case_rows

STEADY = (0.99, 0.995, 1.0, 1.005, 1.01, 1.0)
Values = Mapping[tuple[str, int, int | None], float]  # times by benchmark, ranks, bytes


def machine(label: str, values: Values, *more: Summary, runs: Sequence[Run] = (), **changes: Any) -> Machine:
    rows = [
        one
        for (benchmark, ranks, size), value in values.items()
        for one in case_rows(
            [value * factor for factor in STEADY],
            run=label,
            benchmark=benchmark,
            ranks=ranks,
            bytes=size,
            case=f"{benchmark}/ranks={ranks}/bytes={size}",
            **changes,
        )
    ]
    return Machine(label, runs, [*summarise(rows), *more], {})


def findings_by_kind(*machines: Machine) -> dict[str, Finding]:
    return {one.kind: one for one in findings_across(machines, earlier_traits())}


def barrier(*times: float, ranks: Sequence[int] = (2, 4, 8, 16)) -> Values:
    return {("barrier", count, None): time for count, time in zip(ranks, times, strict=False)}


def test_one_machine_or_equal_machines_have_no_findings() -> None:
    assert not findings_by_kind(machine("a", barrier(1e-6, 2e-6)))
    assert not findings_by_kind(machine("a", barrier(1e-6, 2e-6)), machine("b", barrier(1.02e-6, 2e-6)))


def test_a_leader_on_the_most_ranks_by_its_factor() -> None:
    told = findings_by_kind(
        machine("a", barrier(1e-6, 2e-6, 3e-6)),
        machine("b", barrier(2e-6, 4e-6, 9e-6, 20e-6)),
        machine("c", barrier(5e-6, 8e-6, 30e-6)),
    )["leader"]
    assert told.headline == "a leads in barrier on 8 ranks by a factor of 3.00"
    assert "10.0 times as fast as c (30 µs)" in told.detail.replace("30.0", "30")
    assert {case for case, _ in told.evidence} == {"barrier/ranks=8/bytes=None"}


def test_a_crossing_between_two_numbers_of_ranks() -> None:
    told = findings_by_kind(machine("a", barrier(1e-6, 2e-6, 9e-6)), machine("b", barrier(2e-6, 3e-6, 4e-6)))[
        "crossing"
    ]
    assert told.headline == "barrier: a is ahead up to 4 ranks, b from 8 ranks on"


def test_curves_whose_intervals_overlap_do_not_cross() -> None:
    wide = [
        one
        for ranks, values in ((2, (1, 9, 1, 9, 1, 9)), (4, (9, 1, 9, 1, 9, 2)))
        for one in summarise(
            case_rows(
                [1e-6 * value for value in values],
                run="b",
                benchmark="barrier",
                ranks=ranks,
                bytes=None,
                case=f"barrier/ranks={ranks}/bytes=None",
            )
        )
    ]
    kinds = findings_by_kind(machine("a", barrier(4e-6, 4e-6)), Machine("b", (), wide, {}))
    assert "crossing" not in kinds and "leader" not in kinds


@pytest.mark.parametrize("unfair", [{"oversubscribed": True}, {"disturbed": "other programs used 1.90 of 2"}])
def test_oversubscribed_and_disturbed_values_are_left_out(unfair: dict[str, Any]) -> None:
    slow = machine("b", barrier(9e-6, 90e-6), **unfair)
    assert not findings_by_kind(machine("a", barrier(1e-6, 2e-6)), slow)


@pytest.mark.parametrize(("clock", "kinds"), [("wall", set()), ("simulated", {"leader"})])
def test_measured_values_of_one_launch_lead_nowhere(clock: str, kinds: set[str]) -> None:
    """Two measured machines with one launch each have no intervals, which once counted as a difference."""

    def once(label: str, time: float) -> Machine:
        about: dict[str, Any] = {"benchmark": "barrier", "bytes": None, "case": "barrier/ranks=2"}
        return Machine(label, (), summarise(case_rows([time], run=label, clock=clock, **about)), {})

    assert set(findings_by_kind(once("a", 1e-6), once("b", 1.2e-6))) == kinds


def once(label: str, values: Mapping[tuple[str, str, int], float], **about: Any) -> Machine:
    """Return a machine with one launch of each value, given by benchmark, metric and ranks."""
    rows = [
        one
        for (benchmark, metric, ranks), value in values.items()
        for one in case_rows(
            [value],
            run=label,
            benchmark=benchmark,
            metric=metric,
            ranks=ranks,
            case=f"{benchmark}/ranks={ranks}",
            **about,
        )
    ]
    return Machine(label, (study_run(label),), summarise(rows), {})


def test_costs_of_one_launch_are_not_compared() -> None:
    """The costs of measured machines with one launch each were stated as facts."""
    size = {"bytes": 1 << 20}
    both_ways = [
        once(name, {("pingpong", "time", 2): 1e-3, ("pingping", "time", 2): t}, **size)
        for name, t in (("a", 1e-3), ("b", 1.2e-3))
    ]
    rates = {"bytes": None, "unit": "B/s", "better": "higher"}
    rings = [
        once(name, {("ring", "natural_bandwidth", 8): 1e9, ("ring", "random_bandwidth", 8): rate}, **rates)
        for name, rate in (("a", 1e9), ("b", 3e8))
    ]
    steps = [
        once(
            name,
            {("barrier", "time", ranks): t for ranks, t in zip((2, 4, 6, 8), times, strict=True)},
            bytes=None,
        )
        for name, times in (("a", (1e-6, 1e-6, 1.1e-6, 1.2e-6)), ("b", (1e-6, 2e-6, 9e-6, 2e-6)))
    ]
    for machines in (both_ways, rings, steps):
        assert not findings_by_kind(*machines)


def test_cost_of_simultaneous_messages_both_ways() -> None:
    one_way: Values = {("pingpong", 2, 1 << 20): 1e-3, ("pingping", 2, 1 << 20): 1e-3}
    both: Values = {("pingpong", 2, 1 << 20): 1e-3, ("pingping", 2, 1 << 20): 2e-3}
    told = findings_by_kind(machine("full", one_way), machine("half", both))["oncoming"]
    assert told.headline == (
        "Messages of 1 MiB both ways at once cost half 50 % of its bandwidth one way, full 0 %"
    )


def test_cost_of_random_order_for_rings() -> None:
    def rings(label: str, random: float) -> Machine:
        values = {("ring", "natural_bandwidth"): 1e9, ("ring", "random_bandwidth"): random}
        rows = [
            one
            for (benchmark, metric), value in (values | {("pingpong", "bandwidth"): 2e9}).items()
            for one in case_rows(
                [value * factor for factor in STEADY],
                run=label,
                benchmark=benchmark,
                metric=metric,
                unit="B/s",
                better="higher",
                ranks=8 if benchmark == "ring" else 2,
                case=benchmark,
            )
        ]
        return Machine(label, (), summarise(rows), {})

    told = findings_by_kind(rings("a", 0.9e9), rings("b", 0.3e9))["rings-across"]
    assert told.headline == "Random order leaves b 30 % of its natural ring, a 90 %"
    assert "b keeps 30 % on 8 ranks, 15 % of its best ping-pong" in told.detail


def test_numbers_of_ranks_between_powers_of_two() -> None:
    ranks = (4, 6, 8)
    told = findings_by_kind(
        machine("even", barrier(1e-6, 1.5e-6, 2e-6, ranks=ranks)),
        machine("odd", barrier(1e-6, 6e-6, 2e-6, ranks=ranks)),
    )["powers-of-two-across"]
    assert told.headline == "barrier: 6 ranks cost odd up to 3.00 times as much as 4 and 8"
    assert told.detail.startswith("even does not lose there.")


def test_the_step_to_a_second_node() -> None:
    # study_run places two ranks on each node.
    near = machine("near", barrier(1e-6, 2e-6, ranks=(2, 4)), runs=[study_run("near")])
    far = machine("far", barrier(1e-6, 20e-6, ranks=(2, 4)), runs=[study_run("far")])
    assert "second-node" not in findings_by_kind(near)
    told = findings_by_kind(near, far)["second-node"]
    assert told.headline == "barrier gets worse from one node to two: 20.0 times on far, 2.00 times on near"
    # 8 ranks are on four nodes; and steps of other numbers of ranks are not compared.
    wide = machine("wide", barrier(1e-6, 20e-6, ranks=(2, 8)), runs=[study_run("wide")])
    assert "second-node" not in findings_by_kind(near, wide)


def test_values_of_other_sources_are_not_called_measured() -> None:
    theirs = machine("b", barrier(2e-6, 4e-6), clock="reported", sync="reported")
    told = findings_by_kind(machine("a", barrier(1e-6, 2e-6)), theirs)["leader"]
    assert told.detail.endswith("Reported and measured values are compared.")
    also = machine("a", barrier(1e-6, 2e-6), clock="reported", sync="reported")
    told = findings_by_kind(also, theirs)["leader"]
    assert told.detail.endswith("All values are reported.")


def test_calls_that_start_differently_are_not_compared() -> None:
    """Back-to-back broadcasts, a pipeline, once led by a factor of 4 beside single ones."""
    loops = machine("loops", barrier(1e-6, 2e-6), sync="back-to-back")
    assert not findings_by_kind(loops, machine("calls", barrier(4e-6, 8e-6), sync="window"))
    assert "leader" in findings_by_kind(loops, machine("more", barrier(4e-6, 8e-6), sync="back-to-back"))


def test_curves_that_are_not_monotonic_beside_one_that_is() -> None:
    sizes = (1024, 2048, 4096)
    rising: Values = {("bcast", 4, size): size * 1e-9 for size in sizes}
    falling: Values = {**rising, ("bcast", 4, 2048): 6e-6}
    told = findings_by_kind(machine("a", rising), machine("b", falling))["not-monotonic"]
    assert told.headline == "bcast on 4 ranks: b is 1.46 times as fast at 4 KiB as at 2 KiB"
    assert "a does not become faster" in told.detail
    # One launch has no interval, so its fall is no finding; but it does not rise either.
    about = {"run": "c", "benchmark": "bcast", "ranks": 4}
    single = [
        one
        for size, time in zip(sizes, (5e-6, 3e-6, 2e-6), strict=True)
        for one in summarise(case_rows([time], bytes=size, case=f"bcast/bytes={size}", **about))
    ]
    assert "not-monotonic" not in findings_by_kind(machine("b", falling), Machine("c", (), single, {}))


def test_the_page_of_several_runs_has_the_findings() -> None:
    rows = [*study_rows("run-a"), *study_rows("run-b", speed=3.0)]
    page = render([study_run("run-a"), study_run("run-b")], rows)
    assert 'id="side-by-side"' in page
    assert "leads in ring" in page
    assert 'id="side-by-side"' not in render([study_run("run-a")], study_rows("run-a"))
