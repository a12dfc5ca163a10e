"""`kiviat list`: the benchmarks, as the native program describes them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from kiviat.cli.options.native_program import known_benchmarks
from kiviat.cli.options.request import ListRequest
from kiviat.cli.text.hints import typeable
from kiviat.cli.text.table import bold, print_rows, print_table
from kiviat.launch.programs.lammps import described as of_lammps
from kiviat.plan import Benchmark, expand_sizes, find_benchmarks
from kiviat.record.units import format_size
from kiviat.report.table import Column, tabled

_TIMED = {
    "batched": "in batches of calls",
    "per_call": "call by call, all ranks starting together",
    "round_trips": "call by call, each round trip after the last",
    "overlapped": "call by call: alone, computation alone, and both at once",
    "study": "by a procedure of its own",
    "once": "by the program itself, once in each launch",
}


def execute(request: ListRequest) -> int:
    """Print all benchmarks in groups, or the full descriptions of those named."""
    known = [*known_benchmarks(request.mpi), *of_lammps()]
    benchmarks = [Benchmark.from_json(entry) for entry in known]
    chosen = find_benchmarks(benchmarks, request.benchmarks, "the command line") or benchmarks
    if request.format != "table":
        names = {benchmark.name for benchmark in chosen}
        print_rows([entry for entry in known if entry["name"] in names], request.format)
    elif request.benchmarks:
        for benchmark in chosen:
            _print_one(benchmark)
    else:
        _print_all(chosen)
    return 0


def _print_all(benchmarks: Sequence[Benchmark]) -> None:
    columns: list[Column[Benchmark]] = [
        Column("benchmark", lambda benchmark: benchmark.file),
        Column("what it measures", lambda benchmark: benchmark.summary),
        Column("elsewhere", lambda benchmark: ", ".join(benchmark.aka)),
    ]
    print_table(tabled("Benchmarks", columns, sorted(benchmarks, key=lambda benchmark: benchmark.file)))
    print(typeable("\n`kiviat list BENCH` tells more about one, `kiviat run BENCH` runs it."))


def _timed(benchmark: Benchmark) -> str:
    words = _TIMED[benchmark.sampling]
    return f"{words}, about {benchmark.nominal_s:g} s by default" if benchmark.nominal_s else words


def _sizes(benchmark: Benchmark) -> str:
    if not benchmark.sized:
        return "-m does not apply"
    own = (
        ", ".join(map(format_size, expand_sizes(benchmark.sizes, benchmark.name))) if benchmark.sizes else ""
    )
    element = benchmark.element_bytes
    multiples = f", in multiples of {element} bytes" if element > 1 else ""
    return f"{own or 'those of the plan'}, unless -m names others{multiples}"


def _print_one(benchmark: Benchmark) -> None:
    print(f"{bold(benchmark.name)}: {benchmark.summary}")
    facts = {
        "elsewhere": ", ".join(benchmark.aka),
        "defined in": benchmark.source,
        "runs on": str(benchmark.ranks),
        "measures": ", ".join(benchmark.metrics),
        "timed": _timed(benchmark),
        "sizes": _sizes(benchmark),
        "takes": ", ".join(benchmark.options),
    }
    for name, fact in facts.items():
        if fact:
            print(f"  {name:12}{fact}")
    for axis in benchmark.axes.values():
        accepted = f" ({axis.accepted})" if axis.accepted else ""
        text = f"--set {axis.name}={axis.default}: {axis.help}{accepted}"
        print(textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="      "))
    print()
