"""A signal ends any command cleanly: one line, exit code 128 plus its number, and no remaining process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kiviat
from kiviat.launch.process import processes

Started = tuple[subprocess.Popen[str], list[int]]
Hanging = Callable[..., Started]
KIVIAT = [sys.executable, "-m", "kiviat.cli.main"]
# A compiler wrapper that never returns, and writes its own and its child's process number to a file.
WRAPPER = """#!/bin/sh
{trap}
sleep 1000 &
echo $$ $! >{said}.new && mv {said}.new {said}
while :; do wait; sleep 0.05; done
"""


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Hanging]:
    """Return a function that starts a command that waits for the wrapper, and returns their processes."""
    started: list[Started] = []

    def start(trap: str = "", ignored: signal.Signals | None = None) -> Started:
        said, wrapper = tmp_path / "said", tmp_path / "mpicxx"
        wrapper.write_text(WRAPPER.format(trap=trap, said=said))
        wrapper.chmod(0o755)
        command = [*KIVIAT, "list"]
        if ignored:
            command = ["sh", "-c", f'trap "" {ignored.name[3:]}; exec "$@"', "sh", *command]
        process = subprocess.Popen(
            command,
            env={**os.environ, "MPICXX": str(wrapper)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(said.exists)
        pids = list(map(int, said.read_text().split()))
        started.append((process, pids))
        return process, pids

    yield start
    for process, pids in started:
        process.kill()
        process.communicate()
        for pid in pids:
            if running(pid):
                os.kill(pid, signal.SIGKILL)


def wait_until(condition: Callable[[], object], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.01)


def running(pid: int) -> bool:
    return pid in processes.our_processes()


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")],
)
def test_a_command_ends_in_order(hanging: Hanging, number: signal.Signals, words: str) -> None:
    """A signal ends a build with a message, and ends its compilers too.

    After SIGTERM and SIGHUP, `kiviat` once ended silently, and the compilers continued.
    """
    process, pids = hanging()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stdout, stderr) == (128 + number, "", f"kiviat: {words}\n")
    assert not any(map(running, pids))


def test_the_second_signal_changes_nothing(hanging: Hanging) -> None:
    """A wrapper that ignores SIGTERM is killed after a while, even if the user signals again."""
    process, pids = hanging(trap='trap "touch $0.asked" TERM')
    process.send_signal(signal.SIGINT)
    asked = Path(os.fsdecode(Path(f"/proc/{pids[0]}/cmdline").read_bytes().split(b"\0")[1]) + ".asked")
    wait_until(asked.exists)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (130, "kiviat: interrupted\n")
    assert not any(map(running, pids))


def test_a_program_that_is_being_started_ends_too(tmp_path: Path) -> None:
    """A signal may arrive after a program has started but before kiviat knows its process number.

    The program once survived this; the sentinel ends it, because it knows its session.
    """
    code = f"""
import os, subprocess
from kiviat.launch.process import children

class Interrupted(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        while not os.path.exists({str(tmp_path / "said")!r}):
            pass
        raise KeyboardInterrupt

subprocess.Popen = Interrupted
sentinel = children.Sentinel(lambda: None)
sentinel.begin()
try:
    children.run(["sh", {str(tmp_path / "wrapper")!r}])
except KeyboardInterrupt:
    sentinel.dismiss()
"""
    (tmp_path / "wrapper").write_text(WRAPPER.format(trap='trap "" TERM', said=tmp_path / "said"))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    left = [pid for pid in map(int, (tmp_path / "said").read_text().split()) if running(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def test_what_was_ignored_stays_so(hanging: Hanging) -> None:
    """Ignored signals stay ignored, as under nohup."""
    process, _ = hanging(ignored=signal.SIGHUP)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (143, "kiviat: terminated\n")


def test_where_kiviat_is_killed_its_children_end(hanging: Hanging) -> None:
    """If kiviat is killed, all its child processes end.

    The kernel signals the wrapper, and the sentinel ends the wrapper's children.
    """
    process, pids = hanging(trap='trap "" TERM')
    process.kill()
    process.communicate(timeout=20)
    wait_until(lambda: not any(map(running, pids)))


def test_temporary_folders_of_a_killed_kiviat_are_removed(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from kiviat.launch.process.children import Sentinel
from kiviat.record.scratch import remove_scratch_folders, scratch_folder

Sentinel(remove_scratch_folders).begin()
with scratch_folder() as folder:
    Path(folder, "content").touch()
    Path({str(tmp_path / "ready")!r}).touch()
    time.sleep(1000)
"""
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
    wait_until((tmp_path / "ready").exists)
    assert len(list(tmp_path.iterdir())) == 2
    process.kill()
    process.wait()
    wait_until(lambda: [path.name for path in tmp_path.iterdir()] == ["ready"])


def test_no_traceback_however_early(tmp_path: Path) -> None:
    """Ctrl-C prints no traceback, however early it arrives.

    Within the first tenth of a second it once showed a traceback of kiviat's imports.
    """
    for delay_ms in range(0, 320, 20):
        process = subprocess.Popen(
            [*KIVIAT, "runs"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=20)
        # Before kiviat's code runs, the Python interpreter prints its own message.
        assert str(Path(kiviat.__file__).parent) not in stderr, f"after {delay_ms} ms: {stderr}"
