"""Writes the page about runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kiviat.api.runs import read
from kiviat.cli.text.warnings import print_warnings


def report_on(paths: Sequence[Path], output: Path) -> None:
    """Write one page about all of these runs; print warnings about their files."""
    runs = read(paths)
    print_warnings(runs.warnings)
    runs.report(output)
