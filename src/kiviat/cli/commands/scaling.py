"""`kiviat scaling`: how benchmarks scale with the number of ranks, on one machine or several."""

from __future__ import annotations

import sys

from kiviat.api.runs import read
from kiviat.api.scaling import scaling
from kiviat.cli.options.files import print_name
from kiviat.cli.options.request import ScalingRequest
from kiviat.cli.text.scaling import as_json, print_readings, published_json
from kiviat.cli.text.table import print_csv, print_json
from kiviat.cli.text.warnings import print_warnings
from kiviat.record import InputError
from kiviat.record.plain import whole_number


def execute(request: ScalingRequest) -> int:
    """Print how the benchmarks scale, and compare with published claims; with `-o`, also write the page."""
    at = _at(request.at)
    runs = read(request.runs)
    print_warnings(runs.warnings)
    result = scaling(runs, benchmarks=request.benchmark, metric=request.metric, kind=request.kind, at=at)
    if request.output:
        result.report(request.output)
    for why in result.left_out:
        print(f"kiviat: left out: {why}", file=sys.stderr)
    if request.format == "json":
        studies = [as_json(one, result.published) for one in result.readings]
        of_no_study = [published_json(one) for one in result.published if one.study is None]
        print_json({"studies": studies, "published": of_no_study, "left_out": result.left_out})
    elif request.format == "csv":
        print_csv(result.rows())
    else:
        print_readings(result.readings, result.published)
        if request.output:
            print()
            print_name(request.output)
    return 0


def _at(given: str | None) -> list[int]:
    if given is None:
        return []
    ranks = {whole_number(word) for word in given.split(",")}
    if not all(ranks):
        raise InputError(f"--at {given!r}: give numbers of ranks, such as 64 or 64,128")
    return sorted(number for number in ranks if number)
