"""Controls of all benchmarks: defaults and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kiviat.plan import watts
from kiviat.record import InputError
from kiviat.record.suggestion import suggestion
from kiviat.record.types import Scalar

DEFAULTS: Mapping[str, Scalar] = {
    "mode": "adaptive",
    "sync": "window",
    "target": 0.02,
    "budget_s": 1.0,
    "min_samples": 16,
    "max_samples": 1000,
    "pages": "huge",
}


LARGEST = 2**53  # whole numbers up to it are the same in every language that reads a run


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(least: int) -> tuple[Callable[[object], bool], str]:
    return (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST,
        f"a whole number of at least {least}, at most {LARGEST}",
    )


# Thirty years, so that estimates of a run's time are finite.
_MOST_S = 1e9
SECONDS = "seconds above 0, at most 1e9"
_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "mode": (
        ("adaptive", "fixed", "once", "pallas2").__contains__,
        '"adaptive", "fixed", "once" or "pallas2"',
    ),
    "sync": (("window", "barrier").__contains__, '"window" or "barrier"'),
    "target": (lambda value: _number(value) and 0 < value < 1, "a fraction between 0 and 1, such as 0.02"),
    "budget_s": (lambda value: _number(value) and are_seconds(value), SECONDS),
    "min_samples": _count(1),
    "max_samples": _count(1),
    "iterations": _count(1),
    "warmup": _count(0),
    "pages": (("huge", "small").__contains__, '"huge" or "small"'),
    "watts": (watts.makes_sense, watts.WANTED),
}


def are_seconds(value: float) -> bool:
    """True if a run may last so long."""
    return 0 < value <= _MOST_S


def checked_controls(given: Mapping[str, Any], where: str) -> dict[str, Scalar]:
    """Return `given`; InputError, naming `where`, for unknown keys and invalid values."""
    for key, value in given.items():
        if key not in _RULES:
            known = list(_RULES)
            raise InputError(
                f"unknown control {key!r} in {where}{suggestion(key, known, 'known: ' + ', '.join(known))}"
            )
        allowed, wanted = _RULES[key]
        if not allowed(value):
            raise InputError(f"{key} is {value!r} in {where}; give {wanted}")
    return dict(given)


def refuse_contradictions(controls: Mapping[str, Scalar], where: str) -> None:
    """Raise InputError for controls that contradict each other."""
    settled = {**DEFAULTS, **controls}
    for key in ("iterations", "warmup"):
        if settled["mode"] in ("adaptive", "once") and key in controls:
            raise InputError(
                f'{key} is {controls[key]} in {where}, but mode is "{settled["mode"]}": give mode '
                '"fixed" and iterations (-i), or leave it out'
            )
    if settled["min_samples"] > settled["max_samples"]:  # type: ignore[operator]
        raise InputError(
            f"min_samples is {settled['min_samples']} in {where}, above max_samples "
            f"{settled['max_samples']}; lower one or raise the other"
        )
