"""Kiviat works with the oldest versions that it allows of the packages it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from benchmarks.synthetic import write_run
from tests.builds import CHECKOUT

COMMANDS = (
    ("show", "made-up"),
    ("sql", "--run", "made-up", "select benchmark, count(*), sum(value) from samples group by 1 order by 1"),
    ("export", "made-up", "--format", "csv"),
    ("compare", "made-up", "made-up"),
)


@pytest.mark.full
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the oldest packages are not built for this Python")
def test_results_are_the_same(tmp_path: Path) -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = [f"{needed.replace('>=', '==')}.*" for needed in project["dependencies"]]
    write_run(tmp_path / "runs" / "made-up", 2000)
    home = tmp_path / "home"
    venv.create(home, with_pip=True)
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "KIVIAT_RUNS": str(tmp_path / "runs")}

    def done(python: str | Path, *words: str) -> str:
        ran = subprocess.run([python, *words], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, f"{ran.stdout[-3000:]}{ran.stderr[-3000:]}"
        return ran.stdout

    done(home / "bin/python", "-m", "pip", "install", "-q", *oldest)
    for words in COMMANDS:
        command = "-m", "kiviat.cli.main", *words
        assert done(home / "bin/python", *command) == done(sys.executable, *command)
