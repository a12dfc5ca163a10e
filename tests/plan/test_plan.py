from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from kiviat.plan import USUAL_LINK, Link, Plan, estimate

from .conftest import benchmark

TEXT = """
[[cases]]
benchmarks = ["uniband", "allreduce"]
bytes = "0:64"
ranks = "doubling"
"""
Load = Callable[..., Plan]


def test_each_repetition_has_its_own_order_and_the_seed_repeats_it(load: Load) -> None:
    plan, again = load(TEXT), load(TEXT)
    orders = [[case.id for case in plan.ordered(repetition)] for repetition in range(5)]
    assert len(set(map(tuple, orders))) == 5
    assert all(sorted(order) == sorted(case.id for case in plan.cases) for order in orders)
    assert [case.id for case in again.ordered(3)] == orders[3]
    assert [case.id for case in load("seed = 2\n" + TEXT).ordered(3)] != orders[3]


def test_the_cases_of_one_launch_stand_together_and_the_launches_change_places(load: Load) -> None:
    plan = load(TEXT, ranks=8)
    worlds = [
        [world for world, _ in groupby(plan.ordered(repetition), key=lambda case: case.world)]
        for repetition in range(8)
    ]
    assert all(sorted(order) == [2, 4, 8] for order in worlds)
    assert len(set(map(tuple, worlds))) > 1


def test_cases_with_threads_have_launches_of_their_own(load: Load, describe: list[dict[str, Any]]) -> None:
    describe.append(benchmark("threads/latency_mt", (2, None, 2), threads=True))
    plan = load(TEXT.replace('"uniband"', '"uniband", "latency_mt"'))
    for repetition in range(8):
        launches = [
            (world, threads, {case.benchmark for case in cases})
            for (world, threads, _), cases in groupby(plan.ordered(repetition), key=lambda case: case.launch)
        ]
        assert sorted(launches) == [
            (2, False, {"uniband", "allreduce"}),
            (2, True, {"latency_mt"}),
            (4, False, {"uniband", "allreduce"}),
            (4, True, {"latency_mt"}),
        ]
    assert len(plan.worlds()) == 2
    # Each launch adds its start-up time; this plan has two launches more.
    alone = load(TEXT)
    assert len(plan.together()) == len(alone.together()) + 2


def test_the_hash_is_that_of_what_is_measured(load: Load) -> None:
    plan = load(TEXT)
    assert load('summary = "other words"\n' + TEXT).hash == plan.hash
    for other in ("launches = 6\n" + TEXT, "seed = 2\n" + TEXT, TEXT + "controls.target = 0.05\n"):
        assert load(other).hash != plan.hash
    assert load(TEXT, ranks=8).hash != plan.hash


def test_no_estimate_exceeds_its_bound(load: Load) -> None:
    text = "launches = 10\n[controls]\nbudget_s = 0.5\n" + TEXT
    plan = load(text)
    expected = estimate(plan)
    assert 0 < expected.likely_s <= expected.at_most_s
    assert expected.at_most_s == pytest.approx(10 * 0.5 * len(plan.cases), rel=0.2)


def test_a_single_call_is_shorter_than_iterations(load: Load) -> None:
    """IMB's number of iterations was assumed for it, and no warm-up for few iterations."""
    once, few, more = (
        estimate(load(TEXT, controls=controls)).at_most_s
        for controls in (
            {"mode": "once"},
            {"mode": "fixed", "iterations": 5},
            {"mode": "fixed", "iterations": 5, "warmup": 10},
        )
    )
    assert once < few == more


def test_slow_links_take_longer_than_budgets(load: Load) -> None:
    """A window of 64 messages of 1 MiB takes 5.4 s at 100 Mbit/s, whatever the budget is."""
    text = 'launches = 1\n[[cases]]\nbenchmarks = "uniband"\nbytes = "1M"\n[controls]\nbudget_s = 0.1\n'
    usual, slow = (estimate(load(text), link) for link in (USUAL_LINK, Link(1e-4, 12.5e6)))
    assert usual.at_most_s < 2
    assert slow.likely_s > 4 * 5.4 and slow.at_most_s > 10 * 5.4
    narrow = load(text, axes={"window": 1})
    assert estimate(narrow, Link(1e-4, 12.5e6)).at_most_s < slow.at_most_s / 50


def test_fixed_iterations_are_estimated_by_their_number(load: Load) -> None:
    def seconds(iterations: int) -> float:
        controls = {"mode": "fixed", "iterations": iterations}
        return estimate(load(TEXT, controls=controls)).at_most_s

    assert seconds(100_000) > 10 * seconds(1000)


def test_a_plan_knows_how_long_its_sizes_take(load: Load) -> None:
    """A plan may state how long its sizes take; the study declares 60 s for its default sizes."""
    its_own = load('launches = 1\n[[cases]]\nbenchmarks = "hpl"\n')
    told = load('launches = 1\n[[cases]]\nbenchmarks = "hpl"\nnominal_s = 2.5\n')
    assert estimate(its_own).likely_s == pytest.approx(60, abs=1)
    assert estimate(told).likely_s == pytest.approx(2.5, abs=1)
    assert its_own.hash == told.hash
