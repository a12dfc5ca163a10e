"""Builders of rows and summaries for tests of the analysis; every argument has a default."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from kiviat.analysis.aggregate.summary import Summary, summarise
from kiviat.record import Row

PLAIN = Row(
    run="r",
    launch=0,
    substrate="native",
    clock="wall",
    case="pingpong/ranks=2/bytes=8",
    benchmark="pingpong",
    ranks=2,
    bytes=8,
    axes={},
    mode="adaptive",
    sync="batched",
    outcome="ok",
    phase=None,
    reason=None,
    check="passed",
    stopped_by="target",
    oversubscribed=False,
    metric="time",
    unit="s",
    better="lower",
    per_call=False,
    count=25,
    mean=1e-6,
    min=1e-6,
    max=1e-6,
    p50=1e-6,
    p90=None,
    p99=None,
    ci_low=None,
    ci_high=None,
)


def row(**changes: Any) -> Row:
    return replace(PLAIN, **changes)


def case_rows(values: Sequence[float], **changes: Any) -> list[Row]:
    """Return one row per launch; `values` are the launches' medians."""
    return [row(launch=i, p50=v, mean=v, min=v, max=v, **changes) for i, v in enumerate(values)]


def case(values: Sequence[float], **changes: Any) -> Summary:
    (summary,) = summarise(case_rows(values, **changes))
    return summary


def curve(points: Iterable[tuple[int, float]], benchmark: str = "pingpong", **changes: Any) -> list[Summary]:
    """Return a case for each point (bytes, seconds), with five launches that all take this time."""
    ranks = changes.get("ranks", 2)
    return [
        case(
            [time] * 5,
            case=f"{benchmark}/ranks={ranks}/bytes={size}",
            benchmark=benchmark,
            bytes=size,
            **changes,
        )
        for size, time in points
    ]
