"""The end of `kiviat run`: texts on standard output and on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.cli.text.verdict import print_verdict
from kiviat.store import RunDirectory
from tests.store.made_up import MACHINE, PLAN, launch, record


def test_quiet_prints_failures_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunDirectory.create(tmp_path, "failing", machine=MACHINE, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        run.append(record(run.id, outcome="failed", phase="check", reason="wrong byte", metrics=()))
        run.finish()
    print_verdict(run.path, None, quiet=True)
    out, error = capsys.readouterr()
    assert (out, error) == (f"{run.path}\n", "failed: pingpong/ranks=2/bytes=8: wrong byte\n")
    assert (run.path / "report.html").exists()
