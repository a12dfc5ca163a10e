"""Emulated clusters: how soon they are up and down; MPI's streams beside plain TCP over the same links."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.command import kiviat
from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting
from kiviat.launch.emulated import rights
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec
from kiviat.record import InputError, Record

ROW = "emulated"
_UP_S, _DOWN_S, _WITHIN = 5.0, 3.0, 0.03
_ONE_WAY = (("n1", "n2"),)


def measure(setting: Setting) -> Iterator[Finding]:
    try:
        rights.refuse_without_rights()
    except InputError as error:
        yield not_measured(ROW, "all of it", "", str(error))
        return
    yield from _up_and_down(setting)
    for mpi in setting.mpis:
        yield from _streams(mpi, setting)


def _up_and_down(setting: Setting) -> Iterator[Finding]:
    up_s, down_s = [], []
    for _ in setting.progress(range(setting.times(10, least=3)), ROW):
        began = time.monotonic()
        cluster = Cluster.up(Spec(4, 2, 10**9))
        up_s.append(time.monotonic() - began)
        began = time.monotonic()
        cluster.down()
        down_s.append(time.monotonic() - began)
    for what, took, most in (("up", up_s, _UP_S), ("down", down_s, _DOWN_S)):
        yield Finding(
            ROW,
            f"a cluster of 4 nodes {what}",
            f"{median(took):.2f} s",
            f"{most:.0f} s at most",
            judged(median(took) <= most),
            data={"times_s": took},
        )


def _streams(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    """At two rates, and at the highest that can be claimed: half of what this MPI gets without a limit."""
    ceiling = _of(mpi, None)[0]
    highest = round(ceiling / 2 / 1e8) * 10**8
    yield Finding(
        ROW,
        f"stream without a limit, {mpi.name}",
        f"{ceiling / 1e9:.2f} Gbit/s",
        "",
        Verdict.STATED,
    )
    for rate in sorted({10**8, 10**9, highest}):
        seen = [_of(mpi, rate) for _ in range(setting.times(5, least=1))]
        ratio = median(ours / raw for ours, raw in seen) - 1
        yield Finding(
            ROW,
            f"stream beside plain TCP, {Spec(2, 1, rate).label}, {mpi.name}",
            f"{ratio:+.1%} ({median(ours for ours, _ in seen) / 1e6:.1f} beside "
            f"{median(raw for _, raw in seen) / 1e6:.1f} Mbit/s)",
            "within ± 3 %",
            judged(abs(ratio) <= _WITHIN),
            data={"ours_and_raw_bit_per_s": seen},
        )


def _of(mpi: Mpi, rate: int | None) -> tuple[float, float]:
    """One way in bit/s: of MPI's uniband, and of plain TCP over the same link before and after."""
    with _kept(Spec(2, 1, rate)) as cluster, tempfile.TemporaryDirectory() as folder:
        before = sum(stream_rates(cluster, _ONE_WAY))
        words = ["--on", f"emulated:{cluster.name}", "--mpi", mpi.key, "-n", "2x1", "--launches", "1"]
        kiviat("run", "uniband", "-m", "1M", "--set", "window=8", "--budget", "1", *words, "-o", folder)
        after = sum(stream_rates(cluster, _ONE_WAY))
        (file,) = Path(folder).glob("*/records.jsonl")
        metric = Record.from_json(json.loads(file.read_text())).metric("bandwidth")
    if metric is None or metric.p50 is None:
        raise RuntimeError(f"uniband on {rate} bit/s has no result")
    return 8 * metric.p50, (before + after) / 2


@contextmanager
def _kept(spec: Spec) -> Iterator[Cluster]:
    cluster = Cluster.up(spec, kept=True)
    try:
        yield cluster
    finally:
        cluster.down()
