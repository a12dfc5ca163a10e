"""`kiviat runs`, `last` and `sql` over thousands of runs; memory of a run with a million records."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.command import program
from benchmarks.finding import Finding, judged
from benchmarks.setting import Setting
from benchmarks.synthetic import write_run
from kiviat.store.checksum import seal

ROW = "load"
RUNS, QUERIED, RECORDS = 10_000, 2_000, 1_000_000
_SETTLED_S = 11.0  # younger files are not cached (kiviat.store.index)


def measure(setting: Setting) -> Iterator[Finding]:
    scale = 100 if setting.brief else 1
    with tempfile.TemporaryDirectory() as folder:
        yield from _of_many(setting, Path(folder), RUNS // scale, QUERIED // scale)
    with tempfile.TemporaryDirectory() as folder:
        yield from _of_one(setting, Path(folder), RECORDS // scale)


def _of_many(setting: Setting, folder: Path, runs: int, queried: int) -> Iterator[Finding]:
    _write_runs(folder / "runs", runs, 10)
    _write_runs(folder / "queried", queried, 100)
    time.sleep(_SETTLED_S)
    for home, count, words, most_s in (
        ("runs", runs, ["runs"], 2),
        ("runs", runs, ["show", "last"], 2),
        ("queried", queried, ["sql", "select count(*) from records"], 2),
    ):
        times = []
        for _ in setting.progress(range(1 + setting.times(3, least=1)), f"{ROW}: {' '.join(words)}"):
            times.append(_took(words, folder, home)[0])
        first, took = times[0], median(times[1:])
        yield Finding(
            ROW,
            f"kiviat {' '.join(words)}, {count} runs",
            f"{took:.2f} s",
            f"{most_s} s at most",
            judged(took <= most_s),
            [f"the first time, when nothing is kept: {first:.1f} s"],
            {"times_s": times},
        )


def _of_one(setting: Setting, folder: Path, records: int) -> Iterator[Finding]:
    run = folder / "runs" / "large"
    write_run(run, records)
    size = (run / "records.jsonl").stat().st_size
    for words in (
        ["show", "last"],
        ["report", "last", "-o", str(folder / "report.html")],
        ["export", "last", "-o", str(folder / "run.parquet")],
        ["compare", "last", "last"],
        ["sql", "select count(*) from samples"],
    ):
        took, peak = _took(words, folder, "runs")
        yield Finding(
            ROW,
            f"kiviat {words[0]}, {records} records: memory",
            f"{peak / 1e9:.2f} GB",
            "1 GB at most",
            judged(peak <= 1e9),
            [f"{took:.0f} s; records.jsonl has {size / 1e9:.1f} GB"],
            {"peak_bytes": peak, "time_s": took},
        )


def _took(words: list[str], folder: Path, home: str) -> tuple[float, float]:
    """Return the duration in seconds and the peak memory in bytes."""
    environment = {**os.environ, "KIVIAT_RUNS": str(folder / home), "XDG_CACHE_HOME": str(folder / "cache")}
    begin = time.monotonic()
    done = subprocess.Popen(
        [program(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(done.pid, 0)
    took = time.monotonic() - begin
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"kiviat {' '.join(words)} exited with {done.returncode}")
    return took, usage.ru_maxrss * 1024


def _write_runs(home: Path, count: int, records: int) -> None:
    """Write `count` runs of `records` records each, with consecutive names."""
    pattern = home.with_name(f"pattern-{home.name}")
    write_run(pattern, records)
    run = json.loads((pattern / "run.json").read_text())
    for launch in run["launches"]:
        launch["ranks"] = launch["ranks"][:4]
    lines = [json.loads(line) for line in (pattern / "records.jsonl").read_bytes().splitlines()]
    home.mkdir()
    for number in range(count):
        name = f"20260101-{number:06}"
        path = home / name
        path.mkdir()
        (path / "run.json").write_text(json.dumps(run | {"id": name}))
        (path / "records.jsonl").write_bytes(b"".join(seal(line | {"run": name}) for line in lines))
