"""All file formats that Kiviat reads: seed files, structure-aware mutations, and readers.

A format generates inputs (`Input`) and names its readers, so that a stored finding can name the reader that
failed.
"""

from __future__ import annotations

import json
import tomllib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from kiviat.cli.options.external_programs import benchmarks_of
from kiviat.cli.subcommands.run_resumed import plan_of
from kiviat.ingest import parse
from kiviat.launch.run.events import Tail
from kiviat.plan import load_plan, plan_benchmarks, shipped_benchmarks
from kiviat.plan.load import load_arrangements
from kiviat.record import UNSEALED_RECORD_SCHEMA, Row, data_path, published
from kiviat.record.types import Record
from kiviat.store.lock import refuse_living
from kiviat.trace import check, read_trace
from tests.fuzz import command_lines, mutate, streams
from tests.fuzz.harness import Reader, command, function
from tests.ingest import (
    lammps_logs,
    test_gpcnet_and_mpigraph,
    test_hpcc,
    test_imb,
    test_nccl,
    test_osu,
    test_stated,
    test_tree,
)
from tests.plan.conftest import benchmark
from tests.report import hpcc, modelled, scaling_runs, studies, synthetic
from tests.store import made_up

SEEDS = Path(__file__).with_name("seeds")
Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Input:
    """One input: files by their names in the reader's folder, the name of the reader, and a description of
    the mutation.
    """

    reader: str
    files: Files
    told: str


@dataclass(frozen=True)
class Format:
    """A file format. `make` returns the files of one more input, and a description of the mutation."""

    name: str
    readers: Mapping[str, Reader]
    make: Callable[[Random], tuple[Files, str]]

    def input(self, rng: Random) -> Input:
        """Return one more input, for one of the readers."""
        files, told = self.make(rng)
        return Input(rng.choice(sorted(self.readers)), files, told)


def commands(*lines: str) -> dict[str, Reader]:
    """Return readers that run `kiviat` with the given command lines."""
    return {line: command(*line.split()) for line in lines}


# Runs


def _records(rows: list[Row], tables: list[Any]) -> list[dict[str, Any]]:
    """Return records as stored in files, but without checksums."""
    found: dict[tuple[Any, str], list[Any]] = {(table.launch, table.case): [] for table in tables}
    for table in tables:
        found[table.launch, table.case].append(table.table)
    of_metric = [field.name for field in fields(Row)]
    of_metric = of_metric[of_metric.index("unit") : of_metric.index("notes")]
    records = []
    for (launch, case), some in groupby(rows, lambda row: (row.launch, row.case)):
        members = list(some)
        first = members[0]
        metrics = tuple(
            made_up.metric(
                row.metric, (row.p50,) * 3 if row.p50 else None, **{n: getattr(row, n) for n in of_metric}
            )
            for row in members
            if row.metric
        )
        shared = {f.name for f in fields(Record)} & {f.name for f in fields(Row)} - {"run", "launch", "case"}
        values = {name: getattr(first, name) for name in shared}
        made = made_up.record(
            first.run, case, launch, **values, metrics=metrics, tables=tuple(found.get((launch, case), ()))
        )
        records.append(json.loads(json.dumps(made.to_json())))
    return records


