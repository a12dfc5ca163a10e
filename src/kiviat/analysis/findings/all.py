"""All findings about runs: performance, anomalies, data quality."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from kiviat.analysis.aggregate.nodes import host_of, nodes_of
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings import (
    congestion,
    contention,
    data_quality,
    overhead_and_links,
    performance,
    programs,
)
from kiviat.analysis.findings.doubts import weighed
from kiviat.analysis.findings.finding import Finding
from kiviat.record.rows import Rows
from kiviat.record.run import Run
from kiviat.record.traits import traits_of
from kiviat.record.types import Row

__all__ = ["Finding", "findings", "top"]

_RATIOS = ("s", "B/s")  # units of metrics by which findings divide


def findings(
    summaries: Sequence[Summary],
    runs: Sequence[Run],
    rows: Iterable[Row] = (),
    grids: Sequence[Grid] = (),
) -> list[Finding]:
    """Return all findings, the most important first; `grids` are the tables of studies.

    Summaries contain only successful cases; failures and skips come from `rows` (all rows, or only those that
    are not ok). With several runs, each headline starts with its run.
    """
    failed = Rows.of(rows).without_result()
    found: list[Finding] = []
    for run in runs:
        own = [one for one in summaries if one.run == run.id and _has_ratios(one)]
        own_grids = [grid for grid in grids if grid.run == run.id]
        where = partial(nodes_of, run)
        compared = [
            *performance.findings(own, where, run.machine.caches),
            *contention.findings(own, own_grids, where),
            *congestion.findings(own, own_grids, where),
            *overhead_and_links.findings(own, own_grids, where, partial(host_of, run)),
            *programs.findings(own, own_grids, run, traits_of([run.benchmarks])),
        ]
        disturbed = {(one.case, one.metric) for one in own if one.disturbed}
        of_run = [
            *weighed(
                (one for one in compared if not _judges(one) or disturbed.isdisjoint(one.evidence)), own, run
            ),
            *data_quality.findings(own, run, failed.of_run(run.id)),
        ]
        if len(runs) > 1:
            of_run = [replace(finding, headline=f"{run.id}: {finding.headline}") for finding in of_run]
        found += of_run
    return top(found, len(found))


def _judges(finding: Finding) -> bool:
    """Return whether a finding is a verdict, which disturbed results do not get."""
    return finding.factor is not None or finding.severity == "warning"


def _has_ratios(summary: Summary) -> bool:
    """Return whether a summary's values can be divisors: a coarse clock may report 0 s."""
    return summary.unit not in _RATIOS or min(summary.launch_medians) > 0


def top(found: Iterable[Finding], count: int) -> list[Finding]:
    """Return the `count` most important findings."""
    return sorted(found, key=lambda finding: (finding.kind != "disturbed", -finding.importance))[:count]
