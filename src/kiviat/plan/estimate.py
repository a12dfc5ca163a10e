"""Estimates of a plan's run time."""

from __future__ import annotations

from dataclasses import dataclass

from kiviat.plan.case import Case
from kiviat.plan.controls import DEFAULTS
from kiviat.plan.plan import Plan

# Measured with Open MPI on two shared cores; used until there are measurements.
_START_S = 0.5  # Starting the program, reading the cases, joining the ranks.
_CASE_S = 0.01  # Set-up, warm-up and check, independent of the size …
_CASE_S_PER_BYTE = 5e-8  # … and per byte and rank.
_LIKELY_SAMPLES = 300
# Operations of a case that its budget does not cover: two checks, two for warm-up, one before each block of
# samples, and those that begin just before the budget ends (native/measure). Twice as many, because some
# operations send each message twice or both ways.
_UNBUDGETED = 2 * 8
# Studies have no budget: on a slow network they take longer by this factor.
_SLOW_STUDY = 2


@dataclass(frozen=True)
class Link:
    """A node's link: time of a small message, bytes per second, ranks that share it, rest before a call."""

    latency_s: float
    bytes_per_s: float
    sharers: int = 1
    rest_s: float = 0.0


USUAL_LINK = Link(5e-6, 4e9)


@dataclass(frozen=True)
class Estimate:
    """Run time in seconds if cases converge as usual, and if each uses its whole budget.

    Both assume the links that were given to `estimate`. The second includes all launches that cases may get
    until their interval is narrow enough, the first none of them.
    """

    likely_s: float
    at_most_s: float


def estimate(plan: Plan, link: Link = USUAL_LINK) -> Estimate:
    """Return the estimated run time of all launches of a plan on nodes with such links."""
    starts_s = len(plan.together()) * _START_S
    most = plan.launches_max or plan.launches
    return Estimate(
        likely_s=plan.launches * (starts_s + sum(_likely(case, link) for case in plan.cases)),
        at_most_s=most * (starts_s + sum(_at_most(case, link) for case in plan.cases)),
    )


def _operation_s(case: Case, link: Link) -> float:
    """Return a guess at the seconds of an operation in which each rank sends to all others."""
    others = max(1, case.ranks - 1)
    sent = (case.bytes or 0) * others * case.messages * min(link.sharers, case.ranks)
    return link.latency_s * case.ranks + sent / link.bytes_per_s


def _likely(case: Case, link: Link) -> float:
    if case.nominal_s:
        return case.nominal_s
    # Two checks and two calls of warm-up come before the samples.
    operation_s = _operation_s(case, link)
    return _overhead(case) + max(4 * operation_s, min(_budget(case, link), _LIKELY_SAMPLES * operation_s))


def _at_most(case: Case, link: Link) -> float:
    if case.nominal_s:
        return _SLOW_STUDY * case.nominal_s
    return _overhead(case) + _budget(case, link) + _UNBUDGETED * _operation_s(case, link)


def _overhead(case: Case) -> float:
    return _CASE_S + _CASE_S_PER_BYTE * (case.bytes or 0) * case.ranks


def _budget(case: Case, link: Link) -> float:
    if case.controls.get("mode", DEFAULTS["mode"]) == "adaptive":
        return float(case.controls.get("budget_s", DEFAULTS["budget_s"]))
    each_s = _operation_s(case, link) + link.rest_s
    if case.controls.get("mode") == "once":
        return each_s
    iterations = int(case.controls.get("iterations", _imb_iterations(case.bytes or 0)))
    return (iterations + int(case.controls.get("warmup", max(iterations // 10, 10)))) * each_s


def _imb_iterations(size: int) -> int:
    """Return IMB's number of iterations for a size, which the native program uses by default."""
    return max(1, min(1000, 40 * 2**20 // size)) if size else 1000
