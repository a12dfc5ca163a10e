"""`kiviat profile --on simulated:MACHINE`: a user's program, or a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kiviat.cli.options.native_program import built, described
from kiviat.cli.options.plan import asked_once, asked_plan
from kiviat.cli.options.request import ProfileRequest, Where
from kiviat.cli.options.simulated_program import refuse_options_of_programs
from kiviat.cli.options.substrate import mpi_on, options_of, settled_shape
from kiviat.cli.subcommands.run_program import built_program, factor_of, ranks_of, simulated_start
from kiviat.cli.text.profiled import say, tell
from kiviat.cli.text.subject import subject_of_case, subject_of_command
from kiviat.launch.mpi.build import PROFILER, program_path
from kiviat.launch.mpi.linkage import launcher_place
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.run.program import KiviatBench
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.simulated import Simulated
from kiviat.launch.tools.profile import TOOL
from kiviat.launch.tools.profile_simulated import SimulatedProgram, profiled_simulation, profiling_simulated
from kiviat.plan.case import Case
from kiviat.profile import add_subject
from kiviat.record import InputError


def execute(request: ProfileRequest) -> int:
    """Profile a program or a benchmark on a modelled machine.

    Return its exit code, or 1 if the profile is incomplete; a dry run prints the command.
    """
    if request.wait_states:
        raise InputError("--wait-states: wait states are not recorded on simulated machines; leave it out")
    if request.counters:
        raise InputError("--counters: simulated processors have no hardware counters; leave it out")
    if request.program and request.what.benchmarks:
        raise InputError(
            f"{request.what.benchmarks[0]} and a program after -- exclude each other; give one of them"
        )
    if not (request.program or request.what.benchmarks):
        raise InputError(
            "there is nothing to profile; give a benchmark, or a program that `kiviat cc` built: -- ./program"
        )
    ranks, where = settled_shape(request.what.ranks, request.where)
    request = replace(request, what=replace(request.what, ranks=ranks), where=where)
    toolchain = find_toolchain(mpi_on(where.on, request.mpi))
    of = _of_program if request.program else _of_benchmark
    name, subject, program, look = of(request, toolchain, options_of(where))
    program.starting(Path())  # refuses impossible placements before anything is created
    library = TOOL.library(toolchain, dry=request.dry_run)
    output = Path(request.output or TOOL.default_name(name))
    if request.dry_run:
        folder = output.absolute().with_name(f"{output.name}.XXXXXXXX")
        print(profiling_simulated(program, library, folder).shell_line())
        return 0
    ended = profiled_simulation(
        program, library, output, Path(request.state) if request.state else None, look
    )
    for path in ended.profiles if subject else ():
        add_subject(path, subject)
    tell(ended)
    if not ended.profiles:
        say(f"no MPI call of {name} was seen: it never came to the end of MPI_Init")
    return ended.status or (1 if ended.unfinished or not ended.profiles else 0)


_Subject = tuple[str, str, SimulatedProgram, Callable[[Path], None]]


def _simulated(where: Where) -> Simulated:
    return Simulated.parse((where.on or "").partition(":")[2])


def _of_program(request: ProfileRequest, toolchain: Toolchain, options: LauncherOptions) -> _Subject:
    """Return a program built by `kiviat cc`, to be profiled."""
    if launcher_place(request.program) is not None:
        raise InputError(
            f"--on {request.where.on}: programs compiled for a real MPI do not run there; compile with "
            "`kiviat cc` and leave the launcher out (-n gives the number of ranks), or record the program "
            "with `kiviat trace`, and replay the trace there"
        )
    path = built_program(request.program)
    what = request.what
    for option, value in {"-m": what.sizes, "--class": what.problem_class, "--set": what.set or None}.items():
        if value is not None:
            raise InputError(f"{option} is for benchmarks; leave it out with a program after --")
    compute = factor_of(request.compute)
    # The platform built with the profiler takes seconds; kiviat-bench is not needed.
    substrate = Simulated(_simulated(request.where).machine, PROFILER)
    ranks = ranks_of(request.what.ranks) or substrate.default_ranks(options)

    def starting(folder: Path) -> LaunchSpec:
        start = substrate.start(toolchain, ranks, folder, options)
        return simulated_start(start, substrate, folder, compute).of([path, *request.program[1:]])

    program = SimulatedProgram(substrate.machine, starting, compute, request.mpi_traffic)
    subject = subject_of_command(request.program, request.program[0]) or ""
    return path.name, subject, program, lambda folder: None


def _of_benchmark(request: ProfileRequest, toolchain: Toolchain, options: LauncherOptions) -> _Subject:
    """Return one case of a benchmark, to be called once and profiled."""
    refuse_options_of_programs(request.compute, None)
    substrate = _simulated(request.where)
    bench = KiviatBench(program_path(toolchain) if request.dry_run else built(toolchain))
    case = _case(request, toolchain, bench.path, substrate.default_ranks(options))

    def starting(folder: Path) -> LaunchSpec:
        start = substrate.start(toolchain, case.world, folder, options)
        files = {**start.files, **bench.files([case])}
        return replace(start.of(bench.words(folder, [case])), files=files)

    def look(folder: Path) -> None:
        for event in bench.events(folder, [case]).finish():
            if event["event"] == "result" and event["outcome"] != "ok":
                say(f"{case.id} {event['outcome']}: {event['reason']}")

    subject = subject_of_case(case.benchmark, case.bytes, case.axes, described(toolchain, bench.path))
    program = SimulatedProgram(substrate.machine, starting, None, request.mpi_traffic)
    return case.benchmark, subject, program, look


def _case(request: ProfileRequest, toolchain: Toolchain, binary: Path, ranks: int) -> Case:
    plan = asked_plan(asked_once(request.what), described(toolchain, binary), ranks)
    if len(plan.cases) != 1:
        names = ", ".join(case.id for case in plan.cases[:4]) + (", …" if len(plan.cases) > 4 else "")
        raise InputError(
            f"{request.what.benchmarks[0]} is {len(plan.cases)} cases ({names}), and one is profiled at a "
            "time; say which by -n, -m, --class or --set"
        )
    return plan.cases[0]
