"""Runs all tests in three parts; the last one measures, and runs one test after the other.

python -m tests [words for pytest]

The first part needs no MPI; meanwhile compilers build what the others need. Tests of the second part start
MPI and mostly wait. All parts always run, and the failures of all are listed at the end. A selection of tests
(`-k`, paths) is one part, as with plain pytest.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kiviat.launch.process import children
from tests import builds

STAMP = builds.CHECKOUT / ".venv" / "setup-test"  # tools/setup writes it
CORES = len(os.sched_getaffinity(0))
# Tests in "waiting" leave half of a core idle. conftest.py gives each worker whole files.
PARTS = {
    "untimed": ["-n", str(CORES)],
    "waiting": ["-n", str(2 * CORES)],
    "timed": [],
}


def main(words: list[str]) -> int:
    signal.signal(signal.SIGINT, lambda *_: None)  # pytest handles Ctrl-C, and this process ends after it
    began = time.monotonic()
    if _selects(words):
        return _pytest(words)
    builder = builds.started()
    codes, outcomes, failed = [], Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        for part, options in PARTS.items():
            file = Path(folder) / part
            codes.append(_pytest([*words, *options, "--part", part, "--outcomes", str(file)]))
            if codes[-1] == pytest.ExitCode.INTERRUPTED:
                builder.terminate()
            builder.wait()
            if file.exists():
                said: dict[str, Any] = json.loads(file.read_text())
                outcomes.update(said["outcomes"])
                failed += said["failed"]
            else:
                failed.append(f"part {part}: pytest ended with {codes[-1]}")
            if codes[-1] == pytest.ExitCode.INTERRUPTED:
                break
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(
        f"\nall parts: {counts} in {minutes} min {seconds} s",
        *(f"FAILED {name}" for name in failed),
        sep="\n",
    )
    if outcomes["skipped"]:
        print(f"did not run: {outcomes['skipped']} of {outcomes.total()} tests{_missing()}")
    return max(code for code in codes if len(set(codes)) == 1 or code != pytest.ExitCode.NO_TESTS_COLLECTED)


def _selects(words: list[str]) -> bool:
    """True if only some of the tests are selected."""
    return any(word.startswith("-k") or Path(word.partition("::")[0]).exists() for word in words)


def _pytest(words: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.Popen(command, preexec_fn=children.tied(signal.SIGINT)).wait()


def _missing() -> str:
    lines = STAMP.read_text().splitlines()[1:] if STAMP.exists() else []
    absent = " ".join(line.removeprefix("without ") for line in lines)
    return f"; missing system packages: {absent} (`make test YES=1` installs them)" if absent else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
