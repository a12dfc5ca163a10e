"""What the page says in tables and words: selections of summaries, rows and run.json, as texts."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kiviat.analysis.summary import Summary
from kiviat.record import Row
from kiviat.record.units import format_bytes, format_value
from kiviat.report.figures import RunLabel

Run = Mapping[str, Any]


def run_labels(runs: Sequence[Run]) -> list[RunLabel]:
    """Names short enough for a legend, and different: machine and MPI, with the identifier if needed."""
    names = [
        " · ".join(dict.fromkeys([run["machine"]["name"], *mpi_names(run)])) + _CLOCK_SUFFIX[run["clock"]]
        for run in runs
    ]
    seen = Counter(names)
    return [
        RunLabel(run["id"], name if seen[name] == 1 else f"{name} · {run['id']}", run["clock"])
        for run, name in zip(runs, names, strict=True)
    ]


_CLOCK_SUFFIX = {"wall": "", "simulated": " (simulated)", "reported": " (as reported)"}


def mpi_names(run: Run) -> list[str]:
    """The MPIs of a run, each once."""
    return list(
        dict.fromkeys(
            f"{launch['mpi']} {launch['mpi_version'] or ''}".strip() for launch in run["launches"] if launch["mpi"]
        )
    )


@dataclass(frozen=True, slots=True)
class Badge:
    text: str
    kind: str  # "plain", "warning" or "simulated"
    meaning: str


def badges(run: Run) -> list[Badge]:
    """What a reader must know before believing a number of this run."""
    launches = run["launches"]
    found = []
    if run["clock"] == "simulated":
        found.append(Badge("simulated", "simulated", "Times are those of a model, not of a machine."))
    if run["clock"] == "reported":
        found.append(Badge("as reported", "plain", "Values were reported by another program; there are no samples."))
    if run["substrate"] == "emulated":
        found.append(Badge("emulated network", "warning", "Real MPI over links whose rate we set."))
    if any(launch["embedded"] for launch in launches):
        found.append(
            Badge("embedded MPI: not for publication", "warning", "The MPI comes from a Python wheel, not from this machine.")
        )
    if any(launch["oversubscribed"] for launch in launches):
        found.append(Badge("oversubscribed", "warning", "More ranks than cores: such results get no verdict."))
    if run["state"] != "complete":
        found.append(Badge("incomplete run", "warning", f"The run is {run['state']}: cases are missing."))
    if any(launch["transport"]["fallback_to_tcp"] for launch in launches):
        found.append(Badge("fell back to TCP", "warning", "MPI did not use the fast network."))
    return found


def run_view(run: Run, label: RunLabel) -> dict[str, Any]:
    """The head of the page for one run."""
    plan = run["plan"]
    return {
        "id": run["id"],
        "label": label.label,
        "machine": run["machine"]["name"],
        "mpi": ", ".join(mpi_names(run)) or "MPI unknown",
        "when": f"{run['created'][:16].replace('T', ' ')} UTC",
        "plan": f"{plan['name']}, {plan['cases']} cases" if plan else "no plan",
        "launches": len(run["launches"]),
        "badges": badges(run),
    }


@dataclass(frozen=True, slots=True)
class Headline:
    """One quantity of which every run has one value."""

    title: str
    values: list[tuple[RunLabel, Summary]]


def _size(count: int) -> Callable[[Summary], bool]:
    return lambda summary: summary.bytes == count


def _any(summary: Summary) -> bool:
    return True


# title, benchmark, metric, which cases count; the best of them is shown, at the most ranks
_HEADLINES: Sequence[tuple[str, str, str, Callable[[Summary], bool]]] = (
    ("Latency, 1 B", "pingpong", "time", _size(1)),
    ("Latency, 8 B", "pingpong", "time", _size(8)),
    ("Bandwidth, ping-pong", "pingpong", "bandwidth", _any),
    ("Bandwidth, one way", "uniband", "bandwidth", _any),
    ("Bandwidth, both ways", "biband", "bandwidth", _any),
    ("Message rate", "uniband", "message_rate", _any),
    ("Barrier", "barrier", "time", _any),
    ("Allreduce, 8 B", "allreduce", "time", _size(8)),
    ("Alltoall, 1 KiB", "alltoall", "time", _size(1024)),
)


def headlines(summaries: Sequence[Summary], labels: Sequence[RunLabel]) -> list[Headline]:
    """The figures one asks for first; quantities that no run has are left out."""
    found = []
    for title, benchmark, metric, counts in _HEADLINES:
        values = []
        for label in labels:
            candidates = [
                summary
                for summary in summaries
                if summary.run == label.run
                and summary.benchmark == benchmark
                and summary.metric == metric
                and counts(summary)
            ]
            if candidates:
                values.append((label, _best(candidates)))
        if values:
            found.append(Headline(title, values))
    return found


def _best(candidates: Sequence[Summary]) -> Summary:
    """The best median at default axes and the most ranks."""
    plainest = min(len(summary.axes) for summary in candidates)
    most = max(summary.ranks for summary in candidates if len(summary.axes) == plainest)
    rest = [summary for summary in candidates if len(summary.axes) == plainest and summary.ranks == most]
    pick = min if rest[0].better == "lower" else max
    return pick(rest, key=lambda summary: summary.median)


def transports(runs: Sequence[Run], labels: Sequence[RunLabel]) -> list[dict[str, Any]]:
    """What carried the messages, once for each different answer of a run's launches."""
    found = []
    for run, label in zip(runs, labels, strict=True):
        for launches in _alike(run["launches"], lambda launch: launch["transport"]):
            found.append({"label": label, "launches": _numbers(launches), **launches[0]["transport"]})
    return found


def _alike(launches: Iterable[Run], key: Callable[[Run], object]) -> list[list[Run]]:
    groups: dict[str, list[Run]] = defaultdict(list)
    for launch in launches:
        groups[json.dumps(key(launch), sort_keys=True)].append(launch)
    return list(groups.values())


def _numbers(launches: Sequence[Run]) -> str:
    """Launch numbers, ranges joined: "0–4, 6"."""
    parts: list[list[int]] = []
    for index in sorted(launch["index"] for launch in launches):
        if parts and parts[-1][-1] == index - 1:
            parts[-1] = [parts[-1][0], index]
        else:
            parts.append([index])
    return ", ".join("–".join(map(str, part)) for part in parts)


def failures(rows: Iterable[Row], labels: Sequence[RunLabel]) -> list[dict[str, Any]]:
    """Cases without a result, those with the same reason together."""
    names = {label.run: label.label for label in labels}
    groups: dict[tuple[str, str, str, str], dict[str, None]] = defaultdict(dict)
    for row in rows:
        if row.outcome != "ok":
            groups[row.run, row.outcome, row.phase or "unknown", row.reason or "no reason given"][row.case] = None
    return [
        {"run": names[run], "outcome": outcome, "phase": phase, "reason": reason, "cases": list(cases)}
        for (run, outcome, phase, reason), cases in sorted(groups.items())
    ]
