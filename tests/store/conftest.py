"""Fixtures: runs with fabricated records."""

from __future__ import annotations

from pathlib import Path

import pytest

from kiviat.store import RunDirectory
from tests.store.made_up import MACHINE, PLAN, launch, record


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def run(home: Path) -> RunDirectory:
    """A run that is being written."""
    return RunDirectory.create(home, "test", machine=MACHINE, plan=PLAN)


@pytest.fixture
def finished(run: RunDirectory) -> RunDirectory:
    """A finished run with two cases and two launches."""
    with run:
        for index in range(2):
            run.set_launch(launch(index, index))
            run.append(record(run.id, launch=index))
            run.append(record(run.id, "allreduce/ranks=2/bytes=8/root=1", index, axes={"root": 1}))
            run.set_launch(launch(index, index, outcome="ok", exit=0))
        run.finish()
    return run
