"""Render the page about a trace of times: the timeline, and the wait states."""

from __future__ import annotations

import time

import numpy as np

from kiviat.analysis.profiles.wait_states import wait_use_of_trace
from kiviat.profile.recorded import Recorded
from kiviat.record.units import counted, format_range
from kiviat.report.html.shell import page
from kiviat.report.profile.page import wait_sections


def render_trace(recorded: Recorded) -> str:
    """Return the page about a trace of times as HTML."""
    return page(
        "trace.html.j2",
        [],
        title=recorded.title,
        simulated="",
        contents=[
            *([("timeline", "Timeline")] if recorded.timeline else []),
            ("waits", "Wait states"),
            ("reading", "Reading"),
        ],
        facts=_facts(recorded),
        **wait_sections(wait_use_of_trace(recorded), recorded.timeline),
    )


def _facts(recorded: Recorded) -> list[tuple[str, str]]:
    known = recorded.elapsed_s[np.isfinite(recorded.elapsed_s)]
    elapsed = format_range(float(known.min()), float(known.max()), "s") if known.size else "unavailable"
    started = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(recorded.started_s))
    return [
        ("Program", recorded.program),
        ("Ranks", f"{recorded.ranks:,} on {counted(recorded.nodes, 'node')}"),
        ("MPI", recorded.library),
        ("Started", started),
        ("Time", f"{elapsed} from MPI_Init to MPI_Finalize"),
    ]
