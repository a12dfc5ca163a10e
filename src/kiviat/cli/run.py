"""`kiviat run`: plans, launches, keeps the records, and says what was found."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat.cli.program import described, program
from kiviat.cli.progress import Progress
from kiviat.cli.verdict import print_verdict
from kiviat.cli.words import duration
from kiviat.launch.cores import available_cores
from kiviat.launch.native import Options
from kiviat.launch.runner import Outcome, dry_run, run_plan
from kiviat.launch.toolchain import Toolchain
from kiviat.machine import describe_host
from kiviat.plan import Estimate, Overrides, Plan, estimate, expand_ranks, load_plan, reload_plan
from kiviat.plan.benchmark import RankRule
from kiviat.record import InputError
from kiviat.record.types import Scalar
from kiviat.store import RunDirectory, call_run, find_run, read_run, runs_home


def execute(arguments: Namespace) -> int:
    if arguments.resume:
        _refuse_other_options(arguments)
    toolchain, binary = program(arguments.mpi)
    known = described(binary)
    resumed = find_run(arguments.resume, _home(arguments)) if arguments.resume else None
    plan = _plan_of(resumed, known) if resumed else _plan(arguments, known)
    expected = estimate(plan)
    options = Options(launcher=arguments.launcher, bind=arguments.bind)
    if arguments.dry_run:
        _print_dry_run(plan, toolchain, binary, expected, options)
        return 0
    with _directory(arguments, plan, resumed) as directory:
        _announce(plan, toolchain, expected)
        outcome = _run(plan, toolchain, binary, directory, expected, options, arguments.timeout)
        directory.finish("complete" if outcome.signal is None else "interrupted")
    if outcome.signal is not None:
        print(
            f"kiviat: interrupted; {directory.path} keeps what is finished, "
            f"`kiviat run --resume {call_run(directory.path)}` goes on",
            file=sys.stderr,
        )
        return 128 + outcome.signal
    print_verdict(directory.path, Path(arguments.report) if arguments.report else None)
    return 1 if outcome.failed else 0


def _run(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path,
    directory: RunDirectory,
    expected: Estimate,
    options: Options,
    timeout_s: float | None,
) -> Outcome:
    # The plan knows one axis that the native program does not: the size of the launch.
    axes = {case.id: case.axes for case in plan.cases}
    with Progress(plan, expected.likely_s) as progress:
        return run_plan(
            plan,
            toolchain,
            binary,
            run_id=directory.id,
            directory=directory.path,
            done=directory.done,
            on_launch=directory.set_launch,
            on_record=lambda record: directory.append(replace(record, axes=axes[record.case])),
            on_progress=progress.show,
            options=options,
            timeout_s=timeout_s,
            first_launch=len(directory.run["launches"]),
        )


def _home(arguments: Namespace) -> Path:
    return Path(arguments.output) if arguments.output else runs_home()


def _directory(arguments: Namespace, plan: Plan, resumed: Path | None) -> RunDirectory:
    if resumed:
        return RunDirectory.reopen(resumed, plan.hash)
    about = {
        "name": plan.name,
        "hash": plan.hash,
        "definition": plan.definition,
        "cases": len(plan.cases),
    }
    return RunDirectory.create(
        _home(arguments), plan.name, machine=describe_host(arguments.machine), plan=about
    )


def _plan(arguments: Namespace, known: list[dict[str, Any]]) -> Plan:
    ranks = arguments.ranks
    several = ranks is not None and not ranks.isdecimal()
    available = max(expand_ranks(ranks, 1, RankRule(), "-n")) if ranks else max(2, available_cores())
    overrides = Overrides(
        benchmarks=arguments.benchmarks,
        bytes=arguments.sizes,
        ranks=ranks if several else None,
        launches=arguments.launches,
        seed=arguments.seed,
        controls=_controls(arguments),
        axes=_axes(arguments),
    )
    return load_plan(arguments.plan or "quick", known, available, overrides)


def _controls(arguments: Namespace) -> dict[str, Scalar]:
    given = {
        "mode": "pallas2" if arguments.pallas2 else "fixed" if arguments.iterations is not None else None,
        "sync": arguments.sync,
        "target": None if arguments.target is None else arguments.target / 100,
        "budget_s": arguments.budget,
        "iterations": arguments.iterations,
        "warmup": arguments.warmup,
    }
    return {name: value for name, value in given.items() if value is not None}


def _axes(arguments: Namespace) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for word in arguments.set:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InputError(
                f"--set {word!r} is not of the form AXIS=VALUE; `kiviat list BENCH` shows the axes"
            )
        axes[name] = value
    return axes | ({} if arguments.multi is None else {"group": arguments.multi})


def _plan_of(path: Path, known: list[dict[str, Any]]) -> Plan:
    run: Mapping[str, Any] = read_run(path)
    if run["plan"] is None:
        raise InputError(f"run {run['id']} was ingested; there is nothing to resume")
    return reload_plan(run["plan"]["definition"], known)


_ALONGSIDE_RESUME = {
    *("resume", "mpi", "report", "output", "dry_run", "module", "command"),
    *("launcher", "bind", "timeout"),
}


def _refuse_other_options(arguments: Namespace) -> None:
    """A run goes on with the plan it began with."""
    for name, value in vars(arguments).items():
        if name not in _ALONGSIDE_RESUME and value not in (None, False, []):
            raise InputError(f"--resume takes the plan from the run; leave {name} ({value!r}) out")


def _announce(plan: Plan, toolchain: Toolchain, expected: Estimate) -> None:
    print(
        f"plan {plan.name}: {len(plan.cases)} cases in {plan.launches} launches with {toolchain.name}, "
        f"about {duration(expected.likely_s)}, at most {duration(expected.at_most_s)}"
    )
    if toolchain.embedded:
        print("the MPI is that of a Python wheel: results are not for publication")
    for reason in plan.left_out:
        print(f"left out: {reason}")
    sys.stdout.flush()


def _print_dry_run(
    plan: Plan, toolchain: Toolchain, binary: Path, expected: Estimate, options: Options
) -> None:
    _announce(plan, toolchain, expected)
    print("\ncommands:")
    for command in dry_run(plan, toolchain, binary, options):
        print(" ", command)
    print("\ncases of the first repetition:")
    for case in plan.ordered(0):
        print(" ", case.line())
