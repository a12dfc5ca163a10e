"""`kiviat run --on simulated:MACHINE --replay TRACE`.

Predicts the time of a recorded program on a machine.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kiviat.analysis.aggregate.known_errors import PROGRAMS, in_words, known_errors
from kiviat.api.runs import read
from kiviat.cli.options.request import RunReplayRequest, Where
from kiviat.cli.options.run_directory import new_run
from kiviat.cli.options.simulated_program import failed, new_folder, refuse_benchmarks
from kiviat.cli.options.substrate import options_of, settled_shape, substrate_of
from kiviat.cli.text.hints import typeable
from kiviat.launch.programs.replay import Replayed, Speed, refuse_unplaceable, replay, speed_of
from kiviat.launch.substrates.substrate import Substrate
from kiviat.record import InputError, before_start
from kiviat.record.units import counted, format_value
from kiviat.store import call_run
from kiviat.trace import Trace, read_trace


def execute(request: RunReplayRequest) -> int:
    """Replay a trace as a run with one record, and write its page.

    Raise InputError unless `--on` names a simulated machine.
    """
    return replay_once(request)[0]


def replay_once(request: RunReplayRequest, called: str = "") -> tuple[int, Path]:
    """Return the exit code and the run's directory; `called` is the name of the program in the record.

    Raise NotStartedError if the trace cannot be replayed there.
    """
    with before_start():
        if request.dry_run:
            raise InputError("--dry-run: a replay has no plan to print; leave it out with --replay")
        if request.compute is not None:
            raise InputError("--compute is for programs after --; leave it out with --replay")
        trace = read_trace(Path(request.replay))
        refuse_benchmarks(request, "--replay")
        substrate = substrate_of(request.where.on)
        if substrate.machine is None:
            raise InputError("--replay replays on simulated machines only; give --on simulated:MACHINE")
        request = replace(request, where=placed(trace, request.what.ranks, request.where))
        options = options_of(request.where)
        speed = speed_of(trace, substrate.machine, request.speed)
        refuse_unplaceable(trace, substrate.machine, options)
    with new_run(request, f"replay-{trace.program}", substrate) as directory:
        folder = new_folder(directory.path)
        replayed = replay(
            trace,
            substrate.machine,
            options,
            speed,
            folder,
            run=directory.id,
            on_launch=directory.set_launch,
            timeout_s=request.timeout,
            called=called,
        )
        directory.append(replayed.record)
        directory.finish("complete" if replayed.ended.signal is None else "interrupted")
    path = directory.path
    if replayed.ended.reason or request.verbosity != "quiet":
        code = _tell(path, substrate, trace, speed, replayed)
        if code:
            return code, path
    page = Path(request.report) if request.report else path / "report.html"
    read([path]).report(page)
    print(path if request.verbosity == "quiet" else f"report   {page}")
    return 0, path


def placed(trace: Trace, ranks: str | None, where: Where) -> Where:
    """Return the placement of a trace's ranks; `-n` may repeat their number, or give ranks per node."""
    ranks, where = settled_shape(ranks, where)
    if ranks is not None and ranks != str(trace.ranks):
        raise InputError(
            f"-n {ranks}: {trace.path} has {counted(trace.ranks, 'rank')}; leave -n out, or give "
            "NODESxRANKS with this product"
        )
    return where


def _tell(path: Path, substrate: Substrate, trace: Trace, speed: Speed, replayed: Replayed) -> int:
    what = f"{trace.program} on {counted(trace.ranks, 'rank')} of {substrate.label}"
    record, ended = replayed.record, replayed.ended
    if ended.reason:
        code = failed(what, path, ended)
        return 2 if replayed.refused else code
    values = {metric.name: format_value(metric.mean, metric.unit) for metric in record.metrics}
    print(
        f"{what}: {values['total_time']} of simulated time, in which ranks communicate "
        f"{values['communication_share']} (recorded: {format_value(trace.elapsed_s, 's')} of real time)"
    )
    messages = next(metric.mean for metric in record.metrics if metric.name == "network_messages")
    print(f"between nodes: {values['network_bytes']} in {messages:,.0f} messages")
    quicker = "" if speed.ratio == float("inf") else f"a core there is {speed.text} of one here: "
    print(f"{quicker}{speed.how}")
    if substrate.machine:
        known = in_words(known_errors(substrate.machine), [PROGRAMS])
        print(f"known errors of the model: {known}")
    print(f"it took {ended.elapsed_s:.1f} s to simulate")
    print(typeable(f"results  {path}  (`kiviat show {call_run(path)}`)"))
    return 0
