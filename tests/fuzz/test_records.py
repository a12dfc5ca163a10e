"""Fuzz tests of records and of other programs' output; see test_formats.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import campaign

EXECUTIONS = {
    "records.jsonl": 40,
    "log": 200,
    "ingest": 12,
}


@pytest.mark.parametrize("name", EXECUTIONS)
def test_formats(name: str, tmp_path: Path) -> None:
    tally = campaign(name, 1, EXECUTIONS[name], folder=tmp_path)
    assert tally.executions == EXECUTIONS[name]
    assert [why for _, why in tally.findings] == []
