"""Findings about the measurement: failures, instability, results unfit for publication, and remedies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kiviat.analysis.aggregate.calibration import in_short
from kiviat.analysis.aggregate.known_errors import in_words, kinds, known_errors
from kiviat.analysis.aggregate.summary import Summary
from kiviat.analysis.findings.finding import Evidence, Finding, named
from kiviat.analysis.statistics.intervals import MIN_LAUNCHES
from kiviat.record.activity import too_busy
from kiviat.record.run import Launch, Run
from kiviat.record.types import Row
from kiviat.record.units import counted, format_value, three_digits

_SPREAD = 0.10
_MODES_APART = 1.4


def findings(summaries: Sequence[Summary], run: Run, failed: Sequence[Row]) -> Iterator[Finding]:
    """Return all findings about the data quality of one run; `failed` are its rows that are not ok."""
    launches: Sequence[Launch] = run.launches
    yield from _disturbed(summaries, run)
    yield from _simulated(summaries, run)
    yield from _failures(failed)
    yield from _launches(launches)
    yield from _tcp(launches)
    yield from _embedded(launches)
    yield from _misplaced(launches)
    measured = [summary for summary in summaries if summary.clock == "wall"]
    yield from _oversubscribed(measured)
    times = [summary for summary in measured if summary.metric == "time"]
    yield from _too_few_launches([*times, *_first_of_studies(measured)])
    calm = [summary for summary in times if not summary.disturbed]
    yield from _two_modes(calm)
    yield from _unstable(calm)
    yield from _not_converged(calm)


def _disturbed(summaries: Sequence[Summary], run: Run) -> Iterator[Finding]:
    """Report results that other programs or a hypervisor disturbed: before all other findings."""
    cases = {summary.case for summary in summaries}
    disturbed = [summary for summary in summaries if summary.disturbed]
    spoilt = {summary.case for summary in disturbed}
    if not spoilt:
        return
    yield Finding(
        "disturbed",
        1.0,
        f"The machine was not idle: {len(spoilt)} of {counted(len(cases), 'case')} "
        f"{'was' if len(spoilt) == 1 else 'were'} disturbed",
        f"{_sentence(causes(run))} Disturbed results get no verdict. Measure again while nothing else runs: "
        "`kiviat run` says before it starts whether the machine is busy.",
        _evidence(disturbed),
        "warning",
    )


def causes(run: Run) -> str:
    """Return what used the processors during the run's disturbed launches, at worst, in words."""
    worst = [one.activity for one in run.launches if one.activity and one.activity.disturbed]
    words = []
    if busy := [one for one in worst if too_busy(one.others, one.processors)]:
        most = max(busy, key=lambda one: one.others or 0.0)
        of = f" of {most.processors:.0f}" if most.processors else ""
        words.append(f"other programs used up to {three_digits(most.others or 0.0)}{of} processors")
    for value, what in (
        (max((one.steal or 0.0 for one in worst), default=0.0), "the hypervisor took up to {} of the time"),
        (max((one.wait or 0.0 for one in worst), default=0.0), "a rank waited for a processor for up to {}"),
    ):
        if value >= 0.01:
            words.append(what.format(f"{100 * value:.0f} %"))
    if any(one.throttled for one in worst):
        words.append("the CPU limit of a control group stopped programs")
    launches = f"in {len(worst)} of {counted(len(run.launches), 'launch')}"
    return f"{', '.join(words) or 'other programs used the processors'}, {launches}"


def _failures(failed: Sequence[Row]) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in failed:
        outcome = "check" if row.check == "failed" else row.outcome
        groups.setdefault((outcome, row.phase or "", row.reason or "no reason given"), []).append(row)
    for (outcome, phase, reason), rows in groups.items():
        cases = list(dict.fromkeys(row.case for row in rows))
        count = f"{len(cases)} case{'s' if len(cases) > 1 else ''}"
        headline, importance, severity = {
            "check": (f"Wrong data arrived in {count}", 1.0, "warning"),
            "failed": (f"{count} failed{f' in {phase}' if phase else ''}", 0.9, "warning"),
            "skipped": (f"{count} skipped", 0.25, "info"),
        }[outcome]
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        evidence = tuple(dict.fromkeys((row.case, row.metric or "time") for row in rows))
        detail = f"{', '.join(cases[:3])}{more}."
        yield Finding("failures", importance, f"{headline}: {reason}", detail, evidence, severity)


