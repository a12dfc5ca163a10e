"""Numbers of ranks on which a benchmark runs."""

from __future__ import annotations

import pytest

from kiviat.plan.benchmark import RankRule

RULES = [
    RankRule(),
    RankRule(min=2, max=2),
    RankRule(min=3, multiple=4),
    RankRule(numbers="powers_of_two", min=2, max=64),
    RankRule(numbers="squares"),
    RankRule(numbers="squares", multiple=2),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_largest_number_of_ranks_is_the_last_that_fits(rule: RankRule) -> None:
    for available in range(100):
        fitting = [ranks for ranks in range(1, available + 1) if rule.fits(ranks)]
        assert rule.largest(available) == (fitting[-1] if fitting else None)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_any_number_of_ranks_may_be_available(rule: RankRule) -> None:
    """A fuzzed run.json offered 9e18 ranks, and the search for a power of two tried every number below."""
    largest = rule.largest(2**63 - 1)
    assert largest is not None
    assert rule.fits(largest)