@cache
def made_runs() -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return runs of all kinds, as run.json and records: point-to-point, collectives, studies, HPC Challenge,
    scaling, a simulation.
    """
    few: dict[str, Any] = {"launches": 2}
    made = [
        (synthetic.make_run_json(**few), synthetic.make_rows(sizes=(0, 8, 65536), **few), []),
        (studies.study_run_json(**few), studies.study_rows(**few), studies.study_tables(**few)),
        (hpcc.hpcc_run_json(**few), hpcc.hpcc_rows(**few), []),
        (
            scaling_runs.scaling_run_json(ranks=(1, 2, 4, 8), repeats=2),
            scaling_runs.scaling_rows("run-a", scaling_runs.amdahl(0.05), ranks=(1, 2, 4, 8), repeats=2),
            [],
        ),
        (
            modelled.simulated_run_json("run-a"),
            synthetic.make_rows(launches=1, sizes=(0, 8, 65536), **modelled.ONCE),
            [],
        ),
    ]
    return [(json.loads(json.dumps(run)), _records(rows, tables)) for run, rows, tables in made]


def record_line(record: Any, sealed: bool) -> bytes:
    """Return a line of records.jsonl for any JSON value; with `sealed`, its checksum is valid."""
    if not sealed:
        tree = record | {"schema": UNSEALED_RECORD_SCHEMA} if isinstance(record, dict) else record
        return mutate.to_json(tree).encode("utf-8", "replace") + b"\n"
    text = mutate.to_json(record).encode("utf-8", "replace")[:-1]
    return text + b',"crc32":"%08x"}\n' % zlib.crc32(text)


def _changed_run(rng: Random) -> tuple[Files, str]:
    run, records = rng.choice(made_runs())
    lines = b"".join(record_line(record, True) for record in records)
    how = rng.random()
    if how < 0.1:
        data, told = mutate.change_bytes(rng, json.dumps(run).encode())
    elif how < 0.2:
        text, told = mutate.change_lines(rng, json.dumps(run, indent=1))
        data = text.encode("utf-8", "replace")
    elif how < 0.4:
        mutant, told = mutate.change(rng, run, rng.choice((1, 1, 2)))
        data = mutate.to_json(mutant).encode("utf-8", "replace")
    else:
        (mutant,), told = mutate.change_alike(rng, [run], rng.choice((1, 1, 2, 5)))
        data = mutate.to_json(mutant).encode("utf-8", "replace")
    return {"RUN/run.json": data, "RUN/records.jsonl": lines}, told


def _changed_records(rng: Random) -> tuple[Files, str]:
    run, records = rng.choice(made_runs())
    sealed, how = rng.random() < 0.7, rng.random()
    if how < 0.1:
        lines = b"".join(record_line(record, sealed) for record in records)
        lines, told = mutate.change_bytes(rng, lines)
    elif how < 0.3:
        at = rng.randrange(len(records))
        mutant, told = mutate.change(rng, records[at], rng.choice((1, 1, 2)))
        lines = b"".join(
            record_line(record, sealed) for record in [*records[:at], mutant, *records[at + 1 :]]
        )
    else:
        some = records if rng.random() < 0.8 else rng.sample(records, min(len(records), rng.randrange(1, 8)))
        mutants, told = mutate.change_alike(rng, some, rng.choice((1, 1, 2, 4)))
        if rng.random() < 0.1:
            rng.shuffle(mutants)
        lines = b"".join(record_line(record, sealed) for record in mutants)
    return {"RUN/run.json": json.dumps(run).encode(), "RUN/records.jsonl": lines}, told


RUN_COMMANDS = commands(
    "show RUN",
    "show RUN --percentiles",
    "show RUN --format json",
    "report RUN -o report.html",
    "report RUN RUN -o report.html",
    "export RUN -o run.csv",
    "export RUN --what samples -o run.parquet",
    "export RUN --format openmetrics",
    "balance RUN -o balance.html",
    "balance RUN --with systems",
    "scaling RUN -o scaling.html",
    "scaling RUN --at 64,4096",
    "compare RUN RUN",
    "sql --run RUN --format json select*from(metrics)",
    "model fit RUN -o fitted.toml",
    "place RUN --nodes 2x4 --no-scotch",
    "runs",
)


# Traces and profiles, with valid checksums and lengths


def _read_whole_trace(folder: Path) -> None:
    check(read_trace(folder / "a.trace"))


def _changed(name: str) -> Callable[[Random], tuple[Files, str]]:
    def make(rng: Random) -> tuple[Files, str]:
        content = (SEEDS / f"calls.{name}").read_bytes()
        return {f"a.{name}": streams.mutated(rng, content)}, "see the file"

    return make


# Plans, machine files, publications


def _toml(rng: Random, text: str, tree: Any) -> tuple[bytes, str]:
    how = rng.random()
    if how < 0.12:
        return mutate.change_bytes(rng, text.encode())
    if how < 0.3:
        lines, told = mutate.change_lines(rng, text)
    elif how < 0.6:
        mutant, told = mutate.change(rng, tree, rng.choice((1, 1, 2)))
        lines = mutate.to_toml(mutant)
    else:
        (mutant,), told = mutate.change_alike(rng, [tree], rng.choice((1, 1, 2, 4)))
        lines = mutate.to_toml(mutant)
    return lines.encode("utf-8", "replace"), told


@cache
def _shipped(folder: str) -> list[tuple[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(data_path(folder).glob("*.toml"))]
    return [(text, tomllib.loads(text)) for text in texts]


def _of(folder: str, name: str) -> Callable[[Random], tuple[Files, str]]:
    def make(rng: Random) -> tuple[Files, str]:
        data, told = _toml(rng, *rng.choice(_shipped(folder)))
        return {name: data}, told

    return make


_PLAN = """schema = "kiviat.plan/1"
launches = 2
bytes = "0:64K"
[controls]
budget_s = 0.5
[[arrangements]]
shape = "2x2"
[[cases]]
benchmarks = ["pingpong", "npb/*"]
ranks = [2, "doubling"]
nominal_s = 2.5
[cases.axes]
group = [0, 2]
"""
_KNOWN = [benchmark("pt2pt/pingpong", (2, 2, 1)), benchmark("npb/ep", (1, None, 1))]


def _changed_plan(rng: Random) -> tuple[Files, str]:
    text, tree = rng.choice([(_PLAN, tomllib.loads(_PLAN)), *_shipped("plans")])
    data, told = _toml(rng, text, tree)
    return {"plan.toml": data}, told


def _read_plan(folder: Path) -> None:
    """Read a plan as `kiviat run` does, with a stored description of the benchmarks."""
    path = folder / "plan.toml"
    plan_benchmarks(path)
    load_arrangements(path)
    load_plan(path, shipped_benchmarks(), 8)


_COMMAND_LINE = {
    "ranks_available": 4,
    "benchmarks": ["pingpong"],
    "bytes": "8",
    "interval": 0.05,
    "controls": {"target": 0.1},
    "axes": {"distance": [1]},
}


def _changed_definition(rng: Random) -> tuple[Files, str]:
    """Return an interrupted run with a changed plan."""
    _, tree = rng.choice([("", tomllib.loads(_PLAN)), *_shipped("plans")])
    definition = {"name": "test", "interval": 0.05, **tree, "command_line": _COMMAND_LINE}
    if rng.random() < 0.5:
        mutant, told = mutate.change(rng, definition, rng.choice((1, 1, 2)))
    else:
        (mutant,), told = mutate.change_alike(rng, [definition], rng.choice((1, 1, 2, 4)))
    run, records = made_runs()[0]
    run = run | {"state": "interrupted", "plan": run["plan"] | {"definition": mutant}}
    lines = b"".join(record_line(record, True) for record in records)
    return {
        "RUN/run.json": mutate.to_json(run).encode("utf-8", "replace"),
        "RUN/records.jsonl": lines,
    }, told


def _resume(folder: Path) -> None:
    """Read the plan of a run as `kiviat run --resume` does, with a stored description of the benchmarks."""
    benchmarks_of(folder / "RUN")
    plan_of(folder / "RUN", shipped_benchmarks())


# Small text files


def _text(name: str, *seeds: str) -> Callable[[Random], tuple[Files, str]]:
    def make(rng: Random) -> tuple[Files, str]:
        text = rng.choice(seeds)
        if rng.random() < 0.25:
            data, told = mutate.change_bytes(rng, text.encode())
        else:
            told = ""
            for _ in range(rng.choice((1, 1, 3))):
                text, more = mutate.change_lines(rng, text)
                told += more
            data = text.encode("utf-8", "surrogatepass")
        return {name: data}, told

    return make


_PLACES = ("n0\nn0\nn1 # rank 2\n\nn1\n" * 4, "".join(f"n{r // 8} {r % 8 // 4} {r % 4}\n" for r in range(16)))
_HOSTS = ("n1\nn2\nn3 # the third\n\nn4\n", "login.example.org\n" * 4)


def _profile_with(make: Callable[[Random], tuple[Files, str]]) -> Callable[[Random], tuple[Files, str]]:
    def made(rng: Random) -> tuple[Files, str]:
        files, told = make(rng)
        return {**files, "a.profile": (SEEDS / "calls.profile").read_bytes()}, told

    return made


# Output of other programs

LOGS = {
    **{path.name: path.read_text() for path in sorted((Path(test_imb.__file__).parent / "data").iterdir())},
    **{"hpl": test_hpcc.HPL_OUTPUT, "stream": test_hpcc.STREAM_TABLE, "hpcg": test_hpcc.HPCG_REPORT},
    **{"imb": test_imb.NON_BLOCKING, "osu": test_osu.OLD, "lammps": lammps_logs.RHODO_LOG},
    **{"nccl": test_nccl.NCCL, "nccl-json": json.dumps(test_nccl.document())},
    **{"gpcnet": test_gpcnet_and_mpigraph.GPCNET, "mpigraph": test_gpcnet_and_mpigraph.MPIGRAPH},
}
_SCRIPTS = (
    test_tree.SCRIPT,
    "#PBS -l select=3:ncpus=36:mpiprocs=36\n#PBS -o log\nN=$((36*3))\nmpiexec -n $N -ppn 36 ./a > log\n",
    '#BSUB -n 40\n#BSUB -R "span[ptile=20]"\nmpirun --map-by ppr:20:node --mca a b -np 40 ./a\n',
)


def _changed_tree(rng: Random) -> tuple[Files, str]:
    """Return a folder with a changed log, and the job script of its launch beside it."""
    files, told = _text("log", *LOGS.values(), test_tree.ALLREDUCE, test_stated.FLUX)(rng)
    script, more = _text("log.sh", *_SCRIPTS)(rng)
    return {"tree/log": files["log"], "tree/log.sh": script["log.sh"]}, told + more


def _read_log(folder: Path) -> None:
    """Check that every line of an error message begins with the file's name."""
    parse((folder / "log").read_text(encoding="utf-8", errors="replace"), "log", 4)


