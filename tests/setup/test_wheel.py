"""The wheel contains everything that `kiviat` needs outside of a checkout, and works there."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from kiviat.launch.mpi.toolchain import Toolchain

CHECKOUT = Path(__file__).resolve().parents[2]
SUFFIXES = {".cpp", ".hpp", ".txt", ".toml", ".json", ".py", ".html", ".css", ".js"}


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        folder,
        CHECKOUT,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `kiviat` of a fresh environment with the wheel; its dependencies are those of the test
    environment.
    """
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        str(wheel_file),
    ]
    done = subprocess.run(pip, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (site,) = home.glob("lib/python*/site-packages")
    # Adds plain paths; the .pth file of the development install is not executed in the new environment.
    (site / "borrowed.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")) + "\n")
    return home / "bin" / "kiviat"


def tracked(*folders: str) -> set[str]:
    """Return the files that git tracks below these folders, without those that no program reads."""
    done = subprocess.run(["git", "ls-files", "-z", *folders], cwd=CHECKOUT, capture_output=True, text=True)
    if done.returncode != 0:  # an unpacked archive without git
        files = [
            p for folder in folders for p in (CHECKOUT / folder).rglob("*") if "__pycache__" not in p.parts
        ]
        return {p.relative_to(CHECKOUT).as_posix() for p in files if p.suffix in SUFFIXES}
    return {name for name in done.stdout.split("\0") if Path(name).suffix in SUFFIXES}


def test_the_wheel_fits_every_machine(wheel_file: Path) -> None:
    assert wheel_file.name.endswith("-py3-none-any.whl")


def test_the_wheel_carries_sources_plans_published_results_and_schemas(wheel_file: Path) -> None:
    carried = set(zipfile.ZipFile(wheel_file).namelist())
    wanted = tracked("machines", "native", "plans", "published", "schema", "studies")
    assert {"native/CMakeLists.txt", "schema/record.schema.json", "plans/quick.toml"} <= wanted
    assert any(name.startswith("published/") for name in wanted)
    assert {f"kiviat/data/{name}" for name in wanted} <= carried


def test_the_wheel_carries_all_of_the_package(wheel_file: Path) -> None:
    """The wheel contains all files of the package, also vendor files, templates and style sheets."""
    carried = set(zipfile.ZipFile(wheel_file).namelist())
    wanted = {name.removeprefix("src/") for name in tracked("src")}
    assert wanted <= carried
    assert not [name for name in carried if "__pycache__" in name or name.startswith("tests")]


def test_installed_it_finds_its_data_and_plans_a_run(
    installed: Path, openmpi: Toolchain, tmp_path: Path
) -> None:
    """Installed outside of a checkout, kiviat finds its data and plans a run; the native program would be
    built from the sources in the wheel.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    python = installed.parent / "python"
    probe = "import kiviat.record as r; print(r.__file__, r.data_path('native'), sep='\\n')"
    where = subprocess.run(
        [python, "-c", probe], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    for line in where.stdout.splitlines():
        assert Path(line).is_relative_to(installed.parents[1]), line
    done = subprocess.run(
        [installed, "run", "--dry-run", "--mpi", "openmpi", "-n", "2", "pingpong"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert str(openmpi.mpiexec) in done.stdout
    assert "pingpong" in done.stdout


def test_versions_agree() -> None:
    """The version is the same in all four files where tools look for it."""
    import tomllib

    import kiviat

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    citation = (CHECKOUT / "CITATION.cff").read_text()
    assert kiviat.__version__ == project
    assert (CHECKOUT / "native" / "version.txt").read_text().strip() == project
    assert f"\nversion: {project}\n" in citation
    assert f"## {project}" in (CHECKOUT / "CHANGELOG.md").read_text()
