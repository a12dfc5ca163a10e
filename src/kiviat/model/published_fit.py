"""Fits numbers of a machine to published values, with the simulation in the loop.

Least squares of the logarithms of predicted over published values, by Gauss-Newton: the numbers are scaled by
factors, and each step varies every factor by `_STEP` to see how the values follow. Nothing here simulates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kiviat.record import InputError

# Relative change by which numbers are varied.
_STEP = 0.05
_ITERATIONS = 10
# The fit ends if no factor changes by more than this; no step is larger than a factor of two.
_CLOSE, _LARGEST = 1e-3, float(np.log(2))
# A number is determined if some value changes by at least this share of its own change.
_REACTS = 0.05
# Share of a number's effects that other numbers cannot imitate, below which they cannot be told apart.
_OWN = 0.02
# Published values are not known better than this.
_LEAST_NOISE = 0.01
# A number is noisy if its standard error is larger than this.
_NOISY = 0.25

Factors = Mapping[str, float]
# Takes several sets of factors; returns the values for each in the order of the rows, None for no value.
Predict = Callable[[Sequence[Factors]], Sequence[Sequence[float | None]]]


@dataclass(frozen=True)
class FittedNumber:
    """A number with its factor and relative standard error; `rows` determine it, with their shares."""

    place: str
    factor: float
    error: float
    rows: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class PublishedFit:
    """The fitted numbers, those that no row determines, and the error of each row before and after."""

    numbers: tuple[FittedNumber, ...]
    undetermined: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def factors(self) -> dict[str, float]:
        """Return the factors by place."""
        return {one.place: one.factor for one in self.numbers}


def fit_published(
    places: Sequence[str], rows: Sequence[str], published: Sequence[float], predict: Predict, *, asked: bool
) -> PublishedFit:
    """Return the fit of the numbers at `places` to the `published` values of `rows`.

    Raise InputError for numbers that cannot be told apart on these rows, for noisy ones, for rows without a
    prediction, for numbers that no row determines at the fit, and, if the user `asked` for these numbers,
    for those that none determines at the start.
    """
    known = np.log(np.array(published))

    def residuals(tried: Sequence[Factors]) -> list[NDArray[np.float64]]:
        return [np.log(_complete(values, rows)) - known for values in predict(tried)]

    start = dict.fromkeys(places, 1.0)
    first, slopes = _slopes(start, residuals)
    reacts = _reacting(slopes)
    undetermined = [place for place, does in zip(places, reacts, strict=True) if not does]
    free = [place for place, does in zip(places, reacts, strict=True) if does]
    if undetermined and (asked or not free):
        todo = "leave it out" if asked else "name others by --free"
        raise InputError(
            f"no row determines {', '.join(undetermined)}: if it changes, predictions change by less than "
            f"{100 * _REACTS:.0f} % as much; {todo}, or add rows"
        )
    if len(rows) < len(free):
        raise InputError(
            f"{len(rows)} rows cannot determine {len(free)} numbers ({', '.join(free)}); name fewer by --free"
        )
    factors = dict.fromkeys(free, 1.0)
    slopes = slopes[:, reacts]
    errors = first
    for _ in range(_ITERATIONS):
        _refuse_alike(free, slopes)
        step = np.clip(np.linalg.lstsq(slopes, -errors, rcond=None)[0], -_LARGEST, _LARGEST)
        factors = {place: factors[place] * float(np.exp(by)) for place, by in zip(free, step, strict=True)}
        errors, slopes = _slopes(factors, residuals)
        if np.max(np.abs(step)) < _CLOSE:
            break
    # A step can take a number past the point where it limits, and from there on it has no effect.
    if idle := [place for place, does in zip(free, _reacting(slopes), strict=True) if not does]:
        raise InputError(
            f"these rows do not determine {', '.join(idle)}: where it fits best, something else limits; "
            "leave it out by --free, or add rows"
        )
    _refuse_alike(free, slopes)
    deviations = _deviations(slopes, errors)
    numbers = tuple(
        FittedNumber(place, factors[place], float(deviation), _determining(rows, slopes[:, at]))
        for at, (place, deviation) in enumerate(zip(free, deviations, strict=True))
    )
    if noisy := [one for one in numbers if one.error > _NOISY]:
        told = ", ".join(f"{one.place} (±{100 * one.error:.0f} %)" for one in noisy)
        raise InputError(
            f"the rows are too noisy for {told}: beyond ±{100 * _NOISY:.0f} %; name fewer by --free"
        )
    before, after = (tuple(float(np.expm1(one)) for one in found) for found in (first, errors))
    return PublishedFit(numbers, tuple(undetermined), before, after)


def _slopes(
    at: Factors, residuals: Callable[[Sequence[Factors]], list[NDArray[np.float64]]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the residuals at these factors, and their derivatives, of shape rows x factors."""
    varied = [{**at, place: factor * (1 + _STEP)} for place, factor in at.items()]
    here, *moved = residuals([at, *varied])
    return here, np.array([(one - here) / np.log1p(_STEP) for one in moved]).T


def _reacting(slopes: NDArray[np.float64]) -> list[bool]:
    """Return for each number whether some row reacts to it."""
    return [bool(most >= _REACTS) for most in np.max(np.abs(slopes), axis=0, initial=0.0)]


def _complete(values: Sequence[float | None], rows: Sequence[str]) -> NDArray[np.float64]:
    for row, value in zip(rows, values, strict=True):
        if value is None or value <= 0:
            raise InputError(
                f"the model predicts nothing for {row}, so it cannot be fitted to it; leave it out"
            )
    return np.array([float(value or 0) for value in values])


def _refuse_alike(places: Sequence[str], slopes: NDArray[np.float64]) -> None:
    """Raise InputError if other numbers can imitate what one does."""
    for at, place in enumerate(places):
        others = np.delete(slopes, at, axis=1)
        own = slopes[:, at]
        if not others.size:
            continue
        imitated = others @ np.linalg.lstsq(others, own, rcond=None)[0]
        if float(np.sum((own - imitated) ** 2)) < _OWN * float(np.sum(own**2)):
            raise InputError(
                f"these rows cannot tell {place} from {', '.join(p for p in places if p != place)}: "
                "they change all rows alike; name fewer by --free"
            )


def _deviations(slopes: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard errors of the factors; without a row to spare, those of the least noise."""
    spare = len(errors) - slopes.shape[1]
    noise = float(np.sqrt(np.sum(errors**2) / spare)) if spare else 0.0
    found: NDArray[np.float64] = max(noise, _LEAST_NOISE) * np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
    return found


def _determining(rows: Sequence[str], column: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    """Return the rows that react to a number, largest share first; small shares are left out."""
    shares = column**2 / np.sum(column**2)
    ordered = sorted(zip(rows, map(float, shares), strict=True), key=lambda one: -one[1])
    return tuple(one for one in ordered if one[1] >= 0.05)
