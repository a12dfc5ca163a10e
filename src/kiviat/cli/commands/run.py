"""`kiviat run`: executes a plan, writes its records, and prints the findings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kiviat.analysis.further_launches import FurtherLaunches
from kiviat.analysis.statistics.intervals import MIN_LAUNCHES
from kiviat.cli.options.external_programs import Foreign, foreign, with_plan_of_lammps
from kiviat.cli.options.native_program import built, described
from kiviat.cli.options.plan import asked_once, asked_plan, named_plan, refuse_other_options
from kiviat.cli.options.preflight import refuse_beyond_memory
from kiviat.cli.options.request import RunRequest
from kiviat.cli.options.run_directory import home_of, new_run
from kiviat.cli.options.simulated_program import refuse_options_of_programs
from kiviat.cli.options.substrate import (
    declared_watts,
    mpi_on,
    options_of,
    refuse_missing_nodes,
    scheduler_to_ask,
    settled_shape,
    substrate_of,
)
from kiviat.cli.subcommands.run_arrangements import run_arranged, run_shapes, shapes_of
from kiviat.cli.subcommands.run_job import SCRIPT_FILE, Job, job_of
from kiviat.cli.subcommands.run_job_note import own_job, take_over
from kiviat.cli.subcommands.run_resumed import (
    mpi_of,
    plan_of,
    refuse_other_links,
    resume_command,
    where_it_began,
)
from kiviat.cli.text.progress import Progress
from kiviat.cli.text.values import duration
from kiviat.cli.text.verdict import print_verdict
from kiviat.cli.visible import visible_cell
from kiviat.launch.mpi.build import product_for, program_path
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.process.signals import Interrupted
from kiviat.launch.programs.lammps import costed
from kiviat.launch.run.activity import busy_now
from kiviat.launch.run.outcome import RunResult
from kiviat.launch.run.runner import dry_run, run_plan
from kiviat.launch.schedulers.scheduler import Scheduler, render
from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine.host.activity import Usage
from kiviat.plan import Estimate, Plan, estimate, load_arrangements
from kiviat.record import InputError, NotStartedError, Record, before_start
from kiviat.record.units import counted, listed
from kiviat.store import RunDirectory, call_run, find_run
from kiviat.store.read import any_failed, load


@dataclass(frozen=True)
class _Programs:
    """The programs and the MPI of a run.

    `binary` is kiviat-bench, or the basic one if that suffices, None if no case needs it; `known` are the
    descriptions of the benchmarks.
    """

    toolchain: Toolchain
    binary: Path | None
    others: Foreign
    known: list[dict[str, Any]]


@dataclass(frozen=True)
class _Planned:
    """A run before anything is started or written.

    `resumed`: directory of a run to continue; `watts`: power declared for a new run, as in run.json.
    """

    request: RunRequest
    resumed: Path | None
    programs: _Programs
    substrate: Substrate
    plan: Plan
    expected: Estimate
    watts: Mapping[str, Any] | None


def execute(request: RunRequest) -> int:
    """Run the plan once, or once for each arrangement of it or of `-n`; return the exit code."""
    refuse_options_of_programs(request.compute, request.speed)
    named = None if request.resume else named_plan(request.what)
    arrangements = load_arrangements(named) if named else ()
    if named and arrangements:
        return run_arranged(named, arrangements, request, substrate_of(request.where.on), run_once)
    if shapes := shapes_of(request):
        return run_shapes(shapes, request, substrate_of(request.where.on), run_once)
    return run_once(request)[0]


def run_once(request: RunRequest) -> tuple[int, Path | None]:
    """Return the exit code, and the run's directory if there is one.

    Each step uses the result of the previous one: the substrate determines the MPI, its programs determine
    the benchmarks, and these determine the plan. Only then is anything built, started or written; what is
    refused until then raises NotStartedError.
    """
    before = Usage.now()
    with before_start():
        asked = request.what.ranks
        request, resumed = _settled(request)
        substrate = substrate_of(request.where.on)  # refused, if at all, before anything is built
        if resumed:
            refuse_other_links(resumed, substrate)
        refuse_missing_nodes(asked, substrate)
        programs = _programs(request, resumed)
        scheduler = scheduler_to_ask(request.where.on)
        if scheduler and not resumed and request.what.ranks is None:
            raise InputError(
                f"--on {scheduler.name} needs a number of ranks: give -n RANKS or -n NODESxRANKS"
            )
        if scheduler and not scheduler.hosts and (request.where.place or request.where.bind):
            raise InputError(
                f"--place and --bind need the nodes of the job, which {scheduler.title} does not list; leave "
                "them out (-n NODESxRANKS works), or place ranks by --launcher"
            )
        planned = _planned(request, resumed, programs, substrate)
        if not scheduler:
            _refuse_unplaceable(planned)
    if scheduler:
        return _submitted(scheduler, planned)
    if request.dry_run:
        _print_dry_run(planned)
        return 0, None
    return _launched(planned, before)


def _settled(request: RunRequest) -> tuple[RunRequest, Path | None]:
    """Return the request with derived values filled in, and the directory of the run to continue, if any."""
    if request.resume:
        refuse_other_options(request)
    ranks, where = settled_shape(request.what.ranks, request.where)
    request = replace(request, what=with_plan_of_lammps(replace(request.what, ranks=ranks)), where=where)
    if not request.resume:
        return request, None
    resumed = find_run(request.resume, home_of(request.output))
    return replace(request, where=where_it_began(resumed, request.where)), resumed


def _programs(request: RunRequest, resumed: Path | None) -> _Programs:
    """Find the MPI and the programs, and describe the benchmarks; kiviat-bench need not be built yet.

    If an external program runs, its MPI is used.
    """
    mpi = mpi_on(request.where.on, request.mpi)
    if resumed:
        mpi = mpi_of(resumed, mpi, lambda: foreign(request, resumed, None).lammps)
    others = foreign(request, resumed, mpi)
    toolchain = others.lammps.toolchain if others.lammps else find_toolchain(mpi)
    if others.alone:
        return _Programs(toolchain, None, others, others.described)
    binary = program_path(toolchain)
    return _Programs(toolchain, binary, others, others.described + described(toolchain, binary))


def _build(programs: _Programs) -> None:
    """Build kiviat-bench if a case needs it and it is not built."""
    if programs.binary:
        built(programs.toolchain, programs.binary.name)


def _sufficing(programs: _Programs, plan: Plan) -> _Programs:
    """Return the programs with the kiviat-bench that has the benchmarks of the plan and builds soonest."""
    if not programs.binary:
        return programs
    folders = {entry["name"]: entry["file"].partition("/")[0] for entry in programs.known if "file" in entry}
    needed = {folders[case.benchmark] for case in plan.cases if not case.program}
    product = product_for(programs.toolchain, needed)
    return replace(programs, binary=program_path(programs.toolchain, product=product))


def _planned(
    request: RunRequest, resumed: Path | None, programs: _Programs, substrate: Substrate
) -> _Planned:
    """Return the plan of the run to continue, else the plan that the command line requests."""
    if resumed:
        plan, watts = plan_of(resumed, programs.known), None
    else:
        what, watts = request.what, declared_watts(request.what.watts, substrate)
        if substrate.machine and what.pages:
            raise InputError(f"--pages {what.pages}: a simulated machine has no pages; leave it out")
        if substrate.machine and what.interval:
            raise InputError(
                f"--interval {what.interval:g}: simulated times are the same in every launch; leave it out"
            )
        if substrate.machine:
            what = asked_once(what)
        if watts:
            what = replace(what, watts=watts.control)
        # A job's number of ranks must be known before its nodes are, so that these cannot be counted.
        submitted = scheduler_to_ask(request.where.on) is not None
        ranks = 2 if submitted else substrate.default_ranks(options_of(request.where))
        plan = asked_plan(what, programs.known, ranks)
    plan = costed(plan)
    programs = _sufficing(programs, plan)
    expected = estimate(plan, substrate.link)
    return _Planned(request, resumed, programs, substrate, plan, expected, watts.entry if watts else None)


def _refuse_unplaceable(planned: _Planned) -> None:
    """Raise InputError for anything that does not fit, before anything starts."""
    substrate, toolchain = planned.substrate, planned.programs.toolchain
    refuse_beyond_memory(planned.plan, substrate)
    options = options_of(planned.request.where)
    for world in planned.plan.worlds():
        substrate.start(
            toolchain, world, Path(), replace(options, oversubscribed=substrate.oversubscribes(world))
        )


def _launched(planned: _Planned, before: Usage) -> tuple[int, Path | None]:
    request = planned.request
    _build(planned.programs)
    with planned.substrate, _directory(planned) as directory, _kept(directory, request):
        _announce(planned)
        _warn_if_busy(planned.substrate, before)
        outcome = _run(planned, directory)
        if outcome.signal is not None:
            raise Interrupted(outcome.signal)
        directory.finish()
    with _kept(directory, request):
        _print_verdict(directory.path, request)
    return (1 if outcome.failed else 0), directory.path


def _warn_if_busy(substrate: Substrate, before: Usage) -> None:
    """Say that other programs use this machine, if they do; `before` was read when the command began."""
    if substrate.machine is None and (why := busy_now(before)):
        print(
            f"kiviat: this machine is busy: {why} before the run; results that are disturbed get no verdict, "
            "so stop what else runs, or measure later",
            file=sys.stderr,
            flush=True,
        )


def _submitted(scheduler: Scheduler, planned: _Planned) -> tuple[int, Path | None]:
    """Submit a job of the scheduler, which resumes this run, and watch it."""
    request, resumed = planned.request, planned.resumed

    def script(folder: Path) -> str:
        job = job_of(request, planned.plan, planned.expected, folder.absolute())
        return render(scheduler, job, Path(request.script) if request.script else None)

    draft = script(home_of(request.output) / "RUN")  # errors must be raised before anything is created
    if request.dry_run:
        _announce(planned)
        print(f"\n{SCRIPT_FILE}:\n{draft}")
        return 0, None
    scheduler.refuse_absent()
    _build(planned.programs)
    if resumed is None:
        with _directory(planned) as directory:
            directory.finish("queued")
            resumed = directory.path
    job = Job(scheduler, resumed.absolute(), script(resumed), resume_command(resumed, request))
    _announce(planned)
    try:
        signal = job.run()
    except NotStartedError:
        with RunDirectory.reopen(resumed, planned.plan.hash) as directory:
            directory.finish("interrupted")
        raise
    if signal is not None:
        raise Interrupted(signal, _resumable(resumed, request))
    _print_verdict(resumed, request)
    return int(any_failed(resumed)), resumed


@contextmanager
def _kept(directory: RunDirectory, request: RunRequest) -> Iterator[None]:
    """Add to an interruption what is kept of the run."""
    try:
        yield
    except Interrupted as interrupted:
        path, complete = directory.path, directory.run.state == "complete"
        shown = f"{path} is complete, `kiviat show {call_run(path)}` shows it"
        interrupted.kept = shown if complete else _resumable(path, request)
        raise


def _resumable(path: Path, request: RunRequest) -> str:
    return f"{path} keeps what is finished, `{resume_command(path, request)}` goes on"


def _print_verdict(path: Path, request: RunRequest) -> None:
    print_verdict(path, Path(request.report) if request.report else None, request.verbosity == "quiet")


def _run(planned: _Planned, directory: RunDirectory) -> RunResult:
    plan, programs, substrate = planned.plan, planned.programs, planned.substrate
    further = FurtherLaunches(plan.interval) if plan.interval is not None else None
    if further and planned.resumed:
        further.add_rows(load(directory.path)[1])
    request = planned.request
    shown = "normal" if request.progress and request.verbosity == "quiet" else request.verbosity
    with Progress(plan, planned.expected.likely_s, shown) as progress:

        def note(launch: dict[str, Any]) -> None:
            directory.set_launch(launch)
            progress.show_command(launch)

        def keep(record: Record) -> None:
            directory.append(record)
            if further:
                further.add(record)

        return run_plan(
            plan,
            programs.toolchain,
            programs.binary,
            run_id=directory.id,
            directory=directory.path,
            done=directory.done,
            on_launch=note,
            on_record=keep,
            sync=directory.sync,
            on_progress=progress.show,
            wanted=further.wanted if further else lambda: (),
            options=options_of(planned.request.where),
            timeout_s=planned.request.timeout,
            first_launch=len(directory.run.launches),
            substrate=substrate,
            others=programs.others.programs,
        )


def _directory(planned: _Planned) -> RunDirectory:
    plan, substrate = planned.plan, planned.substrate
    if planned.resumed:
        job = ""
        if substrate.scheduler:
            take_over(planned.resumed, substrate.scheduler)
            job = own_job(substrate.scheduler)
        return RunDirectory.reopen(planned.resumed, plan.hash, job)
    about = {
        "name": plan.name,
        "hash": plan.hash,
        "definition": plan.definition,
        "cases": len(plan.cases),
    }
    name = "-".join(filter(None, (plan.name, planned.request.arrangement)))
    return new_run(
        planned.request, name, substrate, plan=about, watts=planned.watts, benchmarks=plan.benchmarks
    )


def _announce(planned: _Planned) -> None:
    if planned.request.verbosity == "quiet":
        return
    plan, toolchain, expected = planned.plan, planned.programs.toolchain, planned.expected
    more = "" if plan.launches_max is None else f", at most {plan.launches_max} of a case,"
    words = (
        f"plan {visible_cell(plan.name)}: {counted(len(plan.cases), 'case')} on {_ranks_of(plan)} in "
        f"{counted(plan.launches, 'launch')}{more} with {toolchain.name}"
    )
    # The duration of a simulation does not follow from the time that it simulates.
    if planned.substrate.machine is None:
        words += f", about {duration(expected.likely_s)}, at most {duration(expected.at_most_s)}"
    print(words)
    summary, chosen = plan.definition.get("summary"), plan.definition["command_line"].get("benchmarks")
    if summary and not chosen:  # the summary describes the whole plan
        print(summary)
    most = plan.launches_max or plan.launches
    if planned.substrate.machine is None and most < MIN_LAUNCHES:
        print(
            f"too few launches for intervals and for verdicts of `kiviat compare`: {plan.launches}, of "
            f"{MIN_LAUNCHES} needed (--launches {MIN_LAUNCHES})"
        )
    if toolchain.embedded:
        print("the MPI is that of a Python wheel: results are not for publication")
    for reason in plan.left_out:
        print(f"left out: {reason}")
    sys.stdout.flush()


def _ranks_of(plan: Plan) -> str:
    """Return the numbers of ranks of the cases, such as "2 and 4 ranks", which may be fewer than -n gives."""
    numbers = sorted({case.ranks for case in plan.cases})
    if len(numbers) == 1:
        return counted(numbers[0], "rank")
    words = listed([*map(str, numbers)]) if len(numbers) < 5 else f"{numbers[0]} to {numbers[-1]}"
    return f"{words} ranks"


def _print_dry_run(planned: _Planned) -> None:
    plan, programs = planned.plan, planned.programs
    options = options_of(planned.request.where)
    _announce(planned)
    print("\ncommands:")
    for command in dry_run(
        plan, programs.toolchain, programs.binary, options, planned.substrate, programs.others.programs
    ):
        print(" ", command)
    print("\ncases of the first repetition:")
    for case in plan.ordered(0):
        print(" ", case.line())