# Files written by the native program and by schedulers


_EVENTS = tuple(
    "\n".join(json.dumps(event) for event in some) + "\n"
    for some in (
        (
            {
                "event": "start",
                "world": 2,
                "ranks": [{"rank": 0, "host": "n0", "node": 0, "pid": 1, "cpus": "0"}],
            },
            {"event": "case", "case": "pingpong/ranks=2"},
            {"event": "result", "case": "pingpong/ranks=2", "metrics": [{"name": "time", "unit": "s"}]},
            {"event": "end"},
        ),
    )
)


def _read_events(folder: Path) -> None:
    tail = Tail(folder / "events.jsonl")
    for event in (*tail.read(), *tail.finish()):
        assert isinstance(event["event"], str)


def _changed_lock(rng: Random) -> tuple[Files, str]:
    """Return a run with a lock file as left by another version, or with arbitrary content."""
    run, records = rng.choice(made_runs())
    run = run | {"state": "running"}
    files = {"RUN/run.json": json.dumps(run).encode(), "RUN/records.jsonl": record_line(records[0], True)}
    if rng.random() < 0.5:
        data, told = mutate.change_bytes(rng, b'{"host": "n0", "pid": 4242, "start": "77"}')
        return {**files, "RUN/writer": data}, told
    name, told = mutate.change_bytes(
        rng, b"host=n0,ns=4026531836,pid=4242,start=77,job=slurm%3A12,id=00112233"
    )
    name = name.replace(b"/", b"_").replace(b"\0", b"_")[:200] or b"_"
    name = b"_" if name in (b".", b"..") else name
    return {**files, "RUN/writer/" + name.decode("utf-8", "surrogateescape"): b""}, told


