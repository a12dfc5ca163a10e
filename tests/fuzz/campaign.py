"""Executes many generated inputs of one format; all choices follow from a seed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

from tests.fuzz.formats import FORMATS, Input
from tests.fuzz.found import execute


@dataclass
class Tally:
    """Result of a campaign: `seconds` is processor time, `findings` describes the failures."""

    executions: int = 0
    seconds: float = 0.0
    findings: list[tuple[Input, str]] = field(default_factory=list)


def campaign(
    name: str,
    seed: int,
    executions: int | None = None,
    seconds: float | None = None,
    folder: Path | None = None,
) -> Tally:
    """Execute a number of inputs of a format, or as many as fit into a limit of processor time. Input
    number i depends only on i and the seed.
    """
    form, tally, began = FORMATS[name], Tally(), time.process_time()
    for number in count():
        tally.seconds = time.process_time() - began
        if number == executions or (seconds is not None and tally.seconds >= seconds):
            return tally
        one = form.input(Random(f"{name} {seed} {number}"))
        tally.executions += 1
        if why := execute(form, one, folder):
            tally.findings.append((one, f"input {number}: {one.reader}: {one.told}: {why}"))
    raise AssertionError
