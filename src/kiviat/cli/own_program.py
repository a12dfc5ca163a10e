"""`kiviat run --on simulated:MACHINE -- ./program`: any MPI program that `kiviat cc` built."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat import __version__
from kiviat.cli.where import WHERE, options_of, settle_shape, substrate_of
from kiviat.cli.words import counted
from kiviat.launch.context import Setting, described, now
from kiviat.launch.execution import Execution
from kiviat.launch.interrupts import Interrupts
from kiviat.launch.on_simulated import Simulated, described_machine
from kiviat.launch.processes import Marker
from kiviat.launch.substrate import Start
from kiviat.launch.toolchain import Toolchain, find_toolchain
from kiviat.launch.transport import MODELLED
from kiviat.launch.vendors import SIMULATOR
from kiviat.record import RECORD_SCHEMA, InputError, Metric, Record
from kiviat.store import RunDirectory, call_run, runs_home

_LOOK_S = 0.2
_OTHER_OPTIONS = (
    *("plan", "sizes", "memory", "problem_class", "multi", "launches", "seed", "budget", "target"),
    *("iterations", "warmup", "watts"),
)


def execute(arguments: Namespace) -> int:
    program = _program(arguments.program)
    _refuse_other_options(arguments)
    settle_shape(arguments)
    substrate = substrate_of(arguments.on)
    if not isinstance(substrate, Simulated):
        raise InputError(
            f"-- {arguments.program[0]}: kiviat runs programs of yours on simulated machines only; "
            "give --on simulated:MACHINE"
        )
    options = options_of(arguments)
    ranks = _ranks(arguments.ranks) or substrate.default_ranks(options)
    toolchain = find_toolchain(SIMULATOR)
    substrate.start(toolchain, ranks, Path(), options)  # what cannot be placed is refused before a run begins
    home = Path(arguments.output) if arguments.output else runs_home()
    machine = described_machine(substrate.machine)
    with RunDirectory.create(
        home,
        program.name,
        machine=machine if not arguments.machine else {**machine, "name": arguments.machine},
        plan=None,
        substrate=substrate.kind,
        clock="simulated",
        where={name: getattr(arguments, name) for name in WHERE},
    ) as directory:
        folder = directory.path.absolute() / "launches" / "0"
        folder.mkdir(parents=True)
        start = _own(substrate.start(toolchain, ranks, folder, options), substrate, folder, arguments.compute)
        start.write(folder)
        words = [str(program), *arguments.program[1:]]
        ended = _run(_setting(directory, toolchain, start, words, ranks), directory, arguments.timeout)
        record = _record(directory.id, program.name, ranks, ended)
        directory.append(record)
        directory.finish("complete" if ended["signal"] is None else "interrupted")
    return _tell(directory.path, substrate, words, ranks, arguments.compute, record, ended)


def _program(words: list[str]) -> Path:
    if not words:
        raise InputError("there is nothing after --; give a program and its arguments")
    path = Path(words[0]).absolute()
    try:
        built = b"libsimgrid" in path.read_bytes()
    except OSError as error:
        raise InputError(f"{words[0]} cannot be run: {error.strerror}; give the path of a program") from None
    if not built:
        raise InputError(f"{words[0]} was not built for simulation; compile it with `kiviat cc`")
    for word in (str(path), *words[1:]):
        if any(character.isspace() for character in word):
            raise InputError(f"{word!r} contains blanks, on which smpirun stumbles; give a word without")
    return path


def _refuse_other_options(arguments: Namespace) -> None:
    if arguments.benchmarks:
        raise InputError(
            f"benchmarks ({arguments.benchmarks[0]}, …) and a program after --; give one of both"
        )
    for name in _OTHER_OPTIONS:
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name} is for benchmarks; leave it out where a program follows --")
    if arguments.compute < 0:
        raise InputError(f"--compute is {arguments.compute:g}; give 0 or a factor above it")


def _ranks(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"-n is {text!r}; a program of yours runs on one number of ranks, such as 8")
    return int(text)


def _own(start: Start, substrate: Simulated, folder: Path, compute: float) -> Start:
    """Every rank has variables of its own, and payload matters; `compute` says how computation counts."""
    flops = substrate.machine.numbers["core.flops"].value
    config = {
        "smpi/privatization": "dlopen",
        "smpi/shared-malloc": "off",
        **(
            {"smpi/simulate-computation": "yes", "smpi/host-speed": f"{flops * compute:.17g}"}
            if compute
            else {}
        ),
    }
    words = (*start.words, *(f"--cfg={name}:{value}" for name, value in config.items()))
    told = {"KIVIAT_SIMULATED_TIME": str(folder / "simulated_s")}
    return replace(start, words=words, environment={**start.environment, **told})


def _setting(
    directory: RunDirectory, toolchain: Toolchain, start: Start, words: list[str], ranks: int
) -> Setting:
    return Setting(
        index=0,
        repetition=0,
        world=ranks,
        folder=directory.path.absolute() / "launches" / "0",
        substrate="simulated",
        start=start,
        command=start.command(words),
        environment=start.environment,
        user_environment={},
        toolchain=toolchain,
        transport=MODELLED,
        oversubscribed=False,
        run=directory.id,
        plan="",
        timeout_s=None,
    )


def _run(setting: Setting, directory: RunDirectory, timeout_s: float | None) -> dict[str, Any]:
    """How it ended. What the program prints is shown as it comes, and kept."""
    mpi = setting.toolchain
    launch = {
        **described(setting),
        "world": setting.world,
        "mpi": mpi.vendor.title,
        "mpi_version": mpi.version,
    }
    directory.set_launch(launch)
    shown = 0
    began = time.monotonic()
    with Interrupts() as interrupts:
        execution = Execution(setting.command, setting.environment, setting.folder, Marker.new())
        try:
            status = None
            while status is None and interrupts.signal is None:
                status = execution.wait(_LOOK_S)
                shown = _show(setting.folder / "stdout", shown)
                if timeout_s is not None and time.monotonic() - began > timeout_s:
                    break
        finally:
            execution.end()
        signal = interrupts.signal
    _show(setting.folder / "stdout", shown)
    reason = _why(setting.folder, status, timeout_s, signal)
    outcome = "interrupted" if signal is not None else "failed" if reason else "ok"
    ended = {"ended": now(), "exit": status, "outcome": outcome, "reason": reason}
    directory.set_launch({**launch, **ended})
    told = setting.folder / "simulated_s"
    return {
        "reason": reason,
        "signal": signal,
        "started": launch["started"],
        "elapsed_s": time.monotonic() - began,
        "simulated_s": float(told.read_text()) if told.exists() and not reason else None,
    }


def _show(path: Path, shown: int) -> int:
    with path.open("rb") as file:
        file.seek(shown)
        text = file.read()
    sys.stdout.buffer.write(text)
    sys.stdout.flush()
    return shown + len(text)


def _why(folder: Path, status: int | None, timeout_s: float | None, signal: int | None) -> str | None:
    """What went wrong; SimGrid says goodbye to a deadlock with exit code 0."""
    said = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if signal is not None:
        return f"interrupted by signal {signal}"
    if status is None:
        return f"took longer than {timeout_s:g} s"
    if any("Deadlock detected" in line for line in lines):
        return "deadlock: every rank that is left waits for another one"
    if status != 0:
        return f"exit code {status}" + (f": {lines[-1]}" if lines else "")
    return None


def _record(run: str, name: str, ranks: int, ended: Mapping[str, Any]) -> Record:
    simulated_s = ended["simulated_s"]
    samples = () if simulated_s is None else (simulated_s,)
    return Record(
        schema=RECORD_SCHEMA,
        run=run,
        launch=0,
        case=f"{name}/ranks={ranks}",
        plan=None,
        version=__version__,
        substrate="simulated",
        clock="simulated",
        benchmark=name,
        ranks=ranks,
        bytes=None,
        axes={},
        mode="once",
        sync=None,
        outcome="failed" if ended["reason"] else "ok",
        phase="timing" if ended["reason"] else None,
        reason=ended["reason"],
        check="not run",
        check_reason="a program of the user's",
        stopped_by="fixed",
        batch=None,
        missed_windows=None,
        clock_cost_s=None,
        elapsed_s=ended["elapsed_s"],
        oversubscribed=False,
        started=ended["started"],
        metrics=tuple(_time(value) for value in samples),
    )


def _time(seconds: float) -> Metric:
    return Metric(
        name="time",
        unit="s",
        better="lower",
        per_call=False,
        count=1,
        mean=seconds,
        min=seconds,
        max=seconds,
        p50=seconds,
        p90=None,
        p99=None,
        ci_low=None,
        ci_high=None,
        from_=None,
        samples=(seconds,),
    )


def _tell(
    path: Path,
    substrate: Simulated,
    words: list[str],
    ranks: int,
    compute: float,
    record: Record,
    ended: Mapping[str, Any],
) -> int:
    what = f"{Path(words[0]).name} on {counted(ranks, 'rank')} of {substrate.label}"
    if ended["reason"]:
        print(f"kiviat: {what}: {ended['reason']}; output in {path / 'launches' / '0'}", file=sys.stderr)
        return 1 if ended["signal"] is None else 128 + int(ended["signal"])
    counts = f"computation {compute:g} times as long as here" if compute else "computation takes no time"
    print(f"{what}: {ended['simulated_s']:.6g} s of simulated time ({counts})")
    print(f"it took {ended['elapsed_s']:.1f} s to simulate")
    print(f"results  {path}  (`kiviat show {call_run(path)}`)")
    return 0