def _changed_words(rng: Random) -> tuple[Files, str]:
    run, records = made_runs()[0]
    words, told = command_lines.changed(rng)
    lines = b"".join(record_line(record, True) for record in records[:40])
    files = {"RUN/run.json": json.dumps(run).encode(), "RUN/records.jsonl": lines}
    profile = (SEEDS / "calls.profile").read_bytes()
    return {**files, "a.profile": profile, "words": json.dumps(words).encode()}, f"{words!a:.200}: {told}"


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("run.json", RUN_COMMANDS, _changed_run),
        Format("records.jsonl", RUN_COMMANDS, _changed_records),
        Format("plan", {"plan": function(_read_plan)}, _changed_plan),
        Format(
            "definition",
            {**commands("show RUN", "export RUN -o run.csv"), "resume": function(_resume)},
            _changed_definition,
        ),
        Format(
            "machine",
            commands(
                "model show ./machine.toml",
                "model show ./machine.toml --format json",
                "model show ./machine.toml -o network.svg",
                "place a.profile --machine ./machine.toml --no-scotch",
            ),
            _profile_with(_of("machines", "machine.toml")),
        ),
        Format(
            "published",
            {"paper": function(lambda folder: published.read_paper(folder / "paper.toml"))},
            _of("published", "paper.toml"),
        ),
        Format(
            "places",
            commands("place a.profile --nodes 4x2x4 --no-scotch --compare-with file:places"),
            _profile_with(_text("places", *_PLACES)),
        ),
        Format(
            "hosts",
            commands(
                "place a.profile --nodes 4x4 --no-scotch --hosts hosts",
                "place a.profile --nodes 4x4 --no-scotch --hosts hosts -o ranks --emit openmpi",
            ),
            _profile_with(_text("hosts", *_HOSTS)),
        ),
        Format("log", {"parse": function(_read_log)}, _text("log", *LOGS.values())),
        Format("ingest", commands("ingest log --ranks 4 -o ingested"), _text("log", *LOGS.values())),
        Format(
            "tree",
            commands(
                "ingest tree -o ingested",
                "ingest tree --details --each -o ingested",
                "ingest tree/log -o ingested",
            ),
            _changed_tree,
        ),
        Format(
            "profile",
            commands(
                "show a.profile",
                "show a.profile --format json",
                "report a.profile -o report.html",
                "place a.profile --nodes 2x4 --no-scotch",
                "export a.profile -o a.csv",
            ),
            _changed("profile"),
        ),
        Format(
            "trace",
            {**commands("show a.trace", "show a.trace --format json"), "check": function(_read_whole_trace)},
            _changed("trace"),
        ),
        Format("command line", {"words": function(command_lines.read)}, _changed_words),
        Format("events", {"events": function(_read_events)}, _text("events.jsonl", *_EVENTS)),
        Format(
            "lock",
            {
                **commands("show RUN", "run --resume ./RUN --dry-run"),
                "lock": function(lambda folder: refuse_living(folder / "RUN")),
            },
            _changed_lock,
        ),
    )
}
