"""Fuzzes everything that Kiviat reads.

python -m tests.fuzz --seconds 600 [--seed 7] [--format records.jsonl …] [--keep FOLDER]

Prints a JSON line for each format: executions, processor seconds, findings. Failing inputs are
kept in FOLDER, by default tests/fuzz/found, whose inputs are executed as tests. The exit code is 1 if there
are findings.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.fuzz.campaign import campaign
from tests.fuzz.formats import FORMATS
from tests.fuzz.found import FOUND, keep, smaller


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz everything that is read.")
    parser.add_argument("--seconds", type=float, default=60, help="processor time in all (default: 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", nargs="+", choices=sorted(FORMATS), default=list(FORMATS))
    parser.add_argument("--keep", type=Path, default=FOUND, metavar="FOLDER", help="folder for findings")
    given = parser.parse_args()
    bad = 0
    for name in given.format:
        tally = campaign(name, given.seed, seconds=given.seconds / len(given.format))
        reasons: dict[str, str] = {}
        for one, why in tally.findings:
            place = why.rpartition("; ")[2]
            if place not in reasons:  # one input per location of the error in the code
                reasons[place] = why
                file = keep(FORMATS[name], smaller(FORMATS[name], one), given.keep)
                print(f"{name}: {why}\n  kept in {file}", file=sys.stderr)
        line = {
            "format": name,
            "executions": tally.executions,
            "seconds": round(tally.seconds, 1),
            "findings": len(tally.findings),
            "places": len(reasons),
        }
        print(json.dumps(line), flush=True)
        bad += len(tally.findings)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
