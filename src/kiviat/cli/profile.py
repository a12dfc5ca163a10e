"""`kiviat profile -- mpirun … ./program`: counts what any MPI program does, without compiling it again."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from pathlib import Path

from kiviat.cli.show_profile import in_one_line
from kiviat.cli.started import started
from kiviat.launch.linked import linked, toolchain_for
from kiviat.launch.profiling import TOOL, Asked, profiled, profiling, recorder_of
from kiviat.profile import read_profile
from kiviat.record import InputError


def execute(arguments: Namespace) -> int:
    words: list[str] = arguments.program or []
    if not words:
        raise InputError("there is nothing to profile; give the command after --: -- mpirun -n 4 ./program")
    found = linked(words, sure=arguments.mpi is not None)
    toolchain = toolchain_for(found, arguments.mpi)
    if arguments.crossing and toolchain.family != "openmpi":
        raise InputError(f"--crossing: {toolchain.name} does not count what it sends; leave it out")
    substrate, starting = started(arguments, words, toolchain)
    library = TOOL.library(toolchain)
    recorder = recorder_of(toolchain) if arguments.waits else None
    asked = Asked(arguments.crossing, recorder, arguments.counters)
    output = Path(arguments.output or TOOL.default_name(found.program))
    if arguments.dry_run:
        folder = output.absolute().with_name(f"{output.name}.XXXXXXXX")
        print(profiling(starting(folder), library, folder, asked).shell_line(()))
        return 0
    state = Path(arguments.state) if arguments.state else None
    with substrate:
        ended = profiled(starting, library, output, state, asked)
    for path in ended.profiles:
        profile = read_profile(path)
        _say(f"{path}: {in_one_line(profile)}; `kiviat show {shlex.quote(str(path))}` says more")
        if ended.unfinished:
            missing = profile.ranks - int(profile.seen.sum())
            nothing = f", and {missing} left nothing" if missing else ""
            _say(f"ranks ended without MPI_Finalize; this is what they counted until then{nothing}")
    if arguments.counters and len(ended.profiles) > 1:
        _say("--counters: several programs were profiled at once, none of whose phases could be told apart")
    if not ended.profiles:
        _say(
            f"no MPI call of {found.program} was seen: it never came to the end of MPI_Init, or its first "
            "rank does not see the folder of -o (give --state), or it loads its MPI in a way that hides it"
        )
    return ended.status


def _say(line: str) -> None:
    sys.stdout.flush()
    print(f"kiviat: {line}", file=sys.stderr)
