"""Describes the data that a simulated machine was calibrated on, from its file or `model` in run.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kiviat.record.units import counted


class Calibrated(Protocol):
    """Calibration data, available in machine files and in records of simulated runs."""

    @property
    def base(self) -> str | None:
        """Name of the machine that this one is a variant of; None if it is not a variant."""

    @property
    def uncalibrated(self) -> str | None:
        """Reason why the machine is not calibrated; None if it is."""

    @property
    def calibrated_on(self) -> Sequence[str]:
        """Identifiers of the published rows that the machine was fitted to."""


def calibrated(model: Calibrated) -> str:
    """Return the text after "calibrated", such as "on the published values F1-008, F1-016"."""
    rows = ", ".join(model.calibrated_on)
    if not model.uncalibrated:
        return f"on the published values {rows}" if rows else "on measurements of its own"
    if rows:
        return f"in part, on the published values {rows}; its network is not"
    return f"not at all: an uncalibrated variant of {model.base}" if model.base else "on nothing"


def in_short(model: Calibrated) -> str:
    """Return a text for tables: "6 published values", "uncalibrated variant of altix-bx2"."""
    rows = counted(len(model.calibrated_on), "published value") if model.calibrated_on else ""
    if not model.uncalibrated:
        return rows or "own measurements"
    if rows:
        return f"network uncalibrated; {rows}"
    return f"uncalibrated variant of {model.base}" if model.base else "uncalibrated"
