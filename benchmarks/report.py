"""Duration and size of `kiviat report` on a hundred thousand records."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.command import kiviat
from benchmarks.finding import Finding, judged
from benchmarks.setting import Setting
from benchmarks.synthetic import write_run

ROW = "report"
RECORDS = 100_000


def measure(setting: Setting) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        run, page = Path(folder) / "runs" / "synthetic", Path(folder) / "report.html"
        cases = write_run(run, RECORDS)
        read_mb = (run / "records.jsonl").stat().st_size / 1e6
        times = []
        for _ in setting.progress(range(setting.times(3, least=1)), ROW):
            begin = time.monotonic()
            kiviat("report", run, "-o", page)
            times.append(time.monotonic() - begin)
        size_mb = page.stat().st_size / 1e6
    took = median(times)
    detail = [f"{RECORDS} records of {cases} cases, {read_mb:.0f} MB of JSON lines"]
    what = f"kiviat report on {RECORDS} records"
    time_data, size_data = {"times_s": times}, {"size_mb": size_mb}
    yield Finding(ROW, f"{what}: time", f"{took:.1f} s", "5 s at most", judged(took <= 5), detail, time_data)
    yield Finding(
        ROW, f"{what}: page", f"{size_mb:.1f} MB", "8 MB at most", judged(size_mb <= 8), data=size_data
    )
