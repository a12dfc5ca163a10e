"""Exit codes, one line per error, and manners."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import Kiviat
from kiviat import __version__
from kiviat.cli import main as cli


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The error, which is all that was said."""
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("kiviat: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_help_names_every_command_and_explains(kiviat: Kiviat) -> None:
    done = kiviat("--help")
    assert done.returncode == 0
    for name in ("list", "run", "show", "report", "compare", "runs", "export", "sql", "ingest", "machine"):
        assert f"    {name} " in done.stdout
        assert kiviat(name, "--help").returncode == 0


def test_help_imports_nothing_heavy() -> None:
    """`kiviat --help` has 0.3 s; DuckDB, numpy and Plotly alone would take them."""
    code = "import sys; from kiviat.cli.options.arguments import parser; parser(); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"duckdb", "numpy", "jinja2", "plotly", "tomllib"} & set(modules.split())


@pytest.mark.full
def test_help_is_quick(kiviat: Kiviat) -> None:
    def seconds() -> float:
        began = time.perf_counter()
        kiviat("--help")
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.3


def test_version(kiviat: Kiviat) -> None:
    assert kiviat("--version").stdout == f"kiviat {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("frobnicate",), "invalid choice: 'frobnicate'"),
        (("run", "--budget", "x"), "argument --budget: invalid float value: 'x'; see `kiviat run --help`"),
        (("show",), "there is no run 'last': runs holds none; `kiviat run` makes one"),
        (("compare", "a", "b"), "there is no run 'a'"),
        (("sql", "select 1"), "there are no runs to query"),
        (("ingest", "nothing.txt"), "nothing.txt cannot be read: No such file or directory"),
        (("export", "-o", "x.csv"), "there is no run 'last'"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(kiviat: Kiviat, arguments: tuple[str, ...], message: str) -> None:
    assert message in one_line(kiviat(*arguments))


def test_an_unexpected_error_is_one_line_too_and_a_trace_for_those_who_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(arguments: object) -> int:
        raise ZeroDivisionError("a bug\nof two lines")

    monkeypatch.setattr("kiviat.cli.commands.runs.execute", broken)
    monkeypatch.delenv("KIVIAT_DEBUG", raising=False)
    assert cli.main(["runs"]) == 2
    told = "kiviat: unexpected ZeroDivisionError: a bug of two lines; KIVIAT_DEBUG=1 shows where\n"
    assert capsys.readouterr().err == told
    monkeypatch.setenv("KIVIAT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["runs"])


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left", "f"), 2)]
)
def test_interrupted_and_refused(
    error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(arguments: object) -> int:
        raise error

    monkeypatch.setattr("kiviat.cli.commands.runs.execute", fails)
    assert cli.main(["runs"]) == status
    assert capsys.readouterr().err.count("\n") == 1


def test_nobody_reads_to_the_end(tmp_path: Path, kiviat: Kiviat) -> None:
    """`kiviat … | head -1` closes the pipe: no trace, no message."""
    command = f"{sys.executable} -u -m kiviat.cli.main completion fish"
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    assert done.returncode in (0, 141)
    read, write = os.pipe()
    os.close(read)
    closed = subprocess.run(
        [sys.executable, "-m", "kiviat.cli.main", "completion", "fish"], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (closed.returncode, closed.stderr) == (141, b"")


def test_no_space_for_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "kiviat.cli.main", "completion", "bash"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "kiviat: cannot read or write: No space left on device\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_commands_and_options(kiviat: Kiviat, shell: str) -> None:
    script = kiviat("completion", shell).stdout
    assert "compare" in script and "dry-run" in script


def test_bash_completes(kiviat: Kiviat, tmp_path: Path) -> None:
    (tmp_path / "c.sh").write_text(kiviat("completion", "bash").stdout)
    (tmp_path / "runs" / "20260101-x").mkdir(parents=True)

    def completed(*words: str) -> list[str]:
        typed = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; source c.sh; _kiviat"
        typed += '; echo "${COMPREPLY[@]}"'
        return subprocess.run(
            ["bash", "-c", typed], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.split()

    assert completed("kiviat", "re") == ["report"]
    assert "--dry-run" in completed("kiviat", "run", "--d")
    assert completed("kiviat", "show", "2026") == ["20260101-x"]
