"""`kiviat run --on simulated:MACHINE --replay TRACE`: a recorded program on a machine one does not have."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from kiviat.cli.options.run_directory import new_run
from kiviat.cli.options.simulated_program import failed, new_folder, refuse_benchmarks
from kiviat.cli.options.substrate import options_of, settle_shape, substrate_of
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.run_page import write_report
from kiviat.launch.programs.replay import Replayed, Speed, refuse_unplaceable, replay, speed_of
from kiviat.launch.substrates.substrate import Substrate
from kiviat.record import InputError
from kiviat.record.units import counted, format_value
from kiviat.store import call_run
from kiviat.store.read import load
from kiviat.trace import Trace, read_trace


def execute(arguments: Namespace) -> int:
    trace = read_trace(Path(arguments.replay))
    refuse_benchmarks(arguments, "--replay")
    substrate = substrate_of(arguments.on)
    if substrate.machine is None:
        raise InputError("--replay replays on simulated machines only; give --on simulated:MACHINE")
    refuse_other_ranks(trace, arguments)
    options = options_of(arguments)
    speed = speed_of(trace, substrate.machine, arguments.speed)
    refuse_unplaceable(trace, substrate.machine, options)  # before a run begins
    with new_run(arguments, f"replay-{trace.program}", substrate) as directory:
        folder = new_folder(directory.path)
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


def _tell(
    path: Path, substrate: Substrate, trace: Trace, speed: Speed, replayed: Replayed, report: str | None
) -> int:
    what = f"{trace.program} on {counted(trace.ranks, 'rank')} of {substrate.label}"
    record, ended = replayed.record, replayed.ended
    if ended.reason:
        code = failed(what, path, ended)
        return 2 if replayed.refused else code
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
    print(typeable(f"results  {path}  (`kiviat show {call_run(path)}`)"))
    page = Path(report) if report else path / "report.html"
    run, rows, _ = load(path)
    write_report([run], rows, page)
    print(f"report   {page}")
    return 0
