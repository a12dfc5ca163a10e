"""`kiviat profile -- mpirun … ./program`: counts what any MPI program does, without compiling it again."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from kiviat.cli.options.user_command import started
from kiviat.cli.subcommands import profile_simulated
from kiviat.cli.text.profiled import say, tell
from kiviat.launch.mpi.linkage import linked, toolchain_for
from kiviat.launch.tools.profile import TOOL, Asked, profiled, profiling, recorder_of
from kiviat.record import InputError


def execute(arguments: Namespace) -> int:
    if (arguments.on or "").partition(":")[0] == "simulated":
        return profile_simulated.execute(arguments)
    _refuse_what_is_simulated(arguments)
    words: list[str] = arguments.program or []
    if not words:
        raise InputError("there is nothing to profile; give the command after --: -- mpirun -n 4 ./program")
    found = linked(words, sure=arguments.mpi is not None)
    toolchain = toolchain_for(found, arguments.mpi)
    if arguments.crossing and not toolchain.vendor.monitoring:
        raise InputError(f"--mpi-traffic: {toolchain.name} does not count what it sends; leave it out")
    substrate, starting = started(arguments, words, toolchain)
    library = TOOL.library(toolchain, dry=arguments.dry_run)
    recorder = recorder_of(toolchain, dry=arguments.dry_run) if arguments.waits else None
    asked = Asked(arguments.crossing, recorder, arguments.counters)
    output = Path(arguments.output or TOOL.default_name(found.program))
    if arguments.dry_run:
        folder = output.absolute().with_name(f"{output.name}.XXXXXXXX")
        print(profiling(starting(folder), library, folder, asked).shell_line())
        return 0
    state = Path(arguments.state) if arguments.state else None
    with substrate:
        ended = profiled(starting, library, output, state, asked)
    tell(ended)
    if arguments.counters and len(ended.profiles) > 1:
        say("--counters: several programs were profiled at once, none of whose phases could be told apart")
    if not ended.profiles:
        say(
            f"no MPI call of {found.program} was seen: it never came to the end of MPI_Init, or its first "
            "rank does not see the folder of -o (give --state), or it loads its MPI in a way that hides it"
        )
    return ended.status


_OF_SIMULATIONS = {
    "ranks": "-n",
    "sizes": "-m",
    "problem_class": "--class",
    "set": "--set",
    "compute": "--compute",
}


def _refuse_what_is_simulated(arguments: Namespace) -> None:
    if arguments.benchmarks:
        raise InputError(
            f"{arguments.benchmarks[0]}: benchmarks are profiled by name on simulated machines only (--on "
            "simulated:MACHINE); give the command after --: -- mpirun -n 4 ./program"
        )
    for name, option in _OF_SIMULATIONS.items():
        if getattr(arguments, name) not in (None, []):
            raise InputError(
                f"{option} is for simulated machines (--on simulated:MACHINE); the command after -- says it"
            )
