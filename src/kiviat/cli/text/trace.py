"""A trace in the terminal: its content, and whether it can be replayed."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kiviat.analysis.profiles.wait_states import wait_use_of_trace
from kiviat.cli.text.table import bold, dim, print_csv, print_json, print_table
from kiviat.cli.text.waits import print_waits
from kiviat.profile.recorded import recorded_in
from kiviat.record.units import UNAVAILABLE, counted, format_bytes, format_value
from kiviat.report.table import Column, tabled
from kiviat.trace import Rate, Trace, read_trace


def show(path: Path, form: str) -> int:
    """Print a trace as a table, CSV (operations) or JSON, and return the exit code."""
    trace = read_trace(path)
    if form == "csv":
        print_csv(_operations(trace))
    elif form == "json":
        print_json(_facts(trace))
    else:
        _print(trace)
    return 0


def in_one_line(trace: Trace) -> str:
    """Return the number of events and ranks and the size of the file."""
    size = trace.path.stat().st_size
    return f"{counted(trace.events, 'event')} of {counted(trace.ranks, 'rank')} in {format_bytes(size)}"


def _print_times(trace: Trace) -> None:
    """Print what a trace of times says: who waited for whom."""
    recorded, _, _ = recorded_in(trace)
    took = UNAVAILABLE if trace.elapsed_s is None else format_value(trace.elapsed_s, "s")
    print(f"\nrecorded times: {in_one_line(trace)}; {took} of real time\n")
    print_waits(wait_use_of_trace(recorded))
    print("\n`kiviat report` draws the timeline, `kiviat export` writes it for Perfetto")


def _operations(trace: Trace) -> list[dict[str, Any]]:
    """Return a row for each kind of event: number on all ranks, and bytes sent to other ranks."""
    calls: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    for one in trace.each:
        calls.update(one.calls)
        sent.update(one.bytes)
    calls.pop("end", None)
    return [{"operation": name, "calls": count, "bytes": sent[name]} for name, count in calls.most_common()]


def _facts(trace: Trace) -> dict[str, Any]:
    computed = trace.computed_s
    return {
        "program": trace.program,
        "library": trace.library,
        "ranks": trace.ranks,
        "nodes": trace.nodes,
        "events": trace.events,
        "recorded_s": trace.elapsed_s,
        "computed_s": {"least": min(computed), "mean": sum(computed) / len(computed), "most": max(computed)},
        "rate": asdict(trace.rate) if trace.rate else None,
        "complete": trace.complete,
        "refusal": trace.refusal(),
        "operations": _operations(trace),
    }


def _rate(rate: Rate) -> str:
    if rate.flops_min is None or rate.flops_max is None:
        return format_value(rate.flops, "flop/s")
    ends = [format_value(end, "flop/s") for end in (rate.flops_min, rate.flops_max)]
    return f"{format_value(rate.flops, 'flop/s')}, {ends[0]} to {ends[1]}"


def _print(trace: Trace) -> None:
    print(bold(f"{trace.title} on {counted(trace.nodes, 'node')}"), dim(f"{trace.program}, {trace.library}"))
    if trace.timed:
        _print_times(trace)
        return
    took = UNAVAILABLE if trace.elapsed_s is None else format_value(trace.elapsed_s, "s")
    computed = trace.computed_s
    print(
        f"\nrecorded: {in_one_line(trace)}; {took} of real time, in which ranks computed for "
        f"{format_value(min(computed), 's')} to {format_value(max(computed), 's')}"
    )
    if trace.rate:
        print(dim(f"a core here: {_rate(trace.rate)} ({trace.rate.how})"))
    print()
    columns: list[Column[dict[str, Any]]] = [
        Column("operation", lambda one: one["operation"].replace("_", " ")),
        Column("calls", lambda one: one["calls"], "count"),
        Column("bytes given", lambda one: one["bytes"], "B"),
    ]
    print_table(tabled("Operations", columns, _operations(trace)))
    why = trace.refusal()
    print(f"\nit cannot be replayed: {why}" if why else "\nit can be replayed")
