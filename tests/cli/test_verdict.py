"""The final output of `kiviat run` on standard output and standard error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kiviat.cli.main import main
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


@pytest.mark.parametrize(
    ("number", "last"),
    [
        (6, "and 1 more reason; `kiviat show` lists it"),
        (8, "and 3 more reasons; `kiviat show` lists them"),
    ],
)
def test_show_lists_all_reasons_of_failure(
    number: int, last: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kiviat show` once printed "`kiviat show` lists them" instead of the sixth and later reasons."""
    with RunDirectory.create(tmp_path, "failing", machine=MACHINE, plan=PLAN) as run:
        run.set_launch(launch(0, 0, outcome="ok", exit=0))
        for size in range(number):
            why: dict[str, Any] = {"outcome": "failed", "reason": f"reason {size}", "metrics": ()}
            run.append(record(run.id, f"pingpong/ranks=2/bytes={size}", bytes=size, **why))
        run.finish()
    print_verdict(run.path, None, quiet=True)
    *few, more = capsys.readouterr().err.splitlines()
    assert (len(few), more) == (5, last)
    assert main(["show", str(run.path)]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line]
    assert shown[1:] == [f"failed: pingpong/ranks=2/bytes={size}: reason {size}" for size in range(number)]
