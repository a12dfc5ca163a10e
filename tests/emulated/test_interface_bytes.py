"""Bytes that benchmarks send between emulated nodes, as counted by the nodes' interfaces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.mpi.toolchain import Toolchain

# FT, class S, transforms 64 x 64 x 64 complex numbers of 16 bytes seven times. In each transform, each of two
# ranks sends half of its elements to the other.
ONE_WAY = 7 * 64**3 * 16 // 4
# Factor for headers and acknowledgements; bytes of synchronisation and checksums.
HEADERS, BESIDE = 1.06, 50_000


def _record(toolchain: Toolchain, folder: Path, *where: str) -> dict[str, Any]:
    program = ["ft", "--class", "S", "--launches", "1", "--mpi", toolchain.family]
    done = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", "run", *program, *where, "--output", folder / "runs"],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("runs/**/records.jsonl")
    (record,) = map(json.loads, path.read_text().splitlines())
    assert isinstance(record, dict)
    return record


def test_nodes_count_what_leaves_them_while_the_program_runs(toolchain: Toolchain, tmp_path: Path) -> None:
    record = _record(toolchain, tmp_path, "--on", "emulated:2x1", "-n", "2x1")
    (table,) = (table for table in record["tables"] if table["name"] == "interface_bytes")
    (metric,) = (metric for metric in record["metrics"] if metric["name"] == "interface_bytes")
    assert table["axes"] == [{"name": "kernel", "values": ["ft"]}, {"name": "node", "values": ["n1", "n2"]}]
    for sent in table["values"]:
        assert ONE_WAY <= sent <= HEADERS * ONE_WAY + BESIDE
    assert (metric["unit"], metric["better"], metric["count"]) == ("B", "lower", 1)
    assert metric["p50"] == pytest.approx(sum(table["values"]))


def test_a_single_node_has_no_interface_bytes(openmpi: Toolchain, tmp_path: Path) -> None:
    """There is no metric of interface bytes on a single node."""
    record = _record(openmpi, tmp_path, "--on", "emulated:1x2", "-n", "2")
    assert "interface_bytes" not in {one["name"] for one in (*record["tables"], *record["metrics"])}
