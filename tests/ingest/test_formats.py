"""Modules of `ingest/formats` are discovered automatically, in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.ingest import all_formats
from tests.fuzz.formats import LOGS


def test_every_module_is_a_format() -> None:
    folder = Path(__file__).parents[2] / "src" / "kiviat" / "ingest" / "formats"
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {form.__name__.rpartition(".")[2] for form in all_formats()} == modules  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(LOGS))
def test_no_text_is_recognised_by_two_formats(name: str) -> None:
    """The order of the formats does not matter; the output of HPC Challenge, for example, contains HPL's."""
    assert len([form.NAME for form in all_formats() if form.sniff(LOGS[name])]) == 1
