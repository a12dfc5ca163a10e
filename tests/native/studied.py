"""Helper for tests of applications: runs cases of a benchmark, on request with faults."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conftest import Native

Environment = Mapping[str, str | Path]


class Studied:
    """Runs cases of one benchmark: `results` runs several in one launch, `result` runs one."""

    def __init__(self, benchmark: str) -> None:
        self._benchmark = benchmark

    def results(
        self,
        native: Native,
        folder: Path,
        ranks: int,
        cases: Sequence[str],
        program: Path | None = None,
        environment: Environment | None = None,
    ) -> list[dict[str, Any]]:
        asked, out = folder / "cases.txt", folder / "events.jsonl"
        name = self._benchmark
        asked.write_text("".join(f"{name}/{number} {name} {words}\n" for number, words in enumerate(cases)))
        out.unlink(missing_ok=True)
        words = (program or native.program, "--cases", asked, "--out", out)
        done = native.run(ranks, *words, preload=environment)
        assert done.returncode == 0, done.stderr
        events = [json.loads(line) for line in out.read_text().splitlines()]
        results = [event for event in events if event["event"] == "result"]
        assert len(results) == len(cases)
        return results

    def result(
        self,
        native: Native,
        folder: Path,
        ranks: int,
        words: str,
        program: Path | None = None,
        environment: Environment | None = None,
    ) -> dict[str, Any]:
        (result,) = self.results(native, folder, ranks, [words], program, environment)
        return result

    def with_broken_kernel(
        self, native: Native, folder: Path, ranks: int, words: str, every: int | None = None
    ) -> dict[str, Any]:
        """Run a case with the program kiviat-broken, which skips every `every`-th kernel (None: skips
        none).
        """
        environment = {"KIVIAT_BROKEN_KERNEL": str(every)} if every else None
        return self.result(native, folder, ranks, words, native.testing("kiviat-broken"), environment)

    def with_fault(self, native: Native, folder: Path, words: str, fault: str, only: int) -> dict[str, Any]:
        """Run a case on two ranks with a fault ("drop", "corrupt", "truncate") in the `only`-th message that
        rank 1 receives.
        """
        environment: dict[str, str | Path] = {
            **{"KIVIAT_FAULT": fault, "KIVIAT_FAULT_RANK": "1", "KIVIAT_FAULT_ONLY": str(only)},
            "LD_PRELOAD": native.faults,
        }
        return self.result(native, folder, 2, words, environment=environment)


def is_refused(result: Mapping[str, Any]) -> bool:
    return (result["outcome"], result["check"], result["phase"]) == ("failed", "failed", "check")


def value(result: Mapping[str, Any], name: str) -> float:
    return float(next(metric["p50"] for metric in result["metrics"] if metric["name"] == name))
