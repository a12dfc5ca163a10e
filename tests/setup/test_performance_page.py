"""docs/reference/performance.md is what `make bench ARGS="--write"` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.__main__ import ROWS
from benchmarks.finding import Finding, Verdict
from benchmarks.mpi import ROOT, shell

MACHINE = {"cpu": "A | B", "cores": 2, "mpis": ["Open MPI 4.1.4"]}


def test_nobody_edited_the_page() -> None:
    rows = page.stored()
    assert set(rows) <= set(ROWS)
    assert page.PAGE.read_text(encoding="utf-8") == page.page(rows, ROWS)


def test_a_row_replaces_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "STORED", tmp_path / "measured.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "performance.md")
    first = Finding("latency", "1 B", "+1.0 %", "within 3 %", Verdict.MET, ("101 launches",))
    page.write([first, Finding("hpcc", "HPL", "1.1", "", Verdict.STATED)], MACHINE, "", ROWS)
    page.write(
        [Finding("hpcc", "HPL", "1.2", "", Verdict.STATED)], MACHINE, "the machine was busy (load 3)", ROWS
    )
    rows = json.loads(page.STORED.read_text(encoding="utf-8"))
    assert [one["figure"] for name in rows for one in rows[name]["findings"]] == ["+1.0 %", "1.2"]
    text = page.PAGE.read_text(encoding="utf-8")
    assert "| 1 B | +1.0 % | within 3 % | met |" in text and "    101 launches" in text
    assert text.count("**The machine was busy (load 3).**") == 1


def test_samples_without_a_detail_are_given_by_their_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers of ratios could not tell differences from noise."""
    monkeypatch.setattr(page, "STORED", tmp_path / "measured.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "performance.md")
    samples = {"ours": [99.0, 100.0, 101.0], "reference": (50.0, 48.0, 51.0), "lammps": "lmp"}
    peaks = Finding("npb", "Memory", "3 B", "", Verdict.STATED, data={"peaks_bytes": [9, 6]})
    page.write([Finding("npb", "CG", "2.0", "", Verdict.STATED, data=samples), peaks], MACHINE, "", ROWS)
    told = "median, and number: ours -1.0% to +1.0% (3), reference -4.0% to +2.0% (3)"
    text = page.PAGE.read_text(encoding="utf-8")
    assert told in text and text.count("least and greatest") == 1


def test_the_page_shows_how_to_repeat_a_figure_of_a_peer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "STORED", tmp_path / "measured.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "performance.md")
    finding = Finding("npb", "CG", "2.0", "", Verdict.STATED, repeat=["mpiexec -n 2 cg.A.x  # Mop/s total"])
    page.write([finding], MACHINE, "", ROWS)
    text = page.PAGE.read_text(encoding="utf-8")
    assert "    repeat:\n      mpiexec -n 2 cg.A.x  # Mop/s total\n" in text


def test_a_command_to_repeat_names_no_folder_of_this_machine() -> None:
    words = [
        "/usr/bin/mpiexec.mpich",
        "-n",
        "2",
        f"-I{ROOT}/native",
        f"{ROOT}/benchmarks/ring.c",
        "-k",
        "a b",
    ]
    assert (
        shell(words, {"LD_PRELOAD": "/opt/x/yield.so"})
        == "LD_PRELOAD=yield.so mpiexec.mpich -n 2 -Inative benchmarks/ring.c -k 'a b'"
    )


def test_a_row_tells_how_disturbed_the_cores_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "STORED", tmp_path / "measured.json")
    monkeypatch.setattr(page, "PAGE", tmp_path / "performance.md")
    for name, noise_percent in (("latency", 13.04), ("hpcc", None)):
        finding = Finding(name, "HPL", "1.1", "", Verdict.STATED)
        page.write([finding], {**MACHINE, "noise_percent": noise_percent}, "", ROWS)
    text = page.PAGE.read_text(encoding="utf-8")
    assert text.count("`noise` measured") == 1 and "`noise` measured 13 % on these cores" in text
