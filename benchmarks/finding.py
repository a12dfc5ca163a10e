"""The type of a benchmark's findings: a figure with its target, and details."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Verdict(StrEnum):
    MET = "met"
    MISSED = "missed"
    CANNOT_TELL = "cannot tell"
    """The target lies within the interval of what was measured."""
    NOT_MEASURED = "not measured"
    STATED = "stated"
    """A figure that belongs in the table and has no target of its own."""


@dataclass(frozen=True)
class Finding:
    """One line of the table. `detail` is printed below it, `data` goes to the JSON file only.

    `repeat`: commands for a shell that measure the peer's figure by hand, with comments.
    """

    row: str
    what: str
    figure: str
    target: str
    verdict: Verdict
    detail: Sequence[str] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    repeat: Sequence[str] = ()


def below(detail: Iterable[str], repeat: Iterable[str]) -> list[str]:
    """Return the lines to print below the table."""
    again = [f"  {line}" for line in repeat]
    return [*detail, *(["repeat:"] if again else []), *again]


def judged(met: bool) -> Verdict:
    return Verdict.MET if met else Verdict.MISSED


def judged_at_most(limit: float, interval: tuple[float, float] | None) -> Verdict:
    """Judge a value by its interval; None, from too few launches, tells nothing."""
    if interval is None or interval[0] <= limit < interval[1]:
        return Verdict.CANNOT_TELL
    return judged(interval[1] <= limit)


def not_measured(row: str, what: str, target: str, reason: str) -> Finding:
    return Finding(row, what, reason, target, Verdict.NOT_MEASURED)


def table(findings: Iterable[Finding]) -> str:
    """Return the findings as aligned columns; long figures wrap within theirs."""
    headings = ("row", "what", "figure", "target", "verdict")
    widths = (10, 44, 40, 26, 12)
    lines = [_line([[heading] for heading in headings], widths), _rule(widths)]
    for finding in findings:
        cells = [getattr(finding, heading) for heading in headings]
        wrapped = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
        lines.append(_line(wrapped, widths))
    return "\n".join(lines)


def details(findings: Iterable[Finding]) -> str:
    """Return the details of the table's figures, one block for each finding."""
    return "\n\n".join(
        "\n  ".join([f"{finding.row}: {finding.what}", *lines])
        for finding in findings
        if (lines := below(finding.detail, finding.repeat))
    )


def write_json(path: Path, findings: Sequence[Finding], machine: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [asdict(finding) for finding in findings]
    replace_text(path, json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Write a file as a whole: whatever interrupts it, the old or the new one is there."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _line(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    height = max(len(cell) for cell in cells)
    padded = [[*cell, *[""] * (height - len(cell))] for cell in cells]
    return "\n".join(
        "  ".join(cell[i].ljust(width) for cell, width in zip(padded, widths, strict=True)).rstrip()
        for i in range(height)
    )


def _rule(widths: Sequence[int]) -> str:
    return "  ".join("-" * width for width in widths)
