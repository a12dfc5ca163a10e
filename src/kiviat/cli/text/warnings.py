"""Remarks on the files of runs, such as an interrupted run, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def print_warning(warning: str) -> None:
    """Print one remark."""
    print(f"kiviat: {warning}", file=sys.stderr)


def print_warnings(warnings: Iterable[str]) -> None:
    """Print all remarks."""
    for warning in warnings:
        print_warning(warning)
