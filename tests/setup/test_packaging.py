"""Recipes for package managers, containers and sites agree with pyproject.toml and tools/setup."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kiviat import __version__
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.toolchain import Toolchain
from tests.cli.conftest import kiviat, make_run

__all__ = ["kiviat", "make_run"]  # fixtures

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGING = CHECKOUT / "packaging"
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SPACK = (PACKAGING / "spack" / "packages" / "kiviat" / "package.py").read_text(encoding="utf-8")
CONDA = (PACKAGING / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def required() -> dict[str, str]:
    """Return the required Python packages with their minimum versions from pyproject.toml."""
    return dict(dependency.split(">=") for dependency in PROJECT["dependencies"])


def test_spack_depends_on_what_we_need() -> None:
    found = dict(re.findall(r'depends_on\("py-([\w-]+)@([\d.]+):", type="run"\)', SPACK))
    assert {name: float(version) for name, version in found.items()} == {
        name: float(version) for name, version in required().items()
    }
    assert f'"python@{PROJECT["requires-python"].removeprefix(">=")}:"' in SPACK


def test_conda_depends_on_what_we_need() -> None:
    run = CONDA.partition("\n  run:\n")[2].partition("\n\n")[0]
    found = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", run))
    wanted = {{"duckdb": "python-duckdb"}.get(name, name): version for name, version in required().items()}
    assert {**wanted, "python": PROJECT["requires-python"].removeprefix(">=")}.items() <= found.items()
    (script,) = PROJECT["scripts"].items()
    assert f"- {script[0]} = {script[1]}" in CONDA


def test_versions_are_ours() -> None:
    assert f'version: "{__version__}"' in CONDA
    for name in ("kiviat", "kiviat.lua"):
        text = (PACKAGING / "modules" / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\d+\.\d+\.\d+", text)) == {__version__}


@pytest.mark.parametrize("name", ["Dockerfile", "kiviat.def"])
def test_containers_install_what_the_setup_installs(name: str) -> None:
    text = (PACKAGING / "containers" / name).read_text(encoding="utf-8")
    installed = re.search(r"--no-install-recommends ((?:.*\\\n)*.*)", text)
    assert installed
    packages = re.split(r"&&|rm ", installed[1].replace("\\", " "))[0]
    words = {word for word in packages.split() if re.fullmatch(r"[a-z][\w+-]+", word)}
    setup = (CHECKOUT / "tools" / "setup").read_text(encoding="utf-8")
    known = {word for line in re.findall(r"apt:\w+\) (.*);;", setup) for word in re.findall(r"[\w+-]+", line)}
    assert words <= known | {"python3", "python3-venv"}
    assert {"g++", "cmake", "ninja-build", "libopenmpi-dev", "libsimgrid-dev"} <= words


def test_every_python_that_we_support_is_tried() -> None:
    classified = [
        name.rpartition(" ")[2]
        for name in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    ]
    for name in (".github/workflows/ci.yml", ".gitlab-ci.yml"):
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        assert re.findall(r'"(3\.\d+)"', text) == classified


def test_the_module_file_sets_the_path(tmp_path: Path) -> None:
    """The module file sets PATH, executed by Tcl with the commands of Environment Modules that it uses."""
    if not shutil.which("tclsh"):
        pytest.skip("no tclsh")
    (tmp_path / "site").mkdir()
    text = (PACKAGING / "modules" / "kiviat").read_text(encoding="utf-8")
    commands = 'proc module-whatis {text} {}\nproc prepend-path {name value} {puts "$name $value"}\n'
    script = tmp_path / "module.tcl"
    script.write_text(commands + text.replace("set root /opt/kiviat", f"set root {tmp_path}"))
    done = subprocess.run(["tclsh", script], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"PATH {tmp_path}/bin", f"KIVIAT_SITE {tmp_path}/site"], done.stderr


@pytest.mark.full
def test_reframe_fails_on_a_slower_machine(openmpi: Toolchain, tmp_path: Path) -> None:
    """The ReFrame test passes against a reference run of its own, and fails against one with a tenth of its
    times, naming a case.
    """
    pytest.importorskip("reframe")
    build(openmpi)
    program = tmp_path / "kiviat"
    # What runs beside this test disturbs it, and would leave it without a verdict.
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        "from kiviat.launch.run import activity\n"
        "from kiviat.cli.main import main\n"
        "activity.disturbance = lambda *_, **__: None\n"
        "sys.exit(main())\n"
    )
    program.chmod(0o755)
    options = "-m 8 --launches 5 --budget 0.05"
    plan = f"pingpong --mpi {openmpi.mpicxx}"
    run = [str(program), "run", *plan.split(), "-n", "2", *options.split(), "-q"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
    base = done.stdout.strip()
    assert base, done.stderr

    def reframe(*settings: str) -> str:
        words = [f"kiviat={program}", f"plan={plan}", f"options={options}", *settings]
        done = subprocess.run(
            [sys.executable, "-c", "from reframe.frontend.cli import main; main()"]
            + [
                "-c",
                str(PACKAGING / "reframe" / "kiviat_check.py"),
                "-r",
                "--nocolor",
                "--prefix",
                str(tmp_path / "rfm"),
            ]
            + [word for one in words for word in ("-S", one)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
        return done.stdout + done.stderr

    passed = reframe(f"baseline={tmp_path / base}", "threshold_percent=100")
    assert "[  PASSED  ]" in passed and "1/1 test case" in passed, passed
    faster = tmp_path / "faster"
    shutil.copytree(tmp_path / base, faster)
    tenth_of_times(faster)
    failed = reframe(f"baseline={faster}")
    assert "[  FAILED  ]" in failed and "times the baseline's time" in failed, failed


def tenth_of_times(run: Path) -> None:
    """Return records as if an older machine had been ten times as fast, without checksums and in the first
    schema.
    """
    import json

    from kiviat.record import UNSEALED_RECORD_SCHEMA

    records = run / "records.jsonl"
    lines = []
    for line in records.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        record.pop("crc32", None)
        record["schema"] = UNSEALED_RECORD_SCHEMA
        for metric in record["metrics"]:
            for name in ("mean", "min", "max", "p50", "p90", "p99", "ci_low", "ci_high"):
                metric[name] = None if metric[name] is None else metric[name] / 10
        lines.append(json.dumps(record))
    records.write_text("\n".join(lines) + "\n", encoding="utf-8")
