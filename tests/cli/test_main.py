"""Exit codes, one-line errors, and behaviour with closed pipes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import duckdb
import pytest

from kiviat import __version__
from kiviat.cli import main as cli
from kiviat.cli.options.arguments import _COMMANDS, parsed
from kiviat.store.duck import interruptible
from tests.cli.conftest import Kiviat


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the error message, which must be the only output."""
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("kiviat: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_help_names_every_command_and_explains(kiviat: Kiviat) -> None:
    done = kiviat("--help")
    assert done.returncode == 0
    for name in chain.from_iterable(_COMMANDS.values()):
        assert f"    {name} " in done.stdout
        assert kiviat(name, "--help").returncode == 0


def test_help_imports_nothing_heavy() -> None:
    """`kiviat --help` takes at most 0.15 s; importing DuckDB, NumPy and Jinja alone would take longer."""
    code = "import sys; from kiviat.cli.options.arguments import parser; parser(); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"duckdb", "numpy", "jinja2", "tomllib"} & set(modules.split())


@pytest.mark.full
def test_help_is_quick(kiviat: Kiviat) -> None:
    def seconds() -> float:
        began = time.perf_counter()
        kiviat("--help")
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.15


def test_version(kiviat: Kiviat) -> None:
    assert kiviat("--version").stdout == f"kiviat {__version__}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("machine --format json", "host --format json"),
        ("machines", "model list"),
        ("machines show altix-bx2", "model show altix-bx2"),
        ("run --multi 2 pingpong", "run --groups 2 pingpong"),
        ("profile --crossing --waits -- a --waits", "profile --mpi-traffic --wait-states -- a --waits"),
        ("place a --beside plane:2", "place a --compare-with plane:2"),
        ("place a --beside=plane:2", "place a --compare-with=plane:2"),
        ("balance --small keep --few-nodes=drop x", "balance --rules small=keep,few-nodes=drop x"),
    ],
)
def test_names_of_the_version_before_are_understood(
    old: str, new: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert vars(parsed(new.split())) == (arguments := vars(parsed(old.split())))
    assert arguments and "is called" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("frobnicate",), "invalid choice: 'frobnicate'; see `kiviat --help`"),
        (("rum",), "invalid choice: 'rum'; did you mean 'run'?; see `kiviat --help`"),
        (("cluster", "upp"), "invalid choice: 'upp'; did you mean 'up'?; see `kiviat cluster --help`"),
        (("run", "--budjet=3"), "arguments: --budjet=3; did you mean '--budget'?; see `kiviat run --help`"),
        (("show", "--format", "xml"), "invalid choice: 'xml' (choose from table, csv, json)"),
        (("run", "--budget", "x"), "argument --budget: invalid float value: 'x'; see `kiviat run --help`"),
        (
            ("compare", "a", "b", "--threshold", "nan"),
            "argument --threshold: invalid float value: 'nan'; see",
        ),
        (("run", "--timeout", "0"), "argument --timeout: '0'; give seconds above 0, at most 1e+09; see"),
        (("run", "--launcher", "srun '"), 'argument --launcher: "srun \'": No closing quotation; close'),
        (("run", "--resume", ""), "--resume is empty; give a value, or leave the option out"),
        (("what-if", "", "pingpong"), "MACHINE is empty; name a machine"),
        (("profile", "-o", "", "--", "true"), "--output is empty; give a value, or leave the option out"),
        (("show",), "/runs holds none; `kiviat run` makes one, KIVIAT_RUNS names another folder"),
        (("compare", "a", "b"), "there is no run 'a'"),
        (("run", "--interval", "-1"), "--interval -1: give per cent above 0 and below 100, such as 5"),
        (("run", "--target", "200"), "--target 200: give per cent above 0 and below 100, such as 5"),
        (("run", "pingpong", "-n", "2x2"), "-n 2x2 needs 2 nodes, and this machine is one; use those of"),
        (("run", "--on", "altix-bx2"), "'altix-bx2' is a modelled machine: give --on simulated:altix-bx2"),
        (
            ("profile", "mpirun", "-n", "2", "./a"),
            "arguments: ./a; put -- before the command of the program: kiviat",
        ),
        (("cluster", "down"), "no cluster is up; `kiviat cluster up 2x1` creates one"),
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
    """If the reader closes the pipe, as in `kiviat … | head -1`, kiviat ends without any message."""
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


@pytest.mark.parametrize(
    ("shell", "registers"),
    [("bash", "complete -o nospace"), ("zsh", "compdef"), ("fish", "complete --command kiviat")],
)
def test_completion_scripts_register_kiviat(kiviat: Kiviat, shell: str, registers: str) -> None:
    assert registers in kiviat("completion", shell).stdout


def test_bash_completes(kiviat: Kiviat, tmp_path: Path) -> None:
    """Completion works in a real bash: commands, options, benchmarks, plans, machines and runs."""
    (tmp_path / "c.sh").write_text(kiviat("completion", "bash").stdout)
    (tmp_path / "runs" / "20260101-x").mkdir(parents=True)
    (tmp_path / "runs" / "20260101-x" / "run.json").touch()
    (tmp_path / "kiviat").write_text(f'#!/bin/sh\nexec {sys.executable} -m kiviat.cli.main "$@"\n')
    (tmp_path / "kiviat").chmod(0o755)

    def completed(line: str) -> set[str]:
        words = line.split(" ")
        typed = (
            f"source ./c.sh; COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; "
            f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
            '_python_argcomplete ./kiviat; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", typed], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return {word.strip() for word in done.stdout.splitlines()}

    assert completed("./kiviat re") == {"report"}
    assert completed("./kiviat run --dr") == {"--dry-run"}
    assert completed("./kiviat run pingp") == {"pingping", "pingpong"}
    assert completed("./kiviat run hpcc-") == {"hpcc-modelled", "hpcc-quick"}
    assert completed("./kiviat model show altix-bx2-n") == {"altix-bx2-numalink3"}
    assert completed("./kiviat show 2026") == completed("./kiviat compare last 2026") == {"20260101-x"}
    assert completed("./kiviat runs --format ") == {"table", "csv", "json"}
    assert completed("./kiviat run --multi") == {""}  # an old name of an option is accepted, but not offered


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), duckdb.OutOfMemoryException("SET …")]
)
def test_limited_memory_is_named(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Under `ulimit -v`, Kiviat once printed "unexpected RuntimeError", or advice for DuckDB users."""

    def fail() -> None:
        raise error

    with duckdb.connect() as connection:
        monkeypatch.setattr("kiviat.cli.commands.runs.execute", lambda _: interruptible(connection, fail))
        assert cli.main(["runs"]) == 2
    assert "kiviat: too little memory or too few threads" in capfd.readouterr().err
