"""Arithmetic rate of a core of this machine, used to scale computation to another machine."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

from kiviat.launch.process import children
from kiviat.trace import Rate

_SIZE = 384
_READINGS = 5
_READING_S = 0.06
_TIMEOUT_S = 60.0
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
# Each reading is the best of many products, because other programs can only make one slower.
_PROGRAM = f"""
import time
import numpy
a = numpy.random.default_rng(1).random(({_SIZE}, {_SIZE}))
for reading in range({_READINGS}):
    best, end = float("inf"), time.monotonic() + {_READING_S}
    while time.monotonic() < end:
        began = time.thread_time()
        a @ a
        best = min(best, time.thread_time() - began)
    print(2 * {_SIZE} ** 3 / best)
"""


def core_rates() -> list[float]:
    """Return readings of the DGEMM rate of NumPy's BLAS in one thread, in flop/s; none if that fails.

    They are taken in a separate process.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    environment.pop("LD_PRELOAD", None)
    words = [sys.executable, "-P", "-c", _PROGRAM]  # -P: modules of the working directory are not imported
    try:
        done = children.run(words, environment=environment, timeout_s=_TIMEOUT_S)
        return [float(word) for word in done.stdout.split()]
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return []


def rate_of(readings: Sequence[float]) -> Rate | None:
    """Return the median of readings from before and after a program, and their range; None without any."""
    if not readings:
        return None
    how = (
        f"DGEMM of {_SIZE} x {_SIZE} by NumPy's BLAS on one core, {len(readings)} readings, before the "
        "program began and after it had ended"
    )
    return Rate(statistics.median(readings), how, min(readings), max(readings))
