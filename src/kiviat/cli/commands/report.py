"""`kiviat report`: writes a page about one or more runs, or about a profile."""

from __future__ import annotations

import gc
from pathlib import Path

from kiviat.cli.options.files import names_profile, names_trace, print_name
from kiviat.cli.options.request import ReportRequest
from kiviat.cli.text.run_page import report_on
from kiviat.profile import read_profile
from kiviat.record import InputError, write_whole
from kiviat.store import find_run


def execute(request: ReportRequest) -> int:
    """Write the page about runs, or about a profile."""
    if any(map(names_profile, request.runs)):
        return _of_profile(request)
    if any(map(names_trace, request.runs)):
        return _of_trace(request)
    # A million small objects live until the page is written; garbage collection would take a fifth of the
    # time.
    gc.disable()
    try:
        report_on([find_run(name) for name in request.runs], Path(request.output))
    finally:
        gc.enable()
    print_name(request.output)
    return 0


def _of_profile(request: ReportRequest) -> int:
    from kiviat.report.profile.page import render_profile

    if len(request.runs) > 1:
        raise InputError(f"{', '.join(request.runs)}: a profile has a page of its own; give one alone")
    write_whole(render_profile(read_profile(Path(request.runs[0]))), Path(request.output), "report")
    print_name(request.output)
    return 0


def _of_trace(request: ReportRequest) -> int:
    from kiviat.profile.recorded import recorded_in
    from kiviat.report.profile.trace_page import render_trace
    from kiviat.trace import read_trace

    if len(request.runs) > 1:
        raise InputError(f"{', '.join(request.runs)}: a trace has a page of its own; give one alone")
    recorded, _, _ = recorded_in(read_trace(Path(request.runs[0])))
    write_whole(render_trace(recorded), Path(request.output), "report")
    print_name(request.output)
    return 0
