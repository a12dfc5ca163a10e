"""Suggested commands work as printed.

After `make run`, the suggested command was once not found, because `.venv/bin` is not on PATH.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """#!{python}
import sys
from kiviat.cli.main import main
sys.exit(main())
"""


def test_hints_can_be_typed(tmp_path: Path) -> None:
    for folder in ("own", "other"):
        script = tmp_path / folder / "kiviat"
        script.parent.mkdir()
        script.write_text(SCRIPT.format(python=sys.executable))
        script.chmod(0o755)

    def said(called: str, path: str) -> str:
        variables = {"PATH": f"{path}:{os.environ['PATH']}", "KIVIAT_RUNS": "nowhere"}
        return subprocess.run(
            [called, "runs"],
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    own = str(tmp_path / "own")
    assert "`kiviat run` makes one" in said(f"{own}/kiviat", own)
    assert "`own/kiviat run` makes one" in said("own/kiviat", str(tmp_path / "nothing"))
    assert "`own/kiviat run` makes one" in said("own/kiviat", str(tmp_path / "other"))


def test_errors_too(tmp_path: Path) -> None:
    script = tmp_path / "kiviat"
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)
    done = subprocess.run(
        ["./kiviat", "show", "last"],
        cwd=tmp_path,
        env={**os.environ, "KIVIAT_RUNS": "nowhere"},
        capture_output=True,
        text=True,
    )
    assert "`./kiviat run` makes one" in done.stderr
