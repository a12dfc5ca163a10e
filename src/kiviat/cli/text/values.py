"""Results as text, for tables and for the end of a run."""

from __future__ import annotations

from kiviat.analysis.aggregate.summary import MIXED, Summary
from kiviat.cli.text.hints import typeable
from kiviat.record.rows import Rows
from kiviat.record.units import axis_text, counted, format_range


def interval(summary: Summary) -> str:
    """Return "1.20 – 1.27 µs", or why there is no interval."""
    if summary.low is None or summary.high is None:
        return "too few launches"
    return format_range(summary.low, summary.high, summary.unit)


def order(summary: Summary) -> tuple[str, int, str, int]:
    """Sort key of tables: benchmark, ranks, setting, size."""
    return summary.benchmark, summary.ranks, setting(summary), -1 if summary.bytes is None else summary.bytes


def setting(summary: Summary) -> str:
    """Return the axes that differ from the default, and the mode if it changes what is measured."""
    words = [axis_text(name, value) for name, value in sorted(summary.axes.items())]
    return ", ".join(words + (["back to back"] if summary.mode == "pallas2" else []))


_FALLBACKS = {"barrier": "started by a barrier", MIXED: "started by a barrier in some launches"}


def notes(summary: Summary, expected_sync: str | None) -> str:
    """Return the remarks on one line of a table."""
    words = [] if summary.converged or summary.clock != "wall" else ["target not reached"]
    words += ["oversubscribed"] if summary.oversubscribed else []
    if summary.disturbed:
        words.append(f"disturbed in {summary.disturbed} of {counted(summary.launches, 'launch')}")
    if summary.sync != expected_sync and summary.sync in _FALLBACKS:
        words.append(_FALLBACKS[summary.sync])
    return ", ".join(words)


def failures(rows: Rows, most: int | None = 5) -> list[str]:
    """Return what failed or was skipped, and at most `most` reasons; equal reasons are grouped."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows.without_result():
        if row.outcome != "ok":
            cases = reasons.setdefault((row.outcome, row.reason or "no reason given"), [])
            if row.case not in cases:
                cases.append(row.case)
    lines = []
    for (outcome, reason), cases in list(reasons.items())[:most]:
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        lines.append(f"{outcome}: {cases[0]}{more}: {reason}")
    if most is not None and (others := len(reasons) - most) > 0:
        words = counted(others, "more reason")
        lines.append(typeable(f"and {words}; `kiviat show` lists {'it' if others == 1 else 'them'}"))
    return lines


def duration(seconds: float) -> str:
    """Return a time as "45 s", "2 min 10 s" or "1 h 05 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