def _simulated(summaries: Sequence[Summary], run: Run) -> Iterator[Finding]:
    """Report what qualifies a prediction: model, calibration, known errors, losses."""
    model = run.machine.model
    if model is None:
        return
    yield Finding(
        "simulated",
        0.78,
        f"Predicted by a model, not measured: {model.title}",
        f"Calibration: {in_short(model)}."
        + (f" {counted(len(model.assumed), 'number')} assumed." if model.assumed else "")
        + f" Its known errors: {in_words(known_errors(model), kinds(summaries))}.",
        (),
    )
    if model.uncalibrated:
        yield Finding(
            "uncalibrated",
            0.9,
            "The network of the model is uncalibrated",
            f"{_sentence(model.uncalibrated)} Its predictions between nodes rest on vendors' "
            "figures and assumptions.",
            (),
            "warning",
        )
    if losses := model.losses:
        count = "one effect" if len(losses) == 1 else f"{len(losses)} effects"
        yield Finding(
            "model-losses",
            0.55,
            f"The model omits {count}",
            " ".join(map(_sentence, losses)),
            (),
        )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _launches(launches: Sequence[Launch]) -> Iterator[Finding]:
    failed = [launch for launch in launches if launch.outcome == "failed"]
    if failed:
        yield Finding(
            "failed-launches",
            0.88,
            f"{len(failed)} of {len(launches)} launches failed",
            f"{failed[0].reason or 'No reason given'}. Their earlier results are kept.",
            (),
            "warning",
        )


def _tcp(launches: Sequence[Launch]) -> Iterator[Finding]:
    fallen = [launch.transport for launch in launches if launch.transport.fallback_to_tcp]
    if fallen:
        yield Finding(
            "tcp-fallback",
            0.95,
            "The MPI fell back to TCP: these results are not those of the interconnect",
            f"{fallen[0].evidence or 'No evidence recorded'}. Check that the MPI was built for the "
            "network and that its libraries are found on all nodes.",
            (),
            "warning",
        )


def _embedded(launches: Sequence[Launch]) -> Iterator[Finding]:
    libraries = {str(launch.mpi or "MPI") for launch in launches if launch.embedded}
    if libraries:
        yield Finding(
            "embedded-mpi",
            0.65,
            f"Embedded {', '.join(sorted(libraries))}: not for publication",
            "It comes from a Python wheel, built for all machines and tuned for none. "
            "Use the machine's own MPI for results that you publish.",
            (),
            "warning",
        )


def _misplaced(launches: Sequence[Launch]) -> Iterator[Finding]:
    placements = [launch.placement for launch in launches if launch.placement]
    elsewhere = [placement.differences for placement in placements if placement.differences]
    if elsewhere:
        yield Finding(
            "misplaced",
            0.87,
            f"Ranks were not at their requested places in {len(elsewhere)} of {len(launches)} launches",
            f"{'; '.join(elsewhere[0])}. Results belong to the observed placement.",
            (),
            "warning",
        )


def _oversubscribed(summaries: Sequence[Summary]) -> Iterator[Finding]:
    crowded = [summary for summary in summaries if summary.oversubscribed]
    if crowded:
        share = len(crowded) / len(summaries)
        yield Finding(
            "oversubscribed",
            0.6 + 0.25 * share,
            f"{100 * share:.0f} % of the results are oversubscribed: more ranks than cores",
            "They measure how the system switches between processes, not how fast messages are, and get no "
            "verdict. Use fewer ranks.",
            _evidence(crowded),
            "warning",
        )


def _first_of_studies(measured: Sequence[Summary]) -> list[Summary]:
    """Return the first metric of each case without a time."""
    timed = {summary.case for summary in measured if summary.metric == "time"}
    first: dict[str, Summary] = {}
    for summary in measured:
        if summary.case not in timed:
            first.setdefault(summary.case, summary)
    return list(first.values())


