"""Energy of simulated runs follows from declared power, in the machine file or on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.simulated.conftest import SMALL
from tests.simulated.test_own_program import kiviat


def stream(folder: Path, *words: str) -> dict[str, Any]:
    """Return the record of a simulated STREAM on 2 ranks of one node."""
    small = ("--set", "memory=100000", "--set", "scope=star")
    done = kiviat(folder, "run", "stream", "--on", "simulated:small.toml", "-n", "2", *small, *words)
    assert done.returncode == 0, done.stderr
    newest = max((folder / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
    record: dict[str, Any] = json.loads((newest / "records.jsonl").read_text())
    record["declared"] = json.loads((newest / "run.json").read_text())["machine"].get("declared_watts")
    return record


@pytest.mark.usefixtures("bench")
def test_watts_come_from_the_file_unless_given(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    without = stream_of(file, "")
    assert without["notes"]["energy"] == (
        "unavailable: simulated machines have no energy meters, and the machine file declares no power.node"
    )
    assert without["notes"]["counters"] == "unavailable: simulated processors have no hardware counters"
    names = {one["name"] for one in without["tables"]}
    assert without["declared"] is None
    assert names == {"kernel_time", "messages", "message_bytes", "under_way"}

    power = '[power]\nnode = { value = "15 W", source = "test", confidence = "high" }\n'
    by_file = stream_of(file, power)
    tables = {table["name"]: table["values"] for table in by_file["tables"]}
    assert by_file["notes"]["energy"] == "declared: 15 W per node"
    assert by_file["declared"] == {"value": 15, "per": "node", "source": "machine file"}
    assert tables["power"] == [15] * 4
    assert tables["energy"] == pytest.approx([15 * time for time in tables["kernel_time"]])

    told = stream(tmp_path, "--watts", "20/socket")
    assert told["notes"]["energy"] == "declared: 40 W per node"  # two sockets
    assert told["declared"] == {"value": 20, "per": "socket", "source": "command line"}


def stream_of(file: Path, more: str) -> dict[str, Any]:
    file.write_text(SMALL.read_text() + more)
    return stream(file.parent)
