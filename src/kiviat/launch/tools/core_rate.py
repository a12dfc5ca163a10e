"""Arithmetic rate of a core of this machine, used to scale computation to another machine."""

from __future__ import annotations

import os
import subprocess
import sys

from kiviat.launch.process import children
from kiviat.trace import Rate

_SIZE = 384
_SECONDS = 0.25
_TIMEOUT_S = 60.0
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
# The maximum of many runs, because other programs can only make it slower.
_PROGRAM = f"""
import time
import numpy
a = numpy.random.default_rng(1).random(({_SIZE}, {_SIZE}))
best, end = float("inf"), time.monotonic() + {_SECONDS}
while time.monotonic() < end:
    began = time.thread_time()
    a @ a
    best = min(best, time.thread_time() - began)
print(2 * {_SIZE} ** 3 / best)
"""


def core_rate() -> Rate | None:
    """Return the DGEMM rate of NumPy's BLAS in one thread, in a separate process; None if that fails."""
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    environment.pop("LD_PRELOAD", None)
    words = [sys.executable, "-P", "-c", _PROGRAM]  # -P: modules of the working directory are not imported
    try:
        done = children.run(words, environment=environment, timeout_s=_TIMEOUT_S)
        flops = float(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return Rate(flops, f"DGEMM of {_SIZE} x {_SIZE} by NumPy's BLAS on one core, after the program had ended")
