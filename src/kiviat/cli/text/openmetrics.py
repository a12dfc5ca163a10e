"""Summaries in the OpenMetrics text format, for monitoring systems that watch a machine over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from kiviat.analysis.aggregate.summary import Summary
from kiviat.cli.visible import visible
from kiviat.record.run import Run

_UNITS = {"s": "seconds", "B/s": "bytes_per_second", "1/s": "per_second", "%": "percent", "1": ""}
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")


def openmetrics(run: Run, summaries: Sequence[Summary]) -> str:
    """Return the summaries of a run as OpenMetrics text, with "# EOF" as its last line."""
    return "\n".join([*_lines(run, summaries), "# EOF", ""])


def _lines(run: Run, summaries: Sequence[Summary]) -> Iterator[str]:
    for (metric, unit), group in groupby(sorted(summaries, key=_family), key=_family):
        suffix = _UNITS.get(unit, unit.replace("/", "_per_"))
        name = "_".join(word for word in ("kiviat", metric, suffix) if word)
        yield f"# TYPE {name} gauge"
        if suffix:
            yield f"# UNIT {name} {suffix}"
        yield f"# HELP {name} Median over launches and its 95 % interval."
        for summary in group:
            for statistic in ("median", "low", "high"):
                value = getattr(summary, statistic)
                if value is not None:
                    # Predictions have a separate name, so that no query mistakes them for measurements.
                    predicted = summary.clock == "simulated" and statistic == "median"
                    labels = _labels(run, summary, "predicted" if predicted else statistic)
                    yield f"{name}{{{labels}}} {value!r}"


def _family(summary: Summary) -> tuple[str, str]:
    """Return metric and unit; a name has letters, digits and _ only, because nothing in it can be escaped."""
    return _NO_NAME.sub("_", summary.metric), summary.unit


def _labels(run: Run, summary: Summary, statistic: str) -> str:
    labels = {
        "machine": run.machine.name,
        "run": summary.run,
        "case": summary.case,
        "benchmark": summary.benchmark,
        "ranks": summary.ranks,
        "bytes": "" if summary.bytes is None else summary.bytes,
        "statistic": statistic,
    }
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
