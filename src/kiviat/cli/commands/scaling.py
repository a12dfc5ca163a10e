"""`kiviat scaling`: how benchmarks scale with the number of ranks, on one machine or several."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kiviat.analysis.aggregate.tables import grids
from kiviat.analysis.published.curves import scaling_verdicts
from kiviat.analysis.scaling.reading import readings
from kiviat.analysis.scaling.series import Selection, Source, joined, scaling
from kiviat.cli.options.files import print_name
from kiviat.cli.options.request import ScalingRequest
from kiviat.cli.text.scaling import as_json, flat, print_readings, published_json
from kiviat.cli.text.table import print_csv, print_json
from kiviat.record import InputError, write_whole
from kiviat.report.facts.runs import labels
from kiviat.report.scaling.page import render_scaling
from kiviat.store import find_run
from kiviat.store.read import load
from kiviat.store.tables import load_tables


def execute(request: ScalingRequest) -> int:
    """Print how the benchmarks scale, and compare with published claims; with `-o`, also write the page."""
    at = _at(request.at)
    sources = _sources(request.runs)
    result = scaling(sources, Selection(tuple(request.benchmark), request.metric, request.kind))
    found = readings(result, sources, at)
    published = scaling_verdicts(result.studies, sources)
    if request.output:
        page = render_scaling(found, sources, result.left_out, published)
        write_whole(page, Path(request.output), "report")
    for why in result.left_out:
        print(f"kiviat: left out: {why}", file=sys.stderr)
    if request.format == "json":
        studies = [as_json(one, published) for one in found]
        of_no_study = [published_json(one) for one in published if one.study is None]
        print_json({"studies": studies, "published": of_no_study, "left_out": result.left_out})
    elif request.format == "csv":
        print_csv([line for one in found for line in flat(one)])
    else:
        print_readings(found, published)
        if request.output:
            print()
            print_name(request.output)
    return 0


def _at(given: str | None) -> list[int]:
    words = [word.strip() for word in given.split(",")] if given is not None else []
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise InputError(f"--at {given!r}: give numbers of ranks, such as 64 or 64,128")
    return sorted({int(word) for word in words})


def _sources(names: Sequence[str]) -> list[Source]:
    """Return the sources of the named runs; runs that belong together are named after the first of them."""
    paths = list(dict.fromkeys(find_run(name) for name in names))
    loaded = {}
    for path in paths:
        run, rows, warnings = load(path)
        for warning in warnings:
            print(f"kiviat: {warning}", file=sys.stderr)
        loaded[run.id] = path, run, rows
    groups = joined([(run, rows) for _, run, rows in loaded.values()])
    called = labels([group[0] for group in groups])
    return [
        Source(
            label.label,
            tuple(group),
            [row for run in group for row in loaded[run.id][2]],
            [grid for run in group for grid in grids(load_tables(loaded[run.id][0]))],
        )
        for group, label in zip(groups, called, strict=True)
    ]
