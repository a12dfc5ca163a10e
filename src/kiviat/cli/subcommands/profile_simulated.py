"""`kiviat profile --on simulated:MACHINE`: a program of the user's, or one of our benchmarks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kiviat.cli.options.native_program import built, described
from kiviat.cli.options.plan import asked_plan
from kiviat.cli.options.simulated_program import refuse_options_of_programs
from kiviat.cli.options.substrate import ask_once, mpi_on, settle_shape
from kiviat.cli.subcommands.run_program import built_program, factor_of, ranks_of, simulated_start
from kiviat.cli.text.profiled import say, tell
from kiviat.launch.mpi.build import PROFILER, program_path
from kiviat.launch.mpi.linkage import launcher_place
from kiviat.launch.mpi.mpiexec import Options
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.run.program import KiviatBench
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.simulated import Simulated
from kiviat.launch.tools.profile import TOOL
from kiviat.launch.tools.profile_simulated import SimulatedProgram, profiled_simulation, profiling_simulated
from kiviat.plan.case import Case
from kiviat.record import InputError

_NOT_THERE = {
    "waits": "who waits for whom is not found out on simulated machines; leave it out",
    "counters": "a modelled processor has no counters; leave it out",
}
# What a plan may be asked beyond what this command has.
_OF_PLANS = (
    "plan",
    "launches",
    "seed",
    "budget",
    "target",
    "iterations",
    "warmup",
    "watts",
    "memory",
    "multi",
    "sync",
)


def execute(arguments: Namespace) -> int:
    for name, why in _NOT_THERE.items():
        if getattr(arguments, name):
            raise InputError(f"--{name}: {why}")
    if arguments.program and arguments.benchmarks:
        raise InputError(f"{arguments.benchmarks[0]} and a program after --; give one of both")
    if not (arguments.program or arguments.benchmarks):
        raise InputError(
            "there is nothing to profile; give a benchmark, or a program that `kiviat cc` built: -- ./program"
        )
    settle_shape(arguments)
    toolchain = find_toolchain(mpi_on(arguments.on, arguments.mpi))
    of = _of_program if arguments.program else _of_benchmark
    name, program, look = of(arguments, toolchain, Options(place=arguments.place, per_node=arguments.ppn))
    program.starting(Path())  # what cannot be placed is refused before anything is made
    library = TOOL.library(toolchain, dry=arguments.dry_run)
    output = Path(arguments.output or TOOL.default_name(name))
    if arguments.dry_run:
        folder = output.absolute().with_name(f"{output.name}.XXXXXXXX")
        print(profiling_simulated(program, library, folder).shell_line())
        return 0
    ended = profiled_simulation(
        program, library, output, Path(arguments.state) if arguments.state else None, look
    )
    tell(ended)
    if not ended.profiles:
        say(f"no MPI call of {name} was seen: it never came to the end of MPI_Init")
    return ended.status or (1 if ended.unfinished or not ended.profiles else 0)


_Asked = tuple[str, SimulatedProgram, Callable[[Path], None]]


def _of_program(arguments: Namespace, toolchain: Toolchain, options: Options) -> _Asked:
    """A program that `kiviat cc` built."""
    if launcher_place(arguments.program) is not None:
        raise InputError(
            f"--on {arguments.on}: programs compiled for a real MPI do not run there; compile with "
            "`kiviat cc` and leave the launcher out (-n says how many ranks), or "
            "`kiviat trace` them here, and replay that"
        )
    path = built_program(arguments.program)
    for name, option in {"sizes": "-m", "problem_class": "--class", "set": "--set"}.items():
        if getattr(arguments, name) not in (None, []):
            raise InputError(f"{option} is for benchmarks; leave it out with a program after --")
    compute = factor_of(arguments)
    # Built in seconds with the profiler: kiviat-bench is not needed here.
    substrate = Simulated(Simulated.parse(arguments.on.partition(":")[2]).machine, PROFILER)
    ranks = ranks_of(arguments.ranks) or substrate.default_ranks(options)

    def starting(folder: Path) -> LaunchSpec:
        start = substrate.start(toolchain, ranks, folder, options)
        return simulated_start(start, substrate, folder, compute).of([path, *arguments.program[1:]])

    program = SimulatedProgram(substrate.machine, starting, compute, arguments.crossing)
    return path.name, program, lambda folder: None


def _of_benchmark(arguments: Namespace, toolchain: Toolchain, options: Options) -> _Asked:
    """One case of a benchmark of ours, once."""
    refuse_options_of_programs(arguments)
    substrate = Simulated.parse(arguments.on.partition(":")[2])
    bench = KiviatBench(program_path(toolchain) if arguments.dry_run else built(toolchain))
    case = _case(arguments, toolchain, bench.path, substrate.default_ranks(options))

    def starting(folder: Path) -> LaunchSpec:
        start = substrate.start(toolchain, case.world, folder, options)
        files = {**start.files, **bench.files([case])}
        return replace(start.of(bench.words(folder, [case])), files=files)

    def look(folder: Path) -> None:
        for event in bench.events(folder, [case]).finish():
            if event["event"] == "result" and event["outcome"] != "ok":
                say(f"{case.id} {event['outcome']}: {event['reason']}")

    return case.benchmark, SimulatedProgram(substrate.machine, starting, None, arguments.crossing), look


def _case(arguments: Namespace, toolchain: Toolchain, binary: Path, ranks: int) -> Case:
    asked = Namespace(**{**dict.fromkeys((*_OF_PLANS, "lammps")), "pallas2": False, **vars(arguments)})
    ask_once(asked)
    plan = asked_plan(asked, described(toolchain, binary), ranks)
    if len(plan.cases) != 1:
        names = ", ".join(case.id for case in plan.cases[:4]) + (", …" if len(plan.cases) > 4 else "")
        raise InputError(
            f"{arguments.benchmarks[0]} is {len(plan.cases)} cases ({names}), and one is profiled at a "
            "time; say which by -n, -m, --class or --set"
        )
    return plan.cases[0]
