"""Background builds end with `make test`.

A killed `make test` once left `tests/builds.py` and its compilers running.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kiviat.launch.process import processes
from tests import builds

# A compiler wrapper that never returns; it and its child processes have recognisable names.
WRAPPER = """#!/bin/sh
sleep 1000 &
echo $PPID $$ $! >{said}.new && mv {said}.new {said}
wait
"""


def wait_until(condition: Callable[[], object], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.02)


def test_what_builds_beside_tests_ends_with_them(tmp_path: Path) -> None:
    said = tmp_path / "said"
    (tmp_path / "smpicxx").write_text(WRAPPER.format(said=said))
    (tmp_path / "smpicxx").chmod(0o755)
    tests = subprocess.Popen(
        [sys.executable, "-c", "from tests import builds; builds.started().wait()"],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(builds.CHECKOUT),
        },
    )
    wait_until(said.exists)
    pids = set(map(int, said.read_text().split()))
    tests.kill()
    tests.wait()
    wait_until(lambda: not pids & set(processes.our_processes()))
