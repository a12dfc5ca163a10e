"""What is worth telling about a run: how fast the machine is, where it is odd, whether to trust it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kiviat.analysis import congestion, contention, performance, strain, trust
from kiviat.analysis.finding import Finding
from kiviat.analysis.grids import Grid
from kiviat.analysis.nodes import host_of, nodes_of
from kiviat.analysis.summary import Summary
from kiviat.record.types import Row

__all__ = ["Finding", "findings", "top"]


def findings(
    summaries: Sequence[Summary],
    runs: Sequence[Mapping[str, Any]],
    rows: Iterable[Row] = (),
    grids: Sequence[Grid] = (),
) -> list[Finding]:
    """All findings, the most important first; `runs` are the contents of run.json, `grids` tables of studies.

    Summaries know only what went well: failures and skips are found in `rows` (all of them, or only those
    that are not ok). With several runs each headline begins with its run.
    """
    failed = [row for row in rows if row.outcome != "ok" or row.check == "failed"]
    found: list[Finding] = []
    for run in runs:
        own = [summary for summary in summaries if summary.run == run["id"]]
        own_grids = [grid for grid in grids if grid.run == run["id"]]
        where = partial(nodes_of, run)
        of_run = [
            *performance.findings(own),
            *contention.findings(own, where),
            *congestion.findings(own, own_grids, where),
            *strain.findings(own, own_grids, where, partial(host_of, run)),
            *trust.findings(own, run, [r for r in failed if r.run == run["id"]]),
        ]
        if len(runs) > 1:
            of_run = [replace(finding, headline=f"{run['id']}: {finding.headline}") for finding in of_run]
        found += of_run
    return top(found, len(found))


def top(found: Iterable[Finding], count: int) -> list[Finding]:
    """The `count` most important findings."""
    return sorted(found, key=lambda finding: -finding.importance)[:count]
