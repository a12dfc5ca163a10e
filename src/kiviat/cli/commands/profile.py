"""`kiviat profile -- mpirun … ./program`: profiles any MPI program without recompiling it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kiviat.cli.options.request import ProfileRequest
from kiviat.cli.options.user_command import started
from kiviat.cli.subcommands import profile_simulated
from kiviat.cli.text.profiled import say, tell
from kiviat.cli.text.subject import subject_of_command
from kiviat.launch.mpi.linkage import linked, toolchain_for
from kiviat.launch.tools.profile import TOOL, ProfileOptions, profiled, profiling, recorder_of
from kiviat.profile import add_subject, read_profile
from kiviat.record import InputError


def execute(request: ProfileRequest) -> int:
    """Run the command with the profiler; return its exit code, or 2 if it succeeds and there is no profile.

    A dry run prints the command.
    """
    if (request.where.on or "").partition(":")[0] == "simulated":
        return profile_simulated.execute(request)
    _refuse_what_is_simulated(request)
    words = request.program
    if not words:
        raise InputError("there is nothing to profile; give the command after --: -- mpirun -n 4 ./program")
    found = linked(words, sure=request.mpi is not None)
    toolchain = toolchain_for(found, request.mpi)
    if request.mpi_traffic and not toolchain.vendor.monitoring:
        raise InputError(
            f"--mpi-traffic: {toolchain.name} cannot count its messages; leave --mpi-traffic out"
        )
    substrate, starting = started(request.where, words, toolchain)
    library = TOOL.library(toolchain, dry=request.dry_run)
    recorder = recorder_of(toolchain, dry=request.dry_run) if request.wait_states else None
    asked = ProfileOptions(request.mpi_traffic, recorder, request.counters)
    output = Path(request.output or TOOL.default_name(found.program))
    if request.dry_run:
        folder = output.absolute().with_name(f"{output.name}.XXXXXXXX")
        print(profiling(starting(folder), library, folder, asked).shell_line())
        return 0
    state = Path(request.state) if request.state else None
    with substrate:
        ended = profiled(starting, library, output, state, asked)
    _entitle(ended.profiles, words, found.program)
    tell(ended)
    if request.counters and len(ended.profiles) > 1:
        say("--counters: several programs were profiled at once, none of whose phases could be told apart")
    if ended.sessions:
        say(
            f"{found.program} starts MPI by MPI_Session_init and never calls MPI_Init; the profiler counts "
            "from MPI_Init on, so nothing was profiled"
        )
    elif not ended.profiles:
        say(TOOL.missing(found.program, ended.status))
    return ended.status or (0 if ended.profiles else 2)


def _entitle(profiles: Sequence[Path], words: Sequence[str], program: str) -> None:
    """Add what the command runs, as a title, to its profile; of several, only to those of `program`.

    A script that starts several programs describes none of them. A single program may have another name than
    the command's word, such as that of a script's interpreter, or of the target of a link.
    """
    if subject := subject_of_command(words, program):
        for path in profiles:
            if len(profiles) == 1 or read_profile(path).program == Path(program).name:
                add_subject(path, subject)


def _refuse_what_is_simulated(request: ProfileRequest) -> None:
    what = request.what
    if what.benchmarks:
        raise InputError(
            f"{what.benchmarks[0]}: benchmarks are profiled by name on simulated machines only (--on "
            "simulated:MACHINE); give the command after --: -- mpirun -n 4 ./program"
        )
    given = {
        "-n": what.ranks,
        "-m": what.sizes,
        "--class": what.problem_class,
        "--set": what.set or None,
        "--compute": request.compute,
    }
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{option} is for simulated machines (--on simulated:MACHINE); elsewhere the command after "
                "-- determines it"
            )
