"""What a trace of times says: who waited for whom, and when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kiviat.profile.timeline import Timeline, timeline_of
from kiviat.profile.wait_states import each_wait, summed
from kiviat.profile.waits import EachWait, Waits
from kiviat.record import InputError
from kiviat.trace.stamps import Recording, times_in
from kiviat.trace.trace import Trace

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A program whose calls were timed. `elapsed_s` and `mpi_s`, by recorded rank, are nan where unknown."""

    title: str
    program: str
    library: str
    ranks: int
    nodes: int
    started_s: int
    elapsed_s: Floats
    mpi_s: Floats
    waits: Waits
    timeline: Timeline | None


def recorded_in(trace: Trace) -> tuple[Recorded, Recording, EachWait]:
    """Return what a trace of times says, its calls, and its waits one by one.

    Raise InputError if the trace holds no times, or wait states cannot be determined from it.
    """
    recording = times_in(trace)
    if recording.refusal:
        raise InputError(f"{trace.path} has no timeline: {recording.refusal}")
    each = each_wait(recording)
    elapsed = [np.nan if one.elapsed_s is None else one.elapsed_s for one in trace.each]
    in_mpi = [1e-9 * float((events.left_ns - events.entered_ns).sum()) for events in recording.each]
    recorded = Recorded(
        trace.title,
        trace.program,
        trace.library,
        trace.ranks,
        trace.nodes,
        trace.started_s,
        np.array(elapsed, dtype=np.float64),
        np.array(in_mpi, dtype=np.float64),
        summed(recording, each),
        timeline_of(recording, each),
    )
    return recorded, recording, each
