"""`kiviat trace -- mpirun … ./program`: records the MPI calls of any program, for replays."""

from __future__ import annotations

import shlex
from pathlib import Path

from kiviat.cli.options.request import TraceRequest
from kiviat.cli.options.user_command import started
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.profiled import say
from kiviat.cli.text.subject import subject_of_command
from kiviat.cli.text.trace import in_one_line
from kiviat.launch.mpi.linkage import linked, toolchain_for
from kiviat.launch.tools.trace import TIMES_TOOL, TOOL, traced
from kiviat.record import InputError
from kiviat.record.units import counted
from kiviat.trace import read_trace


def execute(request: TraceRequest) -> int:
    """Run the command with the recorder; return its exit code, or 2 if it succeeds and there is no trace.

    A dry run prints the command.
    """
    words = request.program
    if not words:
        raise InputError("there is nothing to record; give the command after --: -- mpirun -n 4 ./program")
    found = linked(words, sure=request.mpi is not None)
    toolchain = toolchain_for(found, request.mpi)
    substrate, starting = started(request.where, words, toolchain)
    tool = TIMES_TOOL if request.times else TOOL
    library = tool.library(toolchain, dry=request.dry_run)
    output = Path(request.output or tool.default_name(found.program))
    if request.dry_run:
        folder = output.absolute().with_name(f"{output.name}.XXXXXXXX")
        print(tool.preloading(starting(folder), library, folder).shell_line())
        return 0
    state = Path(request.state) if request.state else None
    with substrate:
        ended = traced(starting, library, output, state, tool, subject_of_command(words, found.program))
    if ended.written:
        trace = read_trace(output)
        say(f"{output}: {in_one_line(trace)}")
        if ended.left_out:
            say(f"not recorded: {counted(ended.left_out, 'rank')} that MPI_Comm_spawn started")
        if request.times:
            page = typeable(f"`kiviat report {shlex.quote(str(output))}` shows who waits for whom over time")
            say(f"{page}, `kiviat export` writes it for Perfetto")
        elif why := trace.refusal():
            say(f"it cannot be replayed: {why}")
        else:
            say(f"`kiviat run --on simulated:MACHINE --replay {shlex.quote(str(output))}` replays it")
    elif ended.refusal:
        say(f"there is no trace: {ended.refusal}")
    else:
        say(tool.missing(found.program, ended.status))
    return ended.status or (0 if ended.written else 2)
