"""Injects faults into Kiviat and checks the effects on results, processes and files:

python -m tests.faults --mpi openmpi --trials 100 --seed 1 > trials.jsonl

Prints one JSON line per trial to standard output, and a table to standard error at the end. The exit code is
1 if anything was lost, left behind, unreported, or contradicts expected.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kiviat.launch.mpi.build import PROFILER, PROGRAM, RECORDER, build
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from tests.builds import FOLDERS

from . import jobs
from .campaign import Campaign, bad, table
from .trial import Setting

CLOCK = Path(__file__).with_name("clock.c")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Injects faults into Kiviat.")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first trial's number: shards add up")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="trials at the same time")
    parser.add_argument("--phase", help="only this one")
    parser.add_argument("--kind", help="only faults that begin so")
    asked = parser.parse_args()
    os.environ.update(FOLDERS)
    toolchain, simulator = find_toolchain(asked.mpi), find_toolchain(SIMULATOR)
    products = [build(toolchain, product=product) for product in (PROGRAM, PROFILER, RECORDER)]
    products.append(build(simulator))
    results: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="kiviat-faults-") as folder,
        ThreadPoolExecutor(asked.jobs) as pool,
    ):
        library = Path(folder) / "clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", CLOCK, "-o", library, "-ldl"], check=True)
        setting = Setting(list(map(str, products)), str(toolchain.mpiexec), folder)
        campaign = Campaign(asked.mpi, asked.seed, setting)
        if not jobs.installed():
            print("slurmctld, slurmd and munged are not installed: no trials of slurm", file=sys.stderr)
        trials = campaign.trials(asked.first, asked.trials, asked.phase, asked.kind)
        for result in pool.map(campaign.attempt, trials):
            print(json.dumps(result), flush=True)
            results.append(result)
    print(table(results), file=sys.stderr)
    return int(any(map(bad, results)))


if __name__ == "__main__":
    sys.exit(main())
