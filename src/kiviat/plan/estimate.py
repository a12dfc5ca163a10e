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
# Studies have no budget: on a slow network they take longer by this factor.
_SLOW_STUDY = 2
_LATENCY_S = 5e-6
_BYTES_PER_S = 4e9


@dataclass(frozen=True)
class Estimate:
    """Run time in seconds if cases converge as usual, and if each uses its whole budget."""

    likely_s: float
    at_most_s: float


def estimate(plan: Plan) -> Estimate:
    """Return the estimated run time of all launches of a plan."""
    starts = plan.launches * len(plan.together()) * _START_S
    return Estimate(
        likely_s=starts + plan.launches * sum(_likely(case) for case in plan.cases),
        at_most_s=starts + plan.launches * sum(_at_most(case) for case in plan.cases),
    )


def _operation_s(case: Case) -> float:
    """Return a guess at the seconds of an operation in which each rank may send to all others."""
    return _LATENCY_S * case.ranks + (case.bytes or 0) * case.ranks / _BYTES_PER_S


def _likely(case: Case) -> float:
    if case.nominal_s:
        return case.nominal_s
    return _overhead(case) + min(_budget(case), _LIKELY_SAMPLES * _operation_s(case))


def _at_most(case: Case) -> float:
    if case.nominal_s:
        return _SLOW_STUDY * case.nominal_s
    return _overhead(case) + _budget(case)


def _overhead(case: Case) -> float:
    return _CASE_S + _CASE_S_PER_BYTE * (case.bytes or 0) * case.ranks


def _budget(case: Case) -> float:
    if case.controls.get("mode", DEFAULTS["mode"]) == "adaptive":
        return float(case.controls.get("budget_s", DEFAULTS["budget_s"]))
    iterations = int(case.controls.get("iterations", _imb_iterations(case.bytes or 0)))
    return (iterations + int(case.controls.get("warmup", iterations // 10))) * _operation_s(case)


def _imb_iterations(size: int) -> int:
    """Return IMB's number of iterations for a size, which the native program uses by default."""
    return max(1, min(1000, 40 * 2**20 // size)) if size else 1000
