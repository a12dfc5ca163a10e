"""Emulated clusters: time to create and remove them.

MPI streams compared with plain TCP on the same links.

`python -m benchmarks.emulated 2x1,rate=1Gbit` prints the rate of plain TCP on such a cluster, in Mbit/s.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.command import kiviat
from benchmarks.finding import Finding, Verdict, judged, not_measured
from benchmarks.mpi import Mpi
from benchmarks.setting import Setting
from kiviat.launch.emulated import rights
from kiviat.launch.emulated.ceiling import highest_rate, unshaped_rates
from kiviat.launch.emulated.cluster import Cluster
from kiviat.launch.emulated.raw_tcp import stream_rates
from kiviat.launch.emulated.spec import Spec, parse_spec
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
    unshaped = unshaped_rates()
    yield Finding(
        ROW,
        "plain TCP without a limit",
        f"{median(unshaped) / 1e9:.2f} Gbit/s",
        "",
        Verdict.STATED,
        [f"median of {len(unshaped)} streams of half a second: {_listed(unshaped, 1e9)} Gbit/s"],
        {"bit_per_s": unshaped},
        [".venv/bin/kiviat cluster ceiling"],
    )
    for mpi in setting.mpis:
        yield from _streams(mpi, unshaped, setting)


def _up_and_down(setting: Setting) -> Iterator[Finding]:
    up_s, down_s = [], []
    interfaces = _interfaces()
    left: set[str] = set()
    for _ in setting.progress(range(setting.times(10, least=3)), f"{ROW}: up and down"):
        began = time.monotonic()
        cluster = Cluster.up(Spec(4, 2, 10**9))
        up_s.append(time.monotonic() - began)
        began = time.monotonic()
        cluster.down()
        down_s.append(time.monotonic() - began)
        left |= _left(cluster.folder) | (_interfaces() - interfaces)
    for what, took, most in (("up", up_s, _UP_S), ("down", down_s, _DOWN_S)):
        yield Finding(
            ROW,
            f"a cluster of 4 nodes {what}",
            f"{median(took):.2f} s, {max(took):.2f} s at most",
            f"{most:.0f} s at most",
            judged(max(took) <= most),
            data={"times_s": took},
        )
    yield Finding(
        ROW,
        "left behind: interfaces, mounts, namespaces",
        ", ".join(sorted(left)) or "nothing",
        "nothing",
        judged(not left),
    )


def _interfaces() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


def _left(folder: Path) -> set[str]:
    """Return what is left of a cluster: its namespaces are files of its folder, mounted on themselves."""
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    return {mount for mount in mounts if mount.startswith(f"{folder}/")} | (
        {str(folder)} if folder.exists() else set()
    )


def _streams(mpi: Mpi, unshaped: Sequence[float], setting: Setting) -> Iterator[Finding]:
    """Measure streams at the highest credible rate, and at two lower ones if possible.

    The highest credible rate is half of the rate of plain TCP, or of this MPI if lower, without a limit.
    """
    ((ceiling, _),) = _of(mpi, None, 1, setting)
    highest = min(highest_rate(unshaped), highest_rate([ceiling]))
    yield Finding(
        ROW,
        f"stream without a limit, {mpi.name}",
        f"{ceiling / 1e9:.2f} Gbit/s in one run; highest rate claimed {highest / 1e9:g} Gbit/s",
        "",
        Verdict.STATED,
    )
    for rate in sorted({min(rate, highest) for rate in (10**8, 10**9, highest)}):
        seen = _of(mpi, rate, setting.times(3, least=1), setting)
        ratio = median(ours / raw for ours, raw in seen) - 1
        yield Finding(
            ROW,
            f"stream beside plain TCP, {Spec(2, 1, rate).label}, {mpi.name}",
            f"{ratio:+.1%} ({median(ours for ours, _ in seen) / 1e6:.1f} beside "
            f"{median(raw for _, raw in seen) / 1e6:.1f} Mbit/s)",
            "within ± 3 %",
            judged(abs(ratio) <= _WITHIN),
            [
                f"median of {len(seen)} quotients, of {_listed([ours for ours, _ in seen], 1e6)} Mbit/s",
                "and the mean of plain TCP before and after each, for a second: "
                f"{_listed([raw for _, raw in seen], 1e6)} Mbit/s",
            ],
            {"ours_and_raw_bit_per_s": seen},
            [f".venv/bin/python -m benchmarks.emulated {Spec(2, 1, rate).label}"],
        )


def _of(mpi: Mpi, rate: int | None, times: int, setting: Setting) -> list[tuple[float, float]]:
    """Return `times` pairs of one-way rates in bit/s: MPI's uniband, and plain TCP before and after it."""
    spec = Spec(2, 1, rate)
    seen = []
    with Cluster.up(spec) as cluster:
        before = sum(stream_rates(cluster, _ONE_WAY))
        for _ in setting.progress(range(times), f"{ROW}: streams, {spec.label}, {mpi.name}"):
            ours = _uniband(mpi, cluster)
            after = sum(stream_rates(cluster, _ONE_WAY))
            seen.append((ours, (before + after) / 2))
            before = after
    return seen


def _uniband(mpi: Mpi, cluster: Cluster) -> float:
    with tempfile.TemporaryDirectory() as folder:
        words = ["--on", f"emulated:{cluster.name}", "--mpi", mpi.key, "-n", "2x1", "--launches", "1"]
        kiviat("run", "uniband", "-m", "1M", "--set", "window=8", "--budget", "1", *words, "-o", folder)
        (file,) = Path(folder).glob("*/records.jsonl")
        metric = Record.from_json(json.loads(file.read_text())).metric("bandwidth")
    if metric is None or metric.p50 is None:
        raise RuntimeError(f"uniband on {cluster.spec.label} has no result")
    return 8 * metric.p50


def _listed(rates: Sequence[float], unit: float) -> str:
    return ", ".join(f"{rate / unit:.2f}" for rate in rates)


def _main(text: str) -> None:
    with Cluster.up(parse_spec(text)) as cluster:
        print(_listed(stream_rates(cluster, _ONE_WAY), 1e6))


if __name__ == "__main__":
    _main(*sys.argv[1:])
