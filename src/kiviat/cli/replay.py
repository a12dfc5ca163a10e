"""`kiviat run --on simulated:MACHINE --replay TRACE`: a recorded program on a machine one does not have."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from kiviat.cli.report import write_report
from kiviat.cli.where import WHERE, options_of, settle_shape, substrate_of
from kiviat.cli.words import counted
from kiviat.launch.on_simulated import Simulated, described_machine
from kiviat.launch.replaying import Replayed, Speed, refuse_unplaceable, replay, speed_of
from kiviat.record import InputError
from kiviat.record.units import format_value
from kiviat.store import RunDirectory, call_run, runs_home
from kiviat.store.read import load
from kiviat.trace import Trace, read_trace

_OTHER_OPTIONS = (
    *("plan", "sizes", "memory", "problem_class", "multi", "launches", "seed", "budget", "target"),
    *("iterations", "warmup", "watts", "resume"),
)


def execute(arguments: Namespace) -> int:
    trace = read_trace(Path(arguments.replay))
    _refuse_other_options(arguments)
    substrate = substrate_of(arguments.on)
    if not isinstance(substrate, Simulated):
        raise InputError("--replay replays on simulated machines only; give --on simulated:MACHINE")
    refuse_other_ranks(trace, arguments)
    options = options_of(arguments)
    speed = speed_of(trace, substrate.machine, arguments.speed)
    refuse_unplaceable(trace, substrate.machine, options)  # before a run begins
    machine = described_machine(substrate.machine)
    with RunDirectory.create(
        Path(arguments.output) if arguments.output else runs_home(),
        f"replay-{trace.program}",
        machine=machine if not arguments.machine else {**machine, "name": arguments.machine},
        plan=None,
        substrate=substrate.kind,
        clock="simulated",
        where={name: getattr(arguments, name) for name in WHERE},
    ) as directory:
        folder = directory.path.absolute() / "launches" / "0"
        folder.mkdir(parents=True)
        replayed = replay(
            trace,
            substrate.machine,
            options,
            speed,
            folder,
            run=directory.id,
            on_launch=directory.set_launch,
            timeout_s=arguments.timeout,
        )
        directory.append(replayed.record)
        directory.finish("complete" if replayed.ended.signal is None else "interrupted")
    return _tell(directory.path, substrate, trace, speed, replayed, arguments.report)


def refuse_other_ranks(trace: Trace, arguments: Namespace) -> None:
    """A trace has its number of ranks; `-n` may say it again, or how many stand on each node."""
    settle_shape(arguments)
    if arguments.ranks is not None and arguments.ranks != str(trace.ranks):
        raise InputError(
            f"-n {arguments.ranks}: {trace.path} has {counted(trace.ranks, 'rank')}; leave -n out, or give "
            "nodes x ranks on each that make as many"
        )


def _refuse_other_options(arguments: Namespace) -> None:
    if arguments.benchmarks:
        raise InputError(f"benchmarks ({arguments.benchmarks[0]}, …) and --replay; give one of both")
    for name in _OTHER_OPTIONS:
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} is for benchmarks; leave it out with --replay")


def _tell(
    path: Path, substrate: Simulated, trace: Trace, speed: Speed, replayed: Replayed, report: str | None
) -> int:
    what = f"{trace.program} on {counted(trace.ranks, 'rank')} of {substrate.label}"
    record, ended = replayed.record, replayed.ended
    if ended.reason:
        print(f"kiviat: {what}: {ended.reason}; output in {path / 'launches' / '0'}", file=sys.stderr)
        return 1 if ended.signal is None else 128 + ended.signal
    values = {metric.name: format_value(metric.mean, metric.unit) for metric in record.metrics}
    print(
        f"{what}: {values['total_time']} of simulated time, of which ranks communicate "
        f"{values['communication_share']} (recorded: {format_value(trace.elapsed_s, 's')} of real time)"
    )
    messages = next(metric.mean for metric in record.metrics if metric.name == "network_messages")
    print(f"between nodes: {values['network_bytes']} in {messages:,.0f} messages")
    quicker = "" if speed.ratio == float("inf") else f"a core there is {speed.ratio:.3g} of one here: "
    print(f"{quicker}{speed.how}")
    print(f"it took {ended.elapsed_s:.1f} s to simulate")
    print(f"results  {path}  (`kiviat show {call_run(path)}`)")
    page = Path(report) if report else path / "report.html"
    run, rows, _ = load(path)
    write_report([run], rows, page)
    print(f"report   {page}")
    return 0
