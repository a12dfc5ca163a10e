"""Straight lines of least weighted squares."""

from __future__ import annotations

from kiviat.analysis.statistics.intervals import Floats


def weighted_line(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Return intercept and slope of the line through points; at least two differ in `x`."""
    mean_x, mean_y = (weights @ x) / weights.sum(), (weights @ y) / weights.sum()
    slope = float((weights @ ((x - mean_x) * (y - mean_y))) / (weights @ (x - mean_x) ** 2))
    return float(mean_y - slope * mean_x), slope


def slope_through_origin(x: Floats, y: Floats, weights: Floats) -> float:
    """Return the slope of the line through the origin; one `x` or more is not 0."""
    return float((weights @ (x * y)) / (weights @ x**2))
