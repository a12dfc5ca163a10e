"""Tails of Student's t and of Fisher's F, from the incomplete beta function."""

from __future__ import annotations

import math
from functools import cache

_STEPS = 300
_TINY = 1e-300


def f_tail(value: float, above: float, below: float) -> float:
    """Return P(F > value) with `above` (numerator) and `below` (denominator) degrees of freedom."""
    if value <= 0:
        return 1.0
    return _beta_share(below / 2, above / 2, below / (below + above * value))


@cache
def t_quantile(level: float, freedom: float) -> float:
    """Return the t with P(|T| ≤ t) = `level`: 2.571 for 95 % and 5 degrees of freedom."""
    low, high = 0.0, 1.0
    while f_tail(high * high, 1, freedom) > 1 - level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if f_tail(middle * middle, 1, freedom) > 1 - level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_share(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the continued fraction would need many terms there
        return 1 - _beta_share(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of DLMF 8.17.22, by Lentz's algorithm: 1 + d1 / (1 + d2 / (1 + …))."""
    value, upper, lower = 1.0, 1.0, 0.0
    for term in range(1, _STEPS):
        m, odd = divmod(term, 2)
        if odd:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        lower = 1 / _away_from_0(1 + d * lower)
        upper = _away_from_0(1 + d / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < 1e-14:
            break
    return value


def _away_from_0(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
