"""Findings about programs and kernels: their time in messages, and HPL beside DGEMM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.aggregate.tables import Grid
from kiviat.analysis.findings.finding import Finding
from kiviat.analysis.hpcc.quantities import measured_system
from kiviat.record.run import Run
from kiviat.record.traits import TraitsByName
from kiviat.record.units import counted, format_value


def findings(
    summaries: Sequence[Summary], grids: Sequence[Grid], run: Run, traits: TraitsByName
) -> Iterator[Finding]:
    """Return the findings about the programs and kernels of one run; `grids` are its tables."""
    fair = [summary for summary in summaries if not summary.oversubscribed]
    yield from _hpl(fair, run)
    yield from _messages(fair, grids, traits)


def _hpl(summaries: Sequence[Summary], run: Run) -> Iterator[Finding]:
    if not any(summary.benchmark == "hpl" for summary in summaries):
        return
    whole = measured_system(run, run.id, summaries).whole
    hpl, dgemm = whole.quantities.get("hpl"), whole.quantities.get("dgemm")
    if hpl is None:
        return
    by_case = {summary.case: summary for summary in summaries if summary.metric == "rate"}
    own, beside = by_case.get(hpl.case), by_case.get(dgemm.case if dgemm else "")
    if own is None:
        return
    predicted = own.clock == "simulated"
    headline = f"HPL {format_value(hpl.value, hpl.unit)} on {counted(own.ranks, 'rank')}"
    if predicted:
        headline = f"Predicted{', extrapolated to full memory' * bool(hpl.extrapolated)}: {headline}"
    evidence = [(own.case, own.metric)]
    if dgemm and beside and not (predicted or own.disturbed or beside.disturbed):
        headline += f": {100 * hpl.value / (own.ranks * dgemm.value):.0f} % of their DGEMM rate"
        evidence.append((beside.case, beside.metric))
    rates = [
        f"{title} {format_value(known.value, known.unit)}"
        for key, title in (
            ("dgemm", "DGEMM"),
            ("triad", "STREAM triad"),
            ("ring_bandwidth", "random rings"),
        )
        if (known := whole.quantities.get(key))
    ]
    each = f"Each rank reaches: {', '.join(rates)}. " if rates else ""
    yield Finding(
        "hpl",
        0.79,
        headline,
        f"{each}`kiviat balance` relates memory and network to arithmetic, and says what limits each kernel.",
        tuple(evidence),
    )


def message_share(phases: Grid, communicating: frozenset[str]) -> float | None:
    """Return the fraction of an average rank's time in phases that communicate; None if unknown."""
    mean = phases.median[:, phases.values_of("statistic").index("mean")]
    whole = float(mean.sum())
    if not math.isfinite(whole) or whole <= 0:
        return None
    named = zip(phases.values_of("phase"), mean.tolist(), strict=True)
    return float(sum(value for phase, value in named if phase in communicating)) / whole


def _messages(summaries: Sequence[Summary], grids: Sequence[Grid], traits: TraitsByName) -> Iterator[Finding]:
    """Report which programs spend most and least of their time in messages, on their most ranks."""
    rates = {summary.case: summary for summary in summaries if summary.metric == "rate"}
    shares: dict[str, tuple[float, Summary]] = {}
    for grid in grids:
        rate = rates.get(grid.case)
        if grid.name != "phase_time" or rate is None or rate.ranks < 2 or rate.disturbed:
            continue
        share = message_share(grid, traits[grid.benchmark].communicating)
        known = shares.get(grid.benchmark)
        if share is not None and (known is None or known[1].ranks < rate.ranks):
            shares[grid.benchmark] = share, rate
    if not shares:
        return
    found = sorted(shares.values(), key=lambda one: -one[0])
    (most, first), (least, last) = found[0], found[-1]
    predicted = "Predicted: " if first.clock == "simulated" else ""
    headline = f"{predicted}{_name(first)} spends {100 * most:.0f} % of its time in messages"
    if len(found) > 1:
        headline += f", {_name(last)} {100 * least:.0f} %"
    alike = len({rate.ranks for _, rate in found}) == 1
    others = ", ".join(
        f"{_name(rate)} {100 * share:.0f} %{'' if alike else f' on {rate.ranks}'}" for share, rate in found
    )
    where = counted(first.ranks, "rank") if alike else "the most ranks of each"
    yield Finding(
        "time-in-messages",
        0.72,
        headline,
        f"Share of the time of an average rank, with waiting for other ranks, on {where}"
        + (f": {others}." if len(found) > 1 else "."),
        tuple((rate.case, rate.metric) for _, rate in found),
    )


def _name(summary: Summary) -> str:
    return summary.benchmark.upper()