def _too_few_launches(times: Sequence[Summary]) -> Iterator[Finding]:
    fewest = min((summary.launches for summary in times), default=MIN_LAUNCHES)
    if fewest < MIN_LAUNCHES:
        lacking = [summary for summary in times if summary.launches < MIN_LAUNCHES]
        yield Finding(
            "too-few-launches",
            0.5,
            f"Fewer than {MIN_LAUNCHES} launches, so no interval, in {_share(lacking, times)}",
            "Launches differ more than samples within one. Intervals and comparisons need at least five.",
            _evidence(lacking),
            "warning",
        )


def _modes(launch_medians: Sequence[float]) -> tuple[int, float] | None:
    """Return the launches in the faster of two modes and the ratio of the gap, or None without two modes.

    Two modes are two groups, each narrower than half the gap between them (in logarithms).
    """
    logs = sorted(math.log(value) for value in launch_medians)
    if len(logs) < MIN_LAUNCHES:
        return None
    gap, fast = max((right - left, i) for i, (left, right) in enumerate(pairwise(logs), start=1))
    width = max(logs[fast - 1] - logs[0], logs[-1] - logs[fast])
    return (fast, math.exp(gap)) if gap > math.log(_MODES_APART) and width < gap / 2 else None


def _apart(fast: int, launches: int, factor: float) -> str:
    """Describe the minority of the launches relative to the majority."""
    odd, how = (fast, "as fast") if 2 * fast <= launches else (launches - fast, "as slow")
    verb = "is" if odd == 1 else "are"
    return f"{odd} of {launches} launches {verb} {three_digits(factor)} times {how} as the others"


def _two_modes(times: Sequence[Summary]) -> Iterator[Finding]:
    found = [(modes, summary) for summary in times if (modes := _modes(summary.launch_medians))]
    if not found:
        return
    found.sort(key=lambda entry: -entry[0][1])
    (fast, factor), worst = found[0]
    yield Finding(
        "two-modes",
        min(0.85, 0.7 + 0.15 * len(found) / len(times)),
        f"{_apart(fast, worst.launches, factor)}: {named(worst)}",
        f"Launches form two groups in {_share(found, times)}. Often ranks land on different "
        "cores: bind them with `kiviat run --bind core`. Or other programs ran: use the machine alone.",
        _evidence([summary for _, summary in found]),
        "warning",
    )


def _unstable(times: Sequence[Summary]) -> Iterator[Finding]:
    unstable = [
        s for s in times if s.spread is not None and s.spread > _SPREAD and not _modes(s.launch_medians)
    ]
    if not unstable:
        return
    unstable.sort(key=lambda summary: -(summary.spread or 0))
    worst = unstable[0]
    low, high = min(worst.launch_medians), max(worst.launch_medians)
    yield Finding(
        "unstable",
        0.45 + 0.3 * len(unstable) / len(times),
        f"Launches differ by more than {100 * _SPREAD:.0f} % in {_share(unstable, times)}",
        f"The worst is {named(worst)}: {format_value(low, worst.unit)} to {format_value(high, worst.unit)}. "
        "Bind the ranks (`kiviat run --bind core`), use the machine alone, fix its frequency, or use more "
        "launches.",
        _evidence(unstable),
        "warning",
    )


def _not_converged(times: Sequence[Summary]) -> Iterator[Finding]:
    adaptive = [summary for summary in times if summary.mode == "adaptive"]
    short = [summary for summary in adaptive if not summary.converged]
    if short:
        yield Finding(
            "not-converged",
            0.3 + 0.3 * len(short) / len(adaptive),
            f"Sampling did not reach its target precision in {_share(short, adaptive)}",
            "They reached their limit of time or samples in some launch. Raise it (`budget_s`, "
            "`max_samples`), use a quieter machine or, if launches differ more than that, more launches.",
            _evidence(short),
            "warning",
        )


def _share(some: Sequence[object], of: Sequence[Summary]) -> str:
    return f"{len(some)} of {counted(len(of), 'case')}"


def _evidence(summaries: Sequence[Summary]) -> Evidence:
    return tuple((summary.case, summary.metric) for summary in summaries)
