"""What a finding is."""

from __future__ import annotations

from dataclasses import dataclass

Evidence = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth telling about a run, in words with numbers and units.

    `importance` orders findings, from 0 to 1. `evidence` names the cases and metrics behind it.
    `severity` is "info", or "warning" where results or the machine need attention.
    """

    kind: str
    importance: float
    headline: str
    detail: str
    evidence: Evidence
    severity: str = "info"
