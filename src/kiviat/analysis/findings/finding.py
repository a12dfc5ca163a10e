"""The type of findings, and what they have in common."""

from __future__ import annotations

from dataclasses import dataclass

from kiviat.analysis.aggregate.summary import Summary
from kiviat.record.units import axis_text, counted, format_size

Evidence = tuple[tuple[str, str], ...]

ALIKE = 1.15  # ratios up to it count as equal
# Why a cause cannot be named.
SHARED_CORES = "With more ranks than cores they also share processors, so the cause cannot be determined."
UNKNOWN_NODES = "Which ranks share a node is unknown, so the shared resource cannot be determined."


@dataclass(frozen=True, slots=True)
class Finding:
    """A noteworthy result of a run, in words with numbers and units.

    `importance`, 0 to 1, orders findings. `evidence` names its cases and metrics. `severity` is "info", or
    "warning" if results or the machine need attention. `factor` is the ratio of the two quantities that the
    finding compares; if it says that they are equal, the limit up to which ratios count as equal; None if it
    compares nothing.
    """

    kind: str
    importance: float
    headline: str
    detail: str
    evidence: Evidence
    severity: str = "info"
    factor: float | None = None


def named(summary: Summary) -> str:
    """Return a description of a case: "exchange of 2 KiB on 2 ranks, cache off"."""
    size = "" if summary.bytes is None else f" of {format_size(summary.bytes)}"
    axes = "".join(f", {axis_text(axis, value)}" for axis, value in sorted(summary.axes.items()))
    return f"{summary.benchmark}{size} on {counted(summary.ranks, 'rank')}{axes}"


def apart(lower: Summary, higher: Summary) -> bool:
    """Return whether the intervals do not overlap; missing intervals count as disjoint."""
    return lower.high is None or higher.low is None or lower.high < higher.low


def evidence(*summaries: Summary) -> Evidence:
    """Return the cases and metrics of these summaries, each once."""
    return tuple(dict.fromkeys((summary.case, summary.metric) for summary in summaries))
