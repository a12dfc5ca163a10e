"""`kiviat run`: plans, launches, keeps the records, and says what was found."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kiviat.cli.options.external_programs import Foreign, foreign
from kiviat.cli.options.native_program import built, described
from kiviat.cli.options.plan import asked_plan, named_plan, refuse_other_options
from kiviat.cli.options.preflight import refuse_beyond_memory
from kiviat.cli.options.run_directory import home_of, new_run
from kiviat.cli.options.simulated_program import refuse_options_of_programs
from kiviat.cli.options.substrate import (
    ask_once,
    declared_watts,
    mpi_on,
    options_of,
    scheduler_to_ask,
    settle_shape,
    substrate_of,
)
from kiviat.cli.subcommands.run_arrangements import run_arranged
from kiviat.cli.subcommands.run_job import SCRIPT_FILE, Job, request_of, script_of
from kiviat.cli.subcommands.run_job_note import own_job, take_over
from kiviat.cli.subcommands.run_resumed import go_on_there, mpi_of, plan_of, resume_command
from kiviat.cli.text.progress import Progress
from kiviat.cli.text.values import duration
from kiviat.cli.text.verdict import print_verdict
from kiviat.cli.visible import visible_cell
from kiviat.launch.mpi.build import program_path
from kiviat.launch.mpi.mpiexec import Options
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.process.signals import Interrupted
from kiviat.launch.programs.lammps import costed
from kiviat.launch.run.outcome import Outcome
from kiviat.launch.run.runner import dry_run, run_plan
from kiviat.launch.schedulers.scheduler import Scheduler
from kiviat.launch.substrates.scheduled import Scheduled
from kiviat.launch.substrates.substrate import Substrate
from kiviat.plan import Estimate, Plan, estimate, load_arrangements
from kiviat.record import InputError, Record
from kiviat.record.types import Scalar
from kiviat.record.units import counted
from kiviat.store import RunDirectory, call_run, find_run
from kiviat.store.read import load


def execute(arguments: Namespace) -> int:
    """Once, or as often as the plan has arrangements of its ranks."""
    refuse_options_of_programs(arguments)
    named = None if arguments.resume else named_plan(arguments)
    arrangements = load_arrangements(named) if named else ()
    if named and arrangements:
        return run_arranged(named, arrangements, arguments, substrate_of(arguments.on), _execute)
    return _execute(arguments)[0]


def _execute(arguments: Namespace) -> tuple[int, Path | None]:
    """The exit code, and the run's directory if there is one."""
    settle_shape(arguments)
    resumed = None
    if arguments.resume:
        refuse_other_options(arguments)
        resumed = find_run(arguments.resume, home_of(arguments))
        go_on_there(resumed, arguments)
    mpi = mpi_on(arguments.on, arguments.mpi)
    if resumed:
        mpi = mpi_of(resumed, mpi, lambda: foreign(arguments, resumed, None).lammps)
    others = foreign(arguments, resumed, mpi)
    toolchain, binary = _program(others, mpi, arguments.dry_run)
    known = others.described + (described(toolchain, binary) if binary else [])
    if scheduler := scheduler_to_ask(arguments.on):
        return _as_job(scheduler, arguments, toolchain, known, resumed)
    substrate, options = substrate_of(arguments.on), options_of(arguments)
    if resumed and substrate.scheduler:
        take_over(resumed, substrate.scheduler)
    if substrate.machine:
        ask_once(arguments)
    declared = declared_watts(arguments, substrate)
    # Of a run that goes on, the number of ranks is settled: a job need not know its nodes.
    plan = costed(
        plan_of(resumed, known) if resumed else asked_plan(arguments, known, substrate.default_ranks(options))
    )
    refuse_beyond_memory(plan, substrate)
    expected = estimate(plan)
    for world in plan.worlds():  # what cannot be placed is refused before anything starts
        substrate.start(
            toolchain, world, Path(), replace(options, oversubscribed=substrate.oversubscribes(world))
        )
    if arguments.dry_run:
        _print_dry_run(plan, toolchain, binary, expected, options, substrate, others)
        return 0, None
    with (
        substrate,
        _directory(arguments, plan, resumed, substrate, declared) as directory,
        _kept(directory, arguments),
    ):
        _announce(plan, toolchain, expected)
        outcome = _run(
            plan, toolchain, binary, directory, expected, options, arguments.timeout, substrate, others
        )
        if outcome.signal is not None:
            raise Interrupted(outcome.signal)
        directory.finish()
    with _kept(directory, arguments):
        print_verdict(directory.path, Path(arguments.report) if arguments.report else None)
    return (1 if outcome.failed else 0), directory.path


def _program(others: Foreign, mpi: str | None, dry: bool) -> tuple[Toolchain, Path | None]:
    """The MPI of the run, that of a program of others if one runs; and kiviat-bench if it has work, which a
    dry run does not build.
    """
    toolchain = others.lammps.toolchain if others.lammps else find_toolchain(mpi)
    if others.alone:
        return toolchain, None
    return toolchain, program_path(toolchain) if dry else built(toolchain)


