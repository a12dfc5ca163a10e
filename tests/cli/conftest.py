"""Fixtures that run kiviat as a user does, in a temporary folder."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kiviat.store import RunDirectory
from tests.store.made_up import MACHINE, PLAN, launch, metric, record

Kiviat = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def kiviat(tmp_path: Path) -> Kiviat:
    """Return a function that runs `kiviat(argument, …)`; keywords are environment variables."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kiviat.cli.main", *arguments],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,  # some tests compile the native program while others run
        )

    return run


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunDirectory]:
    """Return a function that makes a complete ping-pong run; `factor` scales its times, which vary by 1 %."""

    def make(factor: float = 1.0, launches: int = 8, name: str = "made-up") -> RunDirectory:
        with RunDirectory.create(tmp_path / "runs", name, machine=MACHINE, plan=PLAN) as run:
            for index in range(launches):
                run.set_launch(launch(index, index, outcome="ok", exit=0))
                for size in (8, 1024, 1 << 20):
                    seconds = factor * (1e-6 + size * 1e-10) * (1 + 0.01 * ((index * 5) % 8 - 3.5) / 3.5)
                    time = metric(samples=(seconds,) * 3, p50=seconds, mean=seconds, min=seconds)
                    bandwidth = metric(
                        "bandwidth", None, unit="B/s", better="higher", p50=size / seconds, from_="time"
                    )
                    case = f"pingpong/ranks=2/bytes={size}"
                    run.append(record(run.id, case, index, bytes=size, metrics=(time, bandwidth)))
            run.finish()
        return run

    return make


def on_terminal(folder: Path, variables: dict[str, str], *arguments: str) -> str:
    """Run kiviat on a pseudo-terminal, and return everything that it prints."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    if "NO_COLOR" not in variables:
        environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "kiviat.cli.main", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.wait()
    os.close(master)
    return seen.decode()
