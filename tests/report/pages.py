"""A sample page of each kind, with all sections that the kind can have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from kiviat.analysis.aggregate.tables import grids
from kiviat.analysis.published.study import verdicts
from kiviat.profile.recorded import Recorded
from kiviat.profile.timeline import LongWait, Timeline
from kiviat.record.studies import find_study
from kiviat.report.profile.page import render_profile
from kiviat.report.profile.trace_page import render_trace
from kiviat.report.run.page import render
from kiviat.report.study.paper_page import render_study
from tests.analysis.test_studies import ALTIX, DELL, bandwidths, machine, times
from tests.profiler.made_up import halo_profile, halo_waits

from . import test_balance, test_page, test_scaling, test_sharing, test_simulated, test_studies
from .modelled import simulated_run
from .synthetic import make_rows, make_run


def _run() -> str:
    return render([make_run()], make_rows(sizes=test_page.SIZES[::3]))


def _simulated() -> str:
    run = simulated_run(losses=["Messages take one way."], uncalibrated="nobody published one")
    return render([run], test_simulated.rows())


def _sharing() -> str:
    """Render one program in two arrangements of its ranks, with a paper's claims about it."""
    runs, rows, tables = test_sharing.study()
    return render(runs, rows, grids(tables))


def _paper() -> str:
    quick = [*bandwidths({1024: 1e8, 1 << 20: 1e9}), *times("barrier", {4: 5e-6, 16: 9e-6, 64: 20e-6})]
    slow = [*bandwidths({1024: 9e7, 1 << 20: 7e8}), *times("barrier", {4: 5e-6, 16: 8e-6, 64: 10e-6})]
    machines = [machine(DELL, quick, "dell"), machine(ALTIX, slow, "altix")]
    study = find_study("P3")
    return render_study(study, machines, verdicts(study, machines))


def _timeline() -> Timeline:
    shares = np.linspace(0, 0.8, 16 * 40).reshape(16, 40)
    waits = tuple(LongWait(rank, 15, "MPI_Allreduce", "imbalance", 0.1 * rank, 9.5) for rank in range(8))
    return Timeline(16, 1, 10.0, shares, shares / 2, waits, 2000)


def _trace() -> str:
    seconds = np.full(16, 10.0)
    program = ("halo", "halo 4 4", "Open MPI v4.1.4")
    return render_trace(
        Recorded(*program, 16, 4, 1_700_000_000, seconds, seconds / 4, halo_waits(), _timeline())
    )


KINDS: dict[str, Callable[[], str]] = {
    "run": cache(_run),
    "runs": test_page.mixed,
    "simulated": cache(_simulated),
    "studies": test_studies.page_of_two,
    "sharing": cache(_sharing),
    "balance": lambda: test_balance.everything()[1],
    "scaling": lambda: test_scaling.everything()[1],
    "profile": lambda: render_profile(halo_profile(waits=halo_waits(), timeline=_timeline())),
    "trace": cache(_trace),
    "paper": cache(_paper),
}
