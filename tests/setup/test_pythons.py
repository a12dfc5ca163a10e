"""Every Python that this machine has and that we support installs Kiviat, passes its tests, and measures."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
import warnings
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUPPORTED = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
# What the tests of these rooms import; the rest of `test` is browsers, linters and other programs.
NEEDS = ("pytest", "pytest-xdist", "jsonschema")


def interpreter(version: str) -> Path | None:
    """Return an interpreter of this version: on PATH, or of pyenv."""
    tried = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for path in filter(None, tried):
        asked = [path, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return Path(path)
    return None


def tests_of_every_python() -> list[str]:
    """Return the folders of tests that CI runs on every Python."""
    text = (CHECKOUT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    (command,) = re.findall(r"- run: python -m pytest -q (.*)", text)
    return command.split()


@pytest.mark.full
def test_every_python_here_installs_tests_and_measures(tmp_path: Path) -> None:
    found = {version: path for version in SUPPORTED if (path := interpreter(version))}
    if absent := [version for version in SUPPORTED if version not in found]:
        warnings.warn(f"not tried, because they are not here: Python {', '.join(absent)}", stacklevel=1)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    assert found
    for version, python in found.items():
        home = tmp_path / version
        own = home / "bin/python"
        folder = home / "measured"

        def done(*words: str | Path, folder: Path = CHECKOUT, version: str = version) -> str:
            ran = subprocess.run(words, capture_output=True, text=True, env=clean, cwd=folder)
            assert ran.returncode == 0, f"Python {version}: {ran.stdout[-3000:]}{ran.stderr[-3000:]}"
            return ran.stdout

        done(python, "-m", "venv", home)
        done(own, "-m", "pip", "install", "-q", f"{CHECKOUT}[frames,mpi]", *NEEDS)
        done(own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests_of_every_python())
        folder.mkdir()
        kiviat = home / "bin/kiviat"
        measured = ("pingpong", "-m", "8", "--launches", "1", "--budget", "0.1", "--report", "report.html")
        done(kiviat, "run", "--mpi", "wheel", "-n", "2", *measured, folder=folder)
        assert "pingpong" in done(kiviat, "show", "last", folder=folder)
        assert (folder / "report.html").stat().st_size > 100_000
