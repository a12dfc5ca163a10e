"""`kiviat run`: plans, launches, keeps the records, and says what was found."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kiviat.cli.asked import asked_plan, mpi_of, plan_of, refuse_other_options
from kiviat.cli.program import described, program
from kiviat.cli.progress import Progress
from kiviat.cli.verdict import print_verdict
from kiviat.cli.words import counted, duration
from kiviat.launch.native import Options
from kiviat.launch.runner import Outcome, dry_run, run_plan
from kiviat.launch.toolchain import Toolchain
from kiviat.machine import describe_host
from kiviat.plan import Estimate, Plan, estimate
from kiviat.record import Record
from kiviat.record.types import Scalar
from kiviat.store import RunDirectory, call_run, find_run, runs_home


def execute(arguments: Namespace) -> int:
    resumed = None
    if arguments.resume:
        refuse_other_options(arguments)
        resumed = find_run(arguments.resume, _home(arguments))
    toolchain, binary = program(mpi_of(resumed, arguments.mpi) if resumed else arguments.mpi)
    known = described(binary)
    plan = plan_of(resumed, known) if resumed else asked_plan(arguments, known)
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
            on_record=lambda record: directory.append(_with_axes(record, axes[record.case])),
            on_progress=progress.show,
            options=options,
            timeout_s=timeout_s,
            first_launch=len(directory.run["launches"]),
        )


def _with_axes(record: Record, axes: Mapping[str, Scalar]) -> Record:
    return replace(record, axes={**record.axes, **axes})


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


def _announce(plan: Plan, toolchain: Toolchain, expected: Estimate) -> None:
    print(
        f"plan {plan.name}: {counted(len(plan.cases), 'case')} in {counted(plan.launches, 'launch')} "
        f"with {toolchain.name}, "
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
