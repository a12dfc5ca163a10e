"""A study on an emulated cluster profiles its programs in each arrangement."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.cli.main import main
from kiviat.launch.mpi.toolchain import Toolchain

STUDY = """
schema = "kiviat.study/1"
name = "two"
title = "CG on two nodes"
summary = "CG, class S"
on = ["emulated:2x2"]
{runs}

[[tables]]
number = "Bytes"
title = "between nodes"
programs = ["cg"]
measures = "network_bytes"
axes = {{ class = "S" }}
columns = [{{ title = "2x1", arrangement = "2x1" }}, {{ title = "2x2", arrangement = "2x2" }}]

[[tables]]
number = "Bytes near"
title = "within nodes"
programs = ["cg"]
measures = "node_bytes"
axes = {{ class = "S" }}
columns = [{{ title = "2x1", arrangement = "2x1" }}, {{ title = "2x2", arrangement = "2x2" }}]
"""
RUN = """
[[runs]]
name = "on-{shape}"
shape = "{shape}"
place = "cyclic"
launches = 1
profile = true
cases = [{{ benchmarks = ["cg"], axes = {{ class = "S" }} }}]
"""


def test_programs_are_profiled_where_they_ran(
    openmpi: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """On real and emulated clusters only interfaces counted bytes, and nothing those within nodes."""
    monkeypatch.chdir(tmp_path)
    runs = "".join(RUN.format(shape=shape) for shape in ("2x1", "2x2"))
    Path("two.toml").write_text(STUDY.format(runs=runs))
    command = ["study", "two.toml", "--mpi", str(openmpi.mpicxx), "-o", "out"]
    assert main(command) == 0, capfd.readouterr()
    profiles = sorted(Path("out").glob("runs/*/*/*/profiles/*"))
    assert [file.name for file in profiles] == ["cg.profile"] * 2
    page = Path("out/two.html").read_text()
    between, near = (
        page[page.index(f"{title}</h2>") :] for title in ("Bytes: between nodes", "within nodes")
    )
    assert "0 B" not in between[: between.index("</table>")]
    # One rank on each node sends nothing within nodes.
    assert near[: near.index("</table>")].count(">0 B<") == 1
    capfd.readouterr()
    assert main(command) == 0  # nothing runs again
    assert capfd.readouterr().out.count("already there") == 2
