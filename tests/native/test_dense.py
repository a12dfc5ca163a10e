"""Dense linear algebra with libraries that are defective or missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conftest import Native


def results(native: Native, folder: Path, blas: Path) -> dict[str, dict[str, Any]]:
    cases, out = folder / "cases.txt", folder / "events.jsonl"
    cases.write_text("dgemm dgemm n=50\nhpl hpl n=50\nbarrier barrier mode=fixed iterations=1 warmup=0\n")
    done = native.run(2, native.program, "--cases", cases, "--out", out, preload={"KIVIAT_BLAS": blas})
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in out.read_text().splitlines()]
    return {event["case"]: event for event in events if event["event"] == "result"}


def test_a_blas_that_gives_wrong_answers_is_named(native_openmpi: Native, tmp_path: Path) -> None:
    wrong = native_openmpi.testing("libkiviat-wrong-blas.so")
    found = results(native_openmpi, tmp_path, wrong)
    for name in ("dgemm", "hpl"):
        assert (found[name]["outcome"], found[name]["phase"]) == ("failed", "check")
        assert "the residual is" in found[name]["reason"]
    assert "libkiviat-wrong-blas.so" in found["dgemm"]["reason"]
    assert found["barrier"]["outcome"] == "ok"


def test_without_a_blas_kernels_are_skipped_and_the_rest_runs(native_openmpi: Native, tmp_path: Path) -> None:
    found = results(native_openmpi, tmp_path, tmp_path / "none.so")
    for name in ("dgemm", "hpl"):
        assert found[name]["outcome"] == "skipped"
        assert f"KIVIAT_BLAS={tmp_path / 'none.so'} is not a BLAS library" in found[name]["reason"]
    assert found["barrier"]["outcome"] == "ok"
