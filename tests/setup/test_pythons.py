"""Kiviat works with every Python that pyproject.toml names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUPPORTED = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
# What the tests import; the rest of the extra `test` is for others.
NEEDS = ("pytest", "pytest-xdist", "jsonschema")


def interpreter(version: str) -> Path | None:
    """Return an interpreter of this version: on PATH, or of pyenv."""
    on_path = shutil.which(f"python{version}")
    tried = [Path(on_path)] if on_path else []
    tried += Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    for path in tried:
        asked: list[str | Path] = [path, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return path
    return None


def folders_of_every_python() -> list[str]:
    """Return the folders of tests that CI runs on every Python."""
    text = (CHECKOUT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    commands: list[str] = re.findall(r"- run: python -m pytest -q (.*)", text)
    return commands[0].split()


@pytest.mark.full
@pytest.mark.parametrize("version", SUPPORTED)
def test_it_installs_passes_its_tests_and_measures(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version}, neither on PATH nor of pyenv")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    home, folder = tmp_path / "home", tmp_path / "measured"
    folder.mkdir()

    def done(*words: str | Path, folder: Path = CHECKOUT) -> str:
        ran = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=folder)
        assert ran.returncode == 0, f"{ran.stdout[-3000:]}{ran.stderr[-3000:]}"
        return ran.stdout

    done(python, "-m", "venv", home)
    own, kiviat = home / "bin/python", home / "bin/kiviat"
    done(own, "-m", "pip", "install", "-q", f"{CHECKOUT}[frames,mpi]", *NEEDS)
    done(own, "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders_of_every_python())
    measured = ("pingpong", "-m", "8", "--launches", "1", "--budget", "0.1", "--report", "report.html")
    done(kiviat, "run", "--mpi", "wheel", "-n", "2", *measured, folder=folder)
    assert "pingpong" in done(kiviat, "show", "last", folder=folder)
    assert "pingpong" in (folder / "report.html").read_text(encoding="utf-8")
