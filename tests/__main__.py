"""Runs all tests in three parts; the last one measures, and runs one test after the other.

python -m tests [words for pytest]

The first part needs no MPI; meanwhile compilers build what the others need. Tests of the second part start
MPI and mostly wait; it begins when everything is built, beside what is left of the first. All parts always
run, and the failures of all are listed at the end. A selection of tests (`-k`, paths) is one part, as with
plain pytest.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import pytest

from kiviat.launch.process import children
from tests import builds

STAMP = builds.CHECKOUT / ".venv" / "setup-test"  # tools/setup writes it
CORES = len(os.sched_getaffinity(0))
# conftest.py gives each worker whole files.
PARTS = {
    "untimed": ["-n", str(CORES)],
    "waiting": ["-n", str(3 * CORES)],
    "timed": [],
}
# Ranks of several tests share the cores. Those that poll for messages would use a third of their time.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}
# Leaves four fifths of the cores to compilers, because the second part waits for them.
BEHIND_COMPILERS = 4


def main(words: list[str]) -> int:
    signal.signal(signal.SIGINT, lambda *_: None)  # pytest handles Ctrl-C, and this process ends after it
    began = time.monotonic()
    if _selects(words):
        return _started(words).wait()
    codes, outcomes, failed = [], Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        for part, code in _parts(words, Path(folder)):
            codes.append(code)
            file = Path(folder) / part
            if file.exists():
                said: dict[str, Any] = json.loads(file.read_text())
                outcomes.update(said["outcomes"])
                failed += said["failed"]
            else:
                failed.append(f"part {part}: pytest ended with {code}")
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    print(
        f"\nall parts: {counts} in {minutes} min {seconds} s",
        *(f"FAILED {name}" for name in failed),
        sep="\n",
    )
    if outcomes["skipped"]:
        print(f"did not run: {outcomes['skipped']} of {outcomes.total()} tests{_missing()}")
    # A part that a signal ended has a negative code, which must not count as less than success.
    codes = [code if code >= 0 else 128 - code for code in codes]
    return max(code for code in codes if len(set(codes)) == 1 or code != pytest.ExitCode.NO_TESTS_COLLECTED)


def _parts(words: list[str], folder: Path) -> Iterator[tuple[str, int]]:
    """Run the parts until one is interrupted; yield the name and exit code of each, which writes its outcomes
    into a file of its name.
    """

    def start(part: str, output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        own = [*PARTS[part], "--part", part, "--outcomes", str(folder / part)]
        niceness = BEHIND_COMPILERS if part == "untimed" else 0
        return _started([*words, *own], output, niceness, YIELDING if part == "waiting" else {})

    builder, untimed = builds.started(), start("untimed")
    while builder.poll() is None:
        if untimed.poll() == pytest.ExitCode.INTERRUPTED:
            builder.terminate()
        time.sleep(0.1)
    if untimed.poll() == pytest.ExitCode.INTERRUPTED:
        yield "untimed", untimed.wait()
        return
    with (folder / "output").open("w+b") as output:
        waiting = start("waiting", output)
        yield "untimed", untimed.wait()
        yield "waiting", waiting.wait()
        output.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(output, sys.stdout.buffer)
        sys.stdout.flush()
    if pytest.ExitCode.INTERRUPTED not in (untimed.returncode, waiting.returncode):
        yield "timed", start("timed").wait()


def _selects(words: list[str]) -> bool:
    """True if only some of the tests are selected."""
    return any(word.startswith("-k") or Path(word.partition("::")[0]).exists() for word in words)


def _started(
    words: list[str],
    output: IO[bytes] | None = None,
    niceness: int = 0,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    command = ["nice", "-n", str(niceness), sys.executable, "-m", "pytest", *words]
    own = {**os.environ, **(environment or {})}
    return subprocess.Popen(command, stdout=output, env=own, preexec_fn=children.tied(signal.SIGINT))


def _missing() -> str:
    lines = STAMP.read_text().splitlines()[1:] if STAMP.exists() else []
    absent = " ".join(line.removeprefix("without ") for line in lines)
    return f"; missing system packages: {absent} (`make test YES=1` installs them)" if absent else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