def _as_job(
    scheduler: Scheduler,
    arguments: Namespace,
    toolchain: Toolchain,
    known: list[dict[str, Any]],
    resumed: Path | None,
) -> tuple[int, Path | None]:
    if not resumed and arguments.ranks is None:
        raise InputError(f"--on {scheduler.name} needs a number of ranks: give -n RANKS or -n NODESxRANKS")
    declared = declared_watts(arguments, Scheduled(scheduler))
    plan = costed(plan_of(resumed, known) if resumed else asked_plan(arguments, known, 2))
    expected = estimate(plan)
    draft = request_of(arguments, plan, expected, home_of(arguments).absolute() / "RUN")
    script = script_of(scheduler, draft, arguments)  # refused, if at all, before anything is made
    if arguments.dry_run:
        _announce(plan, toolchain, expected)
        print(f"\n{SCRIPT_FILE}:\n{script}")
        return 0, None
    scheduler.refuse_absent()
    if resumed is None:
        with _directory(arguments, plan, None, Scheduled(scheduler), declared) as directory:
            directory.finish("queued")
            resumed = directory.path
    request = request_of(arguments, plan, expected, resumed.absolute())
    script = script_of(scheduler, request, arguments)
    job = Job(scheduler, resumed.absolute(), script, resume_command(resumed, arguments))
    _announce(plan, toolchain, expected)
    signal = job.run()
    if signal is not None:
        raise Interrupted(signal, _resumable(resumed, arguments))
    print_verdict(resumed, Path(arguments.report) if arguments.report else None)
    return (1 if _any_failed(resumed) else 0), resumed


@contextmanager
def _kept(directory: RunDirectory, arguments: Namespace) -> Iterator[None]:
    """Says of an interruption what it leaves."""
    try:
        yield
    except Interrupted as interrupted:
        path, complete = directory.path, directory.run.state == "complete"
        shown = f"{path} is complete, `kiviat show {call_run(path)}` shows it"
        interrupted.kept = shown if complete else _resumable(path, arguments)
        raise


def _resumable(path: Path, arguments: Namespace) -> str:
    return f"{path} keeps what is finished, `{resume_command(path, arguments)}` goes on"


def _any_failed(path: Path) -> bool:
    return any(row.outcome == "failed" for row in load(path)[1])


def _run(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path | None,
    directory: RunDirectory,
    expected: Estimate,
    options: Options,
    timeout_s: float | None,
    substrate: Substrate,
    others: Foreign,
) -> Outcome:
    # The plan knows one axis that the native program does not: the size of the launch.
    axes = {case.id: case.axes for case in plan.cases}
    with Progress(plan, expected.likely_s) as progress:
        common: dict[str, Any] = {
            "run_id": directory.id,
            "directory": directory.path,
            "done": directory.done,
            "on_launch": directory.set_launch,
            "on_record": lambda record: directory.append(_with_axes(record, axes[record.case])),
            "on_progress": progress.show,
            "options": options,
            "timeout_s": timeout_s,
            "first_launch": len(directory.run.launches),
            "substrate": substrate,
        }
        return run_plan(plan, toolchain, binary, others=others.programs, **common)


def _with_axes(record: Record, axes: Mapping[str, Scalar]) -> Record:
    return replace(record, axes={**record.axes, **axes})


def _directory(
    arguments: Namespace,
    plan: Plan,
    resumed: Path | None,
    substrate: Substrate,
    declared: Mapping[str, Any] | None,
) -> RunDirectory:
    if resumed:
        job = own_job(substrate.scheduler) if substrate.scheduler else ""
        return RunDirectory.reopen(resumed, plan.hash, job)
    about = {
        "name": plan.name,
        "hash": plan.hash,
        "definition": plan.definition,
        "cases": len(plan.cases),
    }
    name = "-".join(filter(None, (plan.name, arguments.arrangement)))
    return new_run(arguments, name, substrate, plan=about, watts=declared)


def _announce(plan: Plan, toolchain: Toolchain, expected: Estimate) -> None:
    print(
        f"plan {visible_cell(plan.name)}: {counted(len(plan.cases), 'case')} in "
        f"{counted(plan.launches, 'launch')} with {toolchain.name}, "
        f"about {duration(expected.likely_s)}, at most {duration(expected.at_most_s)}"
    )
    summary, chosen = plan.definition.get("summary"), plan.definition["command_line"].get("benchmarks")
    if summary and not chosen:  # it speaks of all that the plan has
        print(summary)
    if toolchain.embedded:
        print("the MPI is that of a Python wheel: results are not for publication")
    for reason in plan.left_out:
        print(f"left out: {reason}")
    sys.stdout.flush()


def _print_dry_run(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path | None,
    expected: Estimate,
    options: Options,
    substrate: Substrate,
    others: Foreign,
) -> None:
    _announce(plan, toolchain, expected)
    print("\ncommands:")
    for command in dry_run(plan, toolchain, binary, options, substrate, others.programs):
        print(" ", command)
    print("\ncases of the first repetition:")
    for case in plan.ordered(0):
        print(" ", case.line())
