"""Fuzz tests of profiles and traces with valid lengths and checksums; see test_formats.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.campaign import campaign

EXECUTIONS = {
    "profile": 100,
    "trace": 100,
}


@pytest.mark.parametrize("name", EXECUTIONS)
def test_formats(name: str, tmp_path: Path) -> None:
    tally = campaign(name, 1, EXECUTIONS[name], folder=tmp_path)
    assert tally.executions == EXECUTIONS[name]
    assert [why for _, why in tally.findings] == []
