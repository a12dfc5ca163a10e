"""One frozen, typed request per command, with everything that it needs from the command line.

Only `kiviat.cli.options.arguments.parsed` makes requests, by `request_of`, and nothing else uses the result
of argparse. Fields have the names of the options; parts that several commands share are separate classes.
Imports nothing slow, because every command imports it.
"""

# No `from __future__ import annotations` here, because `_filled` reads types of fields as classes.
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal, TypeVar

TableFormat = Literal["table", "csv", "json"]
RuleChoice = Literal["auto", "keep", "drop"]
Verbosity = Literal["quiet", "normal", "verbose"]
_Part = TypeVar("_Part")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What to run and how to measure it.

    `once`: each case is called once, which suffices for simulated time; set by commands, not by an option.
    """

    benchmarks: tuple[str, ...] = ()
    plan: str | None = None
    ranks: str | None = None
    sizes: str | None = None
    set: tuple[str, ...] = ()
    memory: str | None = None
    problem_class: str | None = None
    groups: int | None = None
    launches: int | None = None
    interval: float | None = None
    launches_max: int | None = None
    seed: int | None = None
    budget: float | None = None
    target: float | None = None
    iterations: int | None = None
    warmup: int | None = None
    pallas2: bool = False
    sync: Literal["window", "barrier"] | None = None
    watts: str | None = None
    pages: Literal["huge", "small"] | None = None
    once: bool = False


@dataclass(frozen=True, kw_only=True)
class Where:
    """Substrate and placement of ranks. run.json keeps these names and values, for resumed runs."""

    on: str | None = None
    ppn: int | None = None
    place: str | None = None
    bind: str | None = None
    launcher: str | None = None


class Request:
    """Base class of requests. `module` of kiviat.cli has `execute(request)`, which returns the exit code."""

    module: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class RunRequest(Request):
    """Options of `kiviat run`. `arrangement` is the one to run, of a plan with several; no option sets it."""

    module = "commands.run"
    what: PlanOptions = PlanOptions()
    where: Where = Where()
    mpi: str | None = None
    lammps: str | None = None
    script: str | None = None
    compute: float | None = None
    speed: float | None = None
    timeout: float | None = None
    machine: str | None = None
    output: str | None = None
    report: str | None = None
    resume: str | None = None
    dry_run: bool = False
    verbosity: Verbosity = "normal"
    progress: bool = False
    arrangement: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunProgramRequest(RunRequest):
    """Options of `kiviat run -- PROGRAM`; `program`: the words after `--`."""

    module = "subcommands.run_program"
    program: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RunReplayRequest(RunRequest):
    """Options of `kiviat run --replay TRACE`."""

    module = "subcommands.run_replay"
    replay: str


@dataclass(frozen=True)
class ListRequest(Request):
    """Options of `kiviat list`; without `benchmarks` it lists all."""

    module = "commands.list"
    benchmarks: tuple[str, ...]
    format: TableFormat
    mpi: str | None


@dataclass(frozen=True)
class ShowRequest(Request):
    """Options of `kiviat show`; `run` may also be a profile or a trace."""

    module = "commands.show"
    run: str
    benchmarks: tuple[str, ...]
    percentiles: bool
    format: TableFormat


@dataclass(frozen=True)
class ReportRequest(Request):
    """Options of `kiviat report`; `runs` may also be a profile or a trace of times."""

    module = "commands.report"
    runs: tuple[str, ...]
    output: str


@dataclass(frozen=True)
class BalanceRequest(Request):
    """Options of `kiviat balance`; `with_systems` is None without --with."""

    module = "commands.balance"
    runs: tuple[str, ...]
    output: str
    with_systems: tuple[str, ...] | None
    small: RuleChoice
    few_nodes: RuleChoice
    format: TableFormat


@dataclass(frozen=True)
class ScalingRequest(Request):
    """Options of `kiviat scaling`; `at` are the numbers of ranks to extrapolate to."""

    module = "commands.scaling"
    runs: tuple[str, ...]
    benchmark: tuple[str, ...]
    metric: str | None
    kind: Literal["strong", "weak"] | None
    at: str | None
    output: str | None
    format: TableFormat


@dataclass(frozen=True)
class CompareRequest(Request):
    """Options of `kiviat compare`; `threshold` is in percent."""

    module = "commands.compare"
    a: str
    b: str
    metric: str | None
    threshold: float | None
    format: TableFormat


@dataclass(frozen=True)
class RunsRequest(Request):
    """Options of `kiviat runs`."""

    module = "commands.runs"
    format: TableFormat


@dataclass(frozen=True)
class ExportRequest(Request):
    """Options of `kiviat export`; `run` may also be a trace of times.

    Without `format` the suffix of `output` decides.
    """

    module = "commands.export"
    run: str
    output: str | None
    format: Literal["csv", "json", "parquet", "openmetrics"] | None
    what: Literal["summaries", "metrics", "samples"]


@dataclass(frozen=True)
class SqlRequest(Request):
    """Options of `kiviat sql`; `run` is None for all runs."""

    module = "commands.sql"
    query: str
    run: tuple[str, ...] | None
    unsafe: bool
    format: TableFormat


@dataclass(frozen=True)
class IngestRequest(Request):
    """Options of `kiviat ingest`; `ranks` is used for files that do not contain their number."""

    module = "commands.ingest"
    files: tuple[str, ...]
    ranks: int | None
    machine: str | None
    output: str | None
    depth: int | None
    each: bool
    dry_run: bool
    details: bool
    format: str


@dataclass(frozen=True)
class ClusterUpRequest(Request):
    """Options of `kiviat cluster up`; without `name` the cluster gets a new one."""

    module = "commands.cluster"
    spec: str
    name: str | None


@dataclass(frozen=True)
class ClusterStatusRequest(Request):
    """Options of `kiviat cluster status`."""

    module = "commands.cluster"
    format: TableFormat


@dataclass(frozen=True)
class ClusterDownRequest(Request):
    """Options of `kiviat cluster down`; `name` may be left out if one cluster is kept."""

    module = "commands.cluster"
    name: str | None


@dataclass(frozen=True)
class ClusterCeilingRequest(Request):
    """Options of `kiviat cluster ceiling`."""

    module = "commands.cluster"
    format: TableFormat


@dataclass(frozen=True)
class ModelFitRequest(Request):
    """Options of `kiviat model fit`. Rates are texts such as "12.5 GB/s".

    `published` is the machine to fit to published rows, or those of the file `rows`; `free` are its numbers.
    """

    module = "commands.model"
    runs: tuple[str, ...]
    published: str | None
    rows: str | None
    free: tuple[str, ...]
    output: str
    nodes: int | None
    link: str | None
    flops: str | None
    core_memory_bandwidth: str | None
    memory_bandwidth: str | None
    format: TableFormat


@dataclass(frozen=True)
class ModelPredictRequest(Request):
    """Options of `kiviat model predict`; `run` was measured, not simulated."""

    module = "subcommands.model_predict"
    machine: str
    run: str
    format: TableFormat


@dataclass(frozen=True)
class ModelCheckRequest(Request):
    """Options of `kiviat model check`."""

    module = "subcommands.model_rows"
    machine: str
    format: TableFormat


@dataclass(frozen=True)
class ModelValidateRequest(Request):
    """Options of `kiviat model validate`; without `machines` it validates all.

    `rows` is a file of measured values that replace the published ones, `set` are changes of the machines,
    `free` the numbers that `leave_one_run_out` fits anew.
    """

    module = "subcommands.model_rows"
    machines: tuple[str, ...]
    rows: str | None
    set: tuple[str, ...]
    leave_one_run_out: bool
    free: tuple[str, ...]
    sensitivity: bool
    write: bool
    format: TableFormat


@dataclass(frozen=True)
class ModelListRequest(Request):
    """Options of `kiviat model list`."""

    module = "subcommands.model_machines"
    format: TableFormat


@dataclass(frozen=True)
class ModelShowRequest(Request):
    """Options of `kiviat model show`; `output`: file for a picture of the network, as SVG."""

    module = "subcommands.model_machines"
    machine: str
    output: str | None
    format: TableFormat


@dataclass(frozen=True)
class CcRequest(Request):
    """Options of `kiviat cc`; `words` are arguments of the compiler."""

    module = "commands.cc"
    words: tuple[str, ...]


@dataclass(frozen=True)
class ProfileRequest(Request):
    """Options of `kiviat profile`; `program`: the words after `--`."""

    module = "commands.profile"
    what: PlanOptions
    where: Where
    output: str | None
    mpi: str | None
    state: str | None
    compute: float | None
    mpi_traffic: bool
    wait_states: bool
    counters: bool
    dry_run: bool
    program: tuple[str, ...]


@dataclass(frozen=True)
class TraceRequest(Request):
    """Options of `kiviat trace`; `program`: the words after `--`."""

    module = "commands.trace"
    where: Where
    output: str | None
    mpi: str | None
    state: str | None
    times: bool
    dry_run: bool
    program: tuple[str, ...]


@dataclass(frozen=True)
class PlaceRequest(Request):
    """Options of `kiviat place`; `program`: the words after `--`."""

    module = "commands.place"
    profile: str
    case: str | None
    nodes: str | None
    machine: str | None
    hosts: str | None
    bind: Literal["core"] | None
    objective: Literal["bytes", "max-link", "hop-bytes"]
    compare_with: tuple[str, ...]
    no_scotch: bool
    output: str | None
    emit: str | None
    format: TableFormat
    verify: bool
    on: str | None
    repeat: int
    timeout: float | None
    mpi: str | None
    program: tuple[str, ...]


@dataclass(frozen=True)
class WhatIfRequest(Request):
    """Options of `kiviat what-if`; `set`: changes of the machine."""

    module = "commands.what_if"
    machine: str
    benchmarks: tuple[str, ...]
    replay: str | None
    speed: float | None
    set: tuple[str, ...]
    ranks: str | None
    sizes: str | None
    where: Where
    format: TableFormat


@dataclass(frozen=True)
class StudyRequest(Request):
    """Options of `kiviat study`.

    `name` is "list", a study or its file; `ranks` a number or a shape such as "64x8"; `with_runs` are runs
    that exist.
    """

    module = "commands.study"
    name: str
    on: tuple[str, ...]
    ranks: str | None
    with_runs: tuple[str, ...]
    problem_class: str | None
    quick: bool
    write: bool
    output: str | None
    mpi: str | None
    dry_run: bool
    format: TableFormat


@dataclass(frozen=True)
class PublishedRequest(Request):
    """Options of `kiviat published`; without `words`, the publications are listed."""

    module = "commands.published"
    words: tuple[str, ...]
    all: bool
    format: TableFormat


@dataclass(frozen=True)
class NewRequest(Request):
    """Options of `kiviat new`."""

    module = "commands.new"
    kind: Literal["benchmark", "machine", "plan"]
    name: str


@dataclass(frozen=True)
class HostRequest(Request):
    """Options of `kiviat host`."""

    module = "commands.host"
    format: TableFormat


@dataclass(frozen=True)
class CompletionRequest(Request):
    """Options of `kiviat completion`."""

    module = "commands.completion"
    shell: Literal["bash", "zsh", "fish"]


# Request by the command's name and that of its action.
REQUESTS: Mapping[str, type[Request]] = {
    "run": RunRequest,
    "list": ListRequest,
    "show": ShowRequest,
    "report": ReportRequest,
    "balance": BalanceRequest,
    "scaling": ScalingRequest,
    "compare": CompareRequest,
    "runs": RunsRequest,
    "export": ExportRequest,
    "sql": SqlRequest,
    "ingest": IngestRequest,
    "cluster up": ClusterUpRequest,
    "cluster status": ClusterStatusRequest,
    "cluster down": ClusterDownRequest,
    "cluster ceiling": ClusterCeilingRequest,
    "model list": ModelListRequest,
    "model show": ModelShowRequest,
    "model fit": ModelFitRequest,
    "model predict": ModelPredictRequest,
    "model check": ModelCheckRequest,
    "model validate": ModelValidateRequest,
    "profile": ProfileRequest,
    "trace": TraceRequest,
    "place": PlaceRequest,
    "what-if": WhatIfRequest,
    "study": StudyRequest,
    "published": PublishedRequest,
    "new": NewRequest,
    "host": HostRequest,
    "completion": CompletionRequest,
}


def request_of(parsed: Namespace, program: tuple[str, ...] | None) -> Request:
    """Return the request of a parsed command line.

    `program`: the words after `--`, None if there is no `--`.
    """
    given = {**vars(parsed), "program": program or ()}
    kind = REQUESTS[" ".join(filter(None, (given["command"], given.get("action"))))]
    if kind is RunRequest and given["replay"] is not None:
        if program is not None:
            from kiviat.record.errors import InputError

            raise InputError("--replay and a program after -- exclude each other; give one of them")
        kind = RunReplayRequest
    elif kind is RunRequest and program is not None:
        kind = RunProgramRequest
    return _filled(kind, given)


def _filled(kind: type[_Part], given: Mapping[str, Any]) -> _Part:
    """Return a dataclass with the values of the same names, also in its parts; lists become tuples."""
    assert is_dataclass(kind)
    values: dict[str, Any] = {}
    for field in fields(kind):
        if isinstance(field.type, type) and is_dataclass(field.type):
            values[field.name] = _filled(field.type, given)
        elif field.name in given:
            value = given[field.name]
            values[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def is_given(value: object) -> bool:
    """Return whether an option was given: its value is not None, False or ()."""
    return value is not None and value is not False and value != ()


def option_of(field: str) -> str:
    """Return the option that sets a field of a request: "-n" for ranks, "--launches-max" for launches_max."""
    return _OPTIONS.get(field) or f"--{field.replace('_', '-')}"


_OPTIONS = {"ranks": "-n", "sizes": "-m", "iterations": "-i", "warmup": "-x", "problem_class": "--class"}
