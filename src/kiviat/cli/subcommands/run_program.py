"""`kiviat run --on simulated:MACHINE -- ./program`: any MPI program that `kiviat cc` built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kiviat.cli.options.native_program import built
from kiviat.cli.options.request import RunProgramRequest
from kiviat.cli.options.run_directory import home_of, new_run
from kiviat.cli.options.simulated_program import failed, new_folder, refuse_benchmarks
from kiviat.cli.options.substrate import options_of, settled_shape, substrate_of
from kiviat.cli.text.hints import typeable
from kiviat.launch.mpi.build import REPLAYER
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.programs.simulated_program import ProgramFacts, record_of, run_single
from kiviat.launch.run.supervise import LaunchResult
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.simulated import Simulated
from kiviat.record import InputError, Metric
from kiviat.record.plain import whole_number
from kiviat.record.units import counted
from kiviat.store import call_run


def execute(request: RunProgramRequest) -> int:
    """Simulate a program as a run with one record. Raise InputError if `--on` names no simulated machine."""
    program = built_program(request.program)
    refuse_benchmarks(request, "a program after --")
    if request.speed is not None:
        raise InputError("--speed is for --replay; leave it out with a program after --")
    compute = factor_of(request.compute)
    shape, where = settled_shape(request.what.ranks, request.where)
    request = replace(request, where=where)
    substrate = substrate_of(where.on)
    if substrate.machine is None:
        raise InputError(
            f"-- {request.program[0]}: users' programs run on simulated machines only; "
            "give --on simulated:MACHINE"
        )
    substrate = Simulated(substrate.machine, REPLAYER)  # takes seconds to build; kiviat-bench is not needed
    options = options_of(where)
    ranks = ranks_of(shape) or substrate.default_ranks(options)
    toolchain = find_toolchain(SIMULATOR)
    words = [str(program), *request.program[1:]]

    def start_in(folder: Path) -> LaunchSpec:
        start = substrate.start(toolchain, ranks, folder, options)
        return simulated_start(start, substrate, folder, compute).of(words)

    if request.dry_run:
        print(start_in(home_of(request.output).absolute() / "RUN" / "launches" / "0").shell_line())
        return 0
    start_in(Path())  # refuses impossible placements before a run begins
    built(toolchain, REPLAYER)
    with new_run(request, program.name, substrate) as directory:
        folder = new_folder(directory.path)
        spec = replace(start_in(folder), run=directory.id, timeout_s=request.timeout)
        spec.write(folder)
        with Interrupts() as interrupts:
            ended = run_single(spec, folder / "simulated_s", directory.set_launch, interrupts)
        simulated_s = None if ended.reason else float((folder / "simulated_s").read_text())
        metrics = [] if simulated_s is None else [Metric.once("time", "s", simulated_s)]
        found = ProgramFacts(program.name, ranks, {}, "a program of the user's", metrics)
        directory.append(record_of(directory.id, found, ended))
        directory.finish("complete" if ended.signal is None else "interrupted")
    return _tell(
        directory.path,
        substrate,
        words,
        ranks,
        compute,
        simulated_s,
        ended,
        quiet=request.verbosity == "quiet",
    )


def built_program(words: Sequence[str]) -> Path:
    """Return the program that `kiviat cc` built. Raise InputError for others, or for words with blanks."""
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
            raise InputError(
                f"{word!r} contains blanks, which smpirun cannot handle; give a word without blanks"
            )
    return path


def factor_of(compute: float | None) -> float:
    """Return the factor from host to simulated compute time; 0, no compute time, by default.

    Raise InputError for values with which the simulator would hang or abort.
    """
    factor = 0.0 if compute is None else compute
    if not 0 <= factor < math.inf:
        raise InputError(f"--compute is {factor:g}; give a factor of at least 0")
    return factor


def ranks_of(text: str | None) -> int | None:
    """Return the number in `-n`, None without it. Raise InputError for anything but one number."""
    if text is None:
        return None
    ranks = whole_number(text)
    if not ranks:
        raise InputError(f"-n is {text!r}; give one number of ranks, such as 8")
    return ranks


def simulated_start(start: LaunchSpec, substrate: Simulated, folder: Path, compute: float) -> LaunchSpec:
    """Return the launch with separate variables for each rank and with payload.

    `compute`: factor of host time.
    """
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
    words = (*start.launcher, *(f"--cfg={name}:{value}" for name, value in config.items()))
    told = {"KIVIAT_SIMULATED_TIME": str(folder / "simulated_s")}
    return replace(start, launcher=words, environment={**start.environment, **told})


def _tell(
    path: Path,
    substrate: Simulated,
    words: list[str],
    ranks: int,
    compute: float,
    simulated_s: float | None,
    ended: LaunchResult,
    *,
    quiet: bool,
) -> int:
    what = f"{Path(words[0]).name} on {counted(ranks, 'rank')} of {substrate.label}"
    if simulated_s is None:
        return failed(what, path, ended)
    if quiet:
        print(path)
        return 0
    counts = f"computation {compute:g} times as long as here" if compute else "computation takes no time"
    print(f"{what}: {simulated_s:.6g} s of simulated time ({counts})")
    print(f"it took {ended.elapsed_s:.1f} s to simulate")
    print(typeable(f"results  {path}  (`kiviat show {call_run(path)}`)"))
    return 0
