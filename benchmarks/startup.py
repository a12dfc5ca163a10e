"""Duration of `kiviat --help`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.command import kiviat
from benchmarks.finding import Finding, judged
from benchmarks.setting import Setting

ROW = "startup"


def measure(setting: Setting) -> Iterator[Finding]:
    kiviat("--help")  # lets Python compile its caches
    times = []
    for _ in setting.progress(range(setting.times(10, least=3)), ROW):
        begin = time.monotonic()
        kiviat("--help")
        times.append(time.monotonic() - begin)
    took = median(times)
    data = {"times_s": times}
    yield Finding(ROW, "kiviat --help", f"{took:.2f} s", "0.3 s at most", judged(took <= 0.3), data=data)
