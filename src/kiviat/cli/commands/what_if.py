"""`kiviat what-if`: compares a modelled machine with a changed version of it."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from kiviat.analysis.aggregate.calibration import calibrated
from kiviat.analysis.aggregate.known_errors import PAGE, KnownErrors, error_text, kind_of, known_errors
from kiviat.analysis.published.results import value_of
from kiviat.cli.options.native_program import described, program
from kiviat.cli.options.request import WhatIfRequest, Where
from kiviat.cli.options.simulated_program import refuse_options_of_programs
from kiviat.cli.options.substrate import options_of, settled_shape
from kiviat.cli.subcommands.model_machines import shape_of
from kiviat.cli.subcommands.run_replay import placed
from kiviat.cli.text.table import bold, dim, print_rows, print_table
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process.signals import Interrupted
from kiviat.launch.programs.replay import refuse_unplaceable, replay, speed_of
from kiviat.launch.run.simulated_runner import SimulatedCase, simulate
from kiviat.launch.substrates.substrate import layout_of
from kiviat.machine.modelled.machine import Machine, find_machine
from kiviat.model.changes import changed as changed_machine
from kiviat.model.validation import published_values
from kiviat.placement import Layout
from kiviat.plan import Overrides, load_plan
from kiviat.plan.case import Case
from kiviat.record import InputError, Record
from kiviat.record.plain import whole_number
from kiviat.record.published import Fact
from kiviat.record.scratch import scratch_folder
from kiviat.record.units import format_size, format_value
from kiviat.report.table import Column, Value, tabled
from kiviat.report.topology.text import in_short
from kiviat.trace import Trace, read_trace

# A value before and after the change.
Line: TypeAlias = dict[str, Any]


def execute(request: WhatIfRequest) -> int:
    """Simulate benchmarks, or replay a trace, on the original and the changed machine, and print both.

    Return 1 if any simulation failed.
    """
    base = find_machine(request.machine)
    if not request.set:
        raise InputError("what-if needs a change: --set nic.bandwidth=2x, for example")
    changed = changed_machine(base, request.set)
    if request.replay and request.benchmarks:
        raise InputError(
            f"benchmarks ({request.benchmarks[0]}, …) and --replay exclude each other; give one of them"
        )
    if request.replay:
        records, apart = _replayed(request, read_trace(Path(request.replay)), base, changed)
        in_order: Collection[str] = ()
    else:
        records, apart, in_order = _simulated(request, base, changed)
    half = len(records) // 2
    pairs = list(zip(records[:half], records[half:], strict=True))
    known = known_errors(base)
    published = {case: fact for case, fact in published_values(base).items() if case[0] in in_order}
    lines = [line for before, after in pairs for line in _lines(before, after, known, published)]
    if request.format != "table":
        print_rows(lines, request.format)
    else:
        _print(base, changed, request.set, lines, apart)
    for before, after in pairs:
        for record, where in ((before, "as it is"), (after, "changed")):
            if record.outcome != "ok":
                print(f"{record.outcome}: {record.case}, {where}: {record.reason}", file=sys.stderr)
    return 1 if any(record.outcome == "failed" for record in records) else 0


def _simulated(
    request: WhatIfRequest, base: Machine, changed: Machine
) -> tuple[list[Record], bool, Collection[str]]:
    """Return the records of the base machine, followed by those of the changed one.

    The second value is whether ranks are on several nodes, the third names the cases whose ranks are where
    they would be by default, as those of published values are.
    """
    if not request.benchmarks:
        raise InputError("what-if needs something to simulate: benchmarks, or --replay TRACE")
    refuse_options_of_programs(None, request.speed)
    ranks, where = _ranks(request)
    options = options_of(where)
    layouts = []
    for machine, which in ((base, "as it is"), (changed, "changed")):
        try:
            layouts.append(layout_of(machine.topology(), ranks, options))
        except InputError as error:
            raise InputError(f"{machine.name}, {which}: {error}") from None
    asked = [
        SimulatedCase(machine, case.benchmark, case.ranks, case.bytes, case.axes, where.place, where.ppn)
        for machine in (base, changed)
        for case in _cases(request, ranks)
    ]
    most = max((one.case().world for one in asked), default=0)
    cases = [one.case() for one in asked[: len(asked) // 2]]
    ordered = {world: _is_in_order(base, world, options) for world in {case.world for case in cases}}
    in_order = {case.id for case in cases if ordered[case.world]}
    return simulate(asked, lambda text: None), any(_apart(layout, most) for layout in layouts), in_order


def _is_in_order(machine: Machine, ranks: int, options: LauncherOptions) -> bool:
    here, by_default = (layout_of(machine.topology(), ranks, one) for one in (options, LauncherOptions()))
    return here.places == by_default.places


def _apart(layout: Layout, ranks: int) -> bool:
    return len({place.node for place in layout.places[:ranks]}) > 1


def _replayed(
    request: WhatIfRequest, trace: Trace, base: Machine, changed: Machine
) -> tuple[list[Record], bool]:
    """Return the records of the trace on both machines, and whether ranks are on several nodes.

    A change of core.flops scales the given --speed.
    """
    options = options_of(placed(trace, request.ranks, request.where))
    speed = speed_of(trace, base, request.speed)
    gain = changed.numbers["core.flops"].value / base.numbers["core.flops"].value
    records, apart = [], False
    for machine, its in ((base, speed), (changed, replace(speed, ratio=speed.ratio * gain))):
        refuse_unplaceable(trace, machine, options)
        apart |= _apart(layout_of(machine.topology(), trace.ranks, options), trace.ranks)
        with scratch_folder() as folder:
            replayed = replay(trace, machine, options, its, Path(folder))
        if replayed.ended.signal is not None:
            raise Interrupted(replayed.ended.signal)
        if replayed.refused:
            raise InputError(f"{trace.path}: {replayed.ended.reason}")
        records.append(replayed.record)
    return records, apart


def _ranks(request: WhatIfRequest) -> tuple[int, Where]:
    text, where = settled_shape(request.ranks, request.where)
    if text is None:
        raise InputError("what-if needs a number of ranks: -n 8, or -n 8x2")
    ranks = whole_number(text)
    if not ranks:
        raise InputError(f"-n {text!r}: give a number of ranks, or NODESxRANKS such as 8x2")
    return ranks, where


def _cases(request: WhatIfRequest, ranks: int) -> Sequence[Case]:
    toolchain, binary = program(SIMULATOR)
    overrides = Overrides(benchmarks=request.benchmarks, bytes=request.sizes, launches=1)
    plan = load_plan("quick", described(toolchain, binary), ranks, overrides)
    for reason in plan.left_out:
        print(f"left out: {reason}", file=sys.stderr)
    return plan.cases


def _lines(
    before: Record, after: Record, known: KnownErrors, published: Mapping[tuple[str, str], Fact]
) -> Iterator[Line]:
    """Yield the lines of a case: its time, or all metrics of a study, before and after.

    `published` is the published value of the machine as it is, `known_error` that of its model on the kind.
    """
    names = [metric.name for metric in before.metrics or after.metrics]
    for name in ["time"] if "time" in names else names:
        metric = before.metric(name) or after.metric(name)
        assert metric
        one, other = value_of(before, name), value_of(after, name)
        kind = kind_of(before.benchmark, name, before.ranks, before.bytes)
        fact = published.get((before.case, name))
        yield {
            "benchmark": before.benchmark,
            "ranks": before.ranks,
            "bytes": before.bytes,
            "axes": " ".join(f"{axis}={value}" for axis, value in sorted(before.axes.items())),
            "metric": name,
            "unit": metric.unit,
            "better": metric.better,
            "base": one,
            "changed": other,
            "ratio": other / one if one and other is not None else None,
            "published": fact.value if fact else None,
            "known_error": error_text(known, kind),
            "error_factor": error.spread if (error := known.of(kind)) else None,
        }


def _print(
    base: Machine,
    changed: Machine,
    settings: Sequence[str],
    lines: Sequence[Line],
    apart: bool,
) -> None:
    print(bold(f"{base.name}, simulated"), dim(f"version {base.version}, hash {base.hash[:16]}"))
    print(f"changed: {', '.join(settings)}; then {changed.nodes} nodes, {changed.cores} cores, ", end="")
    print(f"{changed.topology_kind}, hash {changed.hash[:16]}")
    before, after = (in_short(shape_of(machine)) for machine in (base, changed))
    if before != after:
        print(f"network: {before}; changed: {after}")
    if base.uncalibrated:
        print(f"uncalibrated: {base.uncalibrated}")
    else:
        print(f"calibrated {calibrated(base)}; uncalibrated as soon as it is changed")
    print_table(tabled("Changes", _COLUMNS, lines))
    print(f"error of the base: on published rows of that kind; {PAGE}")
    if lines and all(_judged(line) == "equal" for line in lines):
        print(f"nothing changed: what is slowest here was left as it is. {_slowest(changed, lines, apart)}")


def _slowest(machine: Machine, lines: Sequence[Line], apart: bool) -> str:
    """Return a hint on why a change has no effect."""
    if not apart:
        return "All ranks are on one node; -n 2x1 puts one on each of two"
    sizes = [size for line in lines if isinstance(size := line["bytes"], int)]
    segments = [one for one in machine.segments["network"] if not sizes or one.start_bytes <= max(sizes)]
    best = max(one.bandwidth.value for one in (segments[-1:] if sizes else segments))
    what = f"A message of {format_size(max(sizes))}" if sizes else "A message"
    return (
        f"{what} between nodes gets {format_value(best, 'B/s')} at most (mpi.network.bandwidth), "
        "whatever its links carry"
    )


def _judged(line: Line) -> str:
    """Return "better", "worse", "equal" (below 0.1 %), or that the model's error is larger."""
    ratio = line["ratio"]
    if ratio is None:
        return ""
    if abs(ratio - 1) < 1e-3:
        return "equal"
    if line["error_factor"] is not None and ratio > 0 and max(ratio, 1 / ratio) < line["error_factor"]:
        return "less than the model's error"
    return "better" if (ratio > 1) == (line["better"] == "higher") else "worse"


_COLUMNS: tuple[Column[Line], ...] = (
    Column("benchmark", lambda line: f"{line['benchmark']} {line['axes']}".strip()),
    Column("ranks", lambda line: line["ranks"], "number"),
    Column("bytes", lambda line: line["bytes"], "B", absent="–"),
    Column("", lambda line: line["metric"].replace("_", " ")),
    Column("base", lambda line: Value(line["base"], line["unit"]), side=">"),
    Column("changed", lambda line: Value(line["changed"], line["unit"]), side=">"),
    Column("changed/base", lambda line: line["ratio"], "ratio"),
    Column("", _judged),
    Column("published", lambda line: Value(line["published"], line["unit"]), side=">", absent="–"),
    Column("error of the base", lambda line: line["known_error"]),
)
