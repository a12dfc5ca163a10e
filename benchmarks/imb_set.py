"""The IMB-MPI1 set on two ranks: number of cases that converge, and duration compared with IMB's."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.command import kiviat
from benchmarks.finding import Finding, judged, not_measured
from benchmarks.mpi import Mpi
from benchmarks.peers import IMB_PROGRAM, IMB_SET, find_program, version
from benchmarks.setting import Setting
from kiviat.record import Record

ROW = "imb-set"
PLAN = Path(__file__).with_name("imb_mpi1.toml")
LAUNCHES = 5
_TARGET = 0.02


def measure(setting: Setting) -> Iterator[Finding]:
    yield from setting.under_each_mpi(ROW, _of)


def _of(mpi: Mpi, setting: Setting) -> Iterator[Finding]:
    rounds = setting.times(3, least=1)
    imb = find_program("IMB_DIR", IMB_PROGRAM, mpi)
    ours_s: list[float] = []
    theirs_s: list[float] = []
    records: list[Record] = []
    for _ in setting.progress(range(rounds), f"{ROW}: {mpi.name}"):
        with tempfile.TemporaryDirectory() as folder:
            ours_s.append(_wall_s(partial(_run, mpi, folder)))
            records += _records(Path(folder))
        if isinstance(imb, Path):
            theirs_s.append(sum(_wall_s(partial(mpi.launch, [imb, *IMB_SET])) for _ in range(LAUNCHES)))

    yield _convergence(mpi, records)
    what, target = f"Wall time of {LAUNCHES} launches, {mpi.name}", "half of IMB's defaults × 5 at most"
    if isinstance(imb, str):
        yield not_measured(ROW, what, target, f"ours {median(ours_s):.1f} s; {imb}")
        return
    ours, theirs = median(ours_s), median(theirs_s)
    busy = sum(record.elapsed_s or 0 for record in records) / rounds
    yield Finding(
        ROW,
        what,
        f"{ours:.1f} s beside {theirs:.1f} s: {ours / theirs:.2f}",
        target,
        judged(ours <= theirs / 2),
        detail=[
            f"IMB {version(imb)}; median of {rounds} alternating rounds",
            f"of ours, {busy:.1f} s are in cases, the rest in starts and records",
        ],
        data={"ours_s": ours_s, "imb_s": theirs_s},
        repeat=[f"{mpi.shell([imb, *IMB_SET])}  # the wall time of {LAUNCHES} such launches"],
    )


def _run(mpi: Mpi, folder: str) -> None:
    # exit code 1: a case failed
    kiviat("run", PLAN, "-n", "2", "--mpi", mpi.key, "-o", folder, accepted=(0, 1))


def _records(home: Path) -> Iterator[Record]:
    for file in home.rglob("records.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield Record.from_json(json.loads(line))


def _convergence(mpi: Mpi, records: Sequence[Record]) -> Finding:
    measured = [record for record in records if record.outcome != "skipped"]
    wide = [record for record in measured if not _converged(record)]
    share = 1 - len(wide) / len(measured) if measured else 0.0
    cases = len({record.case for record in measured})
    worst = Counter(record.benchmark for record in wide).most_common(5)
    return Finding(
        ROW,
        f"Cases that converge to ± 2 % within a launch, {mpi.name}",
        f"{share:.1%} of {len(measured)} ({cases} cases)",
        "95 % at least",
        judged(share >= 0.95),
        detail=["did not: " + ", ".join(f"{name} {count}" for name, count in worst)] if worst else (),
        data={"wide": dict(Counter(record.case for record in wide))},
    )


def _converged(record: Record) -> bool:
    time_metric = record.metric("time")
    if record.outcome != "ok" or time_metric is None or not time_metric.p50:
        return False
    if time_metric.ci_low is None or time_metric.ci_high is None:
        return False
    return (time_metric.ci_high - time_metric.ci_low) / 2 <= _TARGET * time_metric.p50


def _wall_s(action: Callable[[], object]) -> float:
    begin = time.monotonic()
    action()
    return time.monotonic() - begin
