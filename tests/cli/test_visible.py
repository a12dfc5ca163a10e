"""Texts in a run cannot control the terminal, and any standard output accepts any text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.cli.visible import visible
from kiviat.store import RunDirectory
from tests.cli.conftest import Kiviat, on_terminal

Make = Callable[..., RunDirectory]
HOSTILE = "\033[31m\033]0;title\a\r\033[2K\x9b5m\u202egnp\x7f"
SHOWN = "\\u001b[31m\\u001b]0;title\\u0007\\u000d\\u001b[2K\\u009b5m\\u202egnp\\u007f"
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
COMMANDS = (
    ("show",),
    ("runs",),
    ("runs", "--format", "json"),
    ("compare", "last", "last"),
    ("export",),
    ("sql", "select plan, machine from runs"),
    ("machine",),
    ("machines",),
    ("--help",),
    ("show", "µ"),
)


@pytest.fixture
def hostile_run(make_run: Make) -> Path:
    """Create a run whose machine and MPI have escape sequences in their names."""
    path = make_run(launches=3).path
    for name in ("run.json", "records.jsonl"):
        text = (path / name).read_text()
        for word in ("testbed", "Open MPI"):
            text = text.replace(word, word + json.dumps(HOSTILE)[1:-1])
        (path / name).write_text(text)
    return path


def test_what_becomes_of_characters() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("plain µ – 漢字 😀\n\tas ever") == "plain µ – 漢字 😀\n\tas ever"


@pytest.mark.parametrize("command", [*COMMANDS[:6], ("runs", "--format", "csv"), ("show", HOSTILE)])
def test_no_escape_reaches_a_terminal(hostile_run: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Escape sequences in another user's run cannot colour, hide or rewrite what the terminal shows."""
    seen = on_terminal(tmp_path, {}, *command)
    for ours in ("\033[1m", "\033[2m", "\033[0m", "\r\n"):
        seen = seen.replace(ours, "")
    assert not [one for one in seen if (ord(one) < 32 and one not in "\n\t") or 0x7F <= ord(one) < 0xA0]
    assert "\u202e" not in seen


def test_tables_are_aligned_and_data_are_whole(hostile_run: Path, kiviat: Kiviat, tmp_path: Path) -> None:
    assert f"testbed{SHOWN}, " in kiviat("show").stdout.splitlines()[0]
    command = [sys.executable, "-m", "kiviat.cli.main", "runs", "--format", "csv"]
    data = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout.decode()
    assert "testbed" + HOSTILE in data
    (run,) = json.loads(kiviat("runs", "--format", "json").stdout)
    assert run["machine"] == "testbed" + HOSTILE


@pytest.mark.parametrize(
    ("variables", "command"),
    [*((ASCII, command) for command in COMMANDS), ({"PYTHONIOENCODING": "ascii"}, ("show",))],
)
def test_ascii_output_takes_everything(
    kiviat: Kiviat, make_run: Make, variables: dict[str, str], command: tuple[str, ...]
) -> None:
    """Output on an ASCII terminal replaces characters.

    `–` and `µs` once raised an "unexpected UnicodeEncodeError".
    """
    make_run(launches=3)
    done = kiviat(*command, **variables)
    assert "Unicode" not in done.stderr and "Traceback" not in done.stderr
    assert done.returncode == (2 if command in (("show", "µ"), COMMANDS[3]) else 0)
    assert done.stdout.isascii() or command == (
        "export",
    )  # a stream that accepts UTF-8 bytes, whatever the terminal's encoding


def test_names_that_are_not_utf8_are_printed(kiviat: Kiviat, make_run: Make) -> None:
    make_run(launches=1)
    assert "there is no run 'caf\\udce9' in runs" in kiviat("show", "caf\udce9").stderr


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(make_run: Make, tmp_path: Path, closed: str) -> None:
    """Commands work with closed standard streams, as some daemons leave them.

    With standard input closed, every command once hung at exit: the pipe to its helper process got
    descriptor 0, which that process replaces.
    """
    make_run(launches=1)
    command = [sys.executable, "-m", "kiviat.cli.main", "runs"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command], cwd=tmp_path, stderr=subprocess.PIPE, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
