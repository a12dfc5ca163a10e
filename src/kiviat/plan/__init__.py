"""Plans: loading, expansion to cases, their order by seed, and estimates of their run time."""

from kiviat.plan.arrangement import Arrangement
from kiviat.plan.benchmark import (
    Axis,
    Benchmark,
    RankRule,
    find_benchmarks,
    shipped_benchmarks,
    shipped_names,
)
from kiviat.plan.case import Case
from kiviat.plan.estimate import USUAL_LINK, Estimate, Link, estimate
from kiviat.plan.expand import COMMAND_LINE, Overrides
from kiviat.plan.load import (
    definition_benchmarks,
    load_arrangements,
    load_plan,
    name_of_selection,
    names_plan,
    plan_benchmarks,
    plan_in,
    plan_names,
    reload_plan,
)
from kiviat.plan.plan import Plan
from kiviat.plan.ranges import expand_ranks, expand_sizes

__all__ = [
    "COMMAND_LINE",
    "USUAL_LINK",
    "Arrangement",
    "Axis",
    "Benchmark",
    "Case",
    "Estimate",
    "Link",
    "Overrides",
    "Plan",
    "RankRule",
    "definition_benchmarks",
    "estimate",
    "expand_ranks",
    "expand_sizes",
    "find_benchmarks",
    "load_arrangements",
    "load_plan",
    "name_of_selection",
    "names_plan",
    "plan_benchmarks",
    "plan_in",
    "plan_names",
    "reload_plan",
    "shipped_benchmarks",
    "shipped_names",
]
