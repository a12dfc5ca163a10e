"""Executes a plan: one launch per repetition and `Case.launch`, more if launches fail.

run_plan(plan, toolchain, binary, *, run_id, directory, done, on_launch, on_record, …) -> RunResult

A plan with an `interval` goes on after its launches, with the cases whose ids `wanted` returns.

`binary` is kiviat-bench, None if no case needs it; `others` are the programs that cases name.

`on_launch` gets a launch's entry in `run.json`, once before its first record and once at its end, with the
same `index`. `on_record` gets each record when its case ends, and `sync` is called after those that one poll
of the events has found. All are called from this thread, between two polls. `done` contains the (repetition,
case) pairs finished by earlier sessions of the run; `first_launch` is the number of their launches.
`transport` is determined by a small separate launch unless it is given.

Each launch has a folder `launches/INDEX` in the run's directory, not a temporary one, because all nodes must
see it. Folders of successful launches are removed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from kiviat.launch.emulated.removal import clean_dead
from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain
from kiviat.launch.mpi.transport import UNKNOWN
from kiviat.launch.process.signals import Interrupts
from kiviat.launch.run.attempt import Attempt, AttemptResult, LaunchCallbacks
from kiviat.launch.run.outcome import Progress, RunResult
from kiviat.launch.run.program import KiviatBench, Program
from kiviat.launch.run.simulated_runner import simulate_plan
from kiviat.launch.run.transport_probe import probe
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.substrate import Native, Substrate
from kiviat.plan.case import Case
from kiviat.plan.plan import Plan
from kiviat.record import InputError, Record

_MAX_DEATHS = 3
_MAX_BARREN = 3  # consecutive launches in which no case began
_LEAST_ROOM_BYTES = 64 * 1024


def run_plan(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path | None,
    *,
    run_id: str,
    directory: Path,
    done: Collection[tuple[int, str]],
    on_launch: Callable[[dict[str, Any]], None],
    on_record: Callable[[Record], None],
    sync: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    wanted: Callable[[], Collection[str]] = lambda: (),
    options: LauncherOptions | None = None,
    transport: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    first_launch: int = 0,
    substrate: Substrate | None = None,
    others: Mapping[str, Program] | None = None,
) -> RunResult:
    """Run the cases that are not `done`; return when all are complete or the run is interrupted.

    `timeout_s`: time limit of a case in seconds; by default it follows from the case's budget. Raise
    InputError if the run cannot continue.
    """
    options, substrate = options or LauncherOptions(), substrate or Native()
    if substrate.machine and binary:
        with _resumable(directory):
            return simulate_plan(
                plan,
                toolchain,
                binary,
                run_id=run_id,
                directory=directory,
                done=done,
                on_launch=on_launch,
                on_record=on_record,
                sync=sync,
                on_progress=on_progress,
                options=options,
                timeout_s=timeout_s,
                first_launch=first_launch,
                substrate=substrate,
            )
    run = _Run(
        plan=plan,
        toolchain=toolchain,
        binary=binary.absolute() if binary else None,
        programs=_programs(binary, others),
        run_id=run_id,
        folder=directory.absolute() / "launches",
        on_launch=on_launch,
        on_record=on_record,
        sync=sync,
        on_progress=on_progress,
        wanted=wanted,
        options=options,
        transport=transport,
        timeout_s=timeout_s,
        next_launch=first_launch,
        substrate=substrate,
    )
    with _resumable(directory):
        return run.execute(done)


@contextmanager
def _resumable(directory: Path) -> Iterator[None]:
    """Add to errors of files how the run continues."""
    try:
        yield
    except OSError as error:
        where = error.filename or directory
        raise InputError(f"cannot write {where}: {error.strerror}; {_how_to_resume(directory)}") from error


def _how_to_resume(directory: Path) -> str:
    return f"finished results are kept, and `kiviat run --resume {directory.absolute()}` continues from there"


def dry_run(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path | None,
    options: LauncherOptions | None = None,
    substrate: Substrate | None = None,
    others: Mapping[str, Program] | None = None,
) -> list[str]:
    """Return the commands that a run of the plan executes, as shell commands."""
    options, substrate = options or LauncherOptions(), substrate or Native()
    programs = _programs(binary, others)
    launches = list(_launches(plan, ()))
    lines = []
    if binary and (world := substrate.ranks_to_probe(_largest(launches))) > 1:
        folder = Path("launches") / "probe"
        asked = _settled(replace(options, probe=True), world, substrate)
        start = substrate.start(toolchain, world, folder, asked)
        lines.append(start.of(mpiexec.program(binary, folder)).shell_line())
    for index, (_, cases) in enumerate(launches):
        folder, program = Path("launches") / str(index), programs[cases[0].program]
        world = cases[0].world
        start = substrate.start(toolchain, world, folder, _settled(options, world, substrate, program))
        lines.append(start.of(program.words(folder, cases)).shell_line())
    return lines


_Launch = tuple[int, list[Case]]  # repetition, and cases of one `Case.launch`


def _programs(binary: Path | None, others: Mapping[str, Program] | None) -> dict[str, Program]:
    """Return the programs by the name that cases use; "" is kiviat-bench."""
    own: dict[str, Program] = {"": KiviatBench(binary.absolute())} if binary else {}
    return own | dict(others or {})


def _largest(launches: Sequence[_Launch]) -> int:
    """Return the ranks of the largest launch of kiviat-bench; 0 without one."""
    return max((cases[0].world for _, cases in launches if not cases[0].program), default=0)


def _launches(plan: Plan, done: Collection[tuple[int, str]]) -> Iterator[_Launch]:
    """Yield the launches that all cases have, in the order of execution."""
    for repetition in range(plan.launches):
        yield from _repetition(plan, repetition, done)


def _repetition(
    plan: Plan, number: int, done: Collection[tuple[int, str]], wanted: Collection[str] | None = None
) -> Iterator[_Launch]:
    """Yield the launches of a repetition, with the `wanted` cases only if given."""
    todo = [
        case
        for case in plan.ordered(number)
        if (number, case.id) not in done and (wanted is None or case.id in wanted)
    ]
    for _, cases in groupby(todo, key=lambda case: case.launch):
        yield number, list(cases)


def _settled(
    options: LauncherOptions, world: int, substrate: Substrate, program: Program | None = None
) -> LauncherOptions:
    needed = program.environment if program else {}
    return replace(
        options,
        oversubscribed=options.oversubscribed or substrate.oversubscribes(world),
        environment={**needed, **options.environment},
    )


@dataclass
class _Run:
    plan: Plan
    toolchain: Toolchain
    binary: Path | None
    programs: Mapping[str, Program]
    run_id: str
    folder: Path
    on_launch: Callable[[dict[str, Any]], None]
    on_record: Callable[[Record], None]
    sync: Callable[[], None]
    on_progress: Callable[[Progress], None]
    wanted: Callable[[], Collection[str]]
    options: LauncherOptions
    transport: Mapping[str, Any] | None
    timeout_s: float | None
    next_launch: int
    substrate: Substrate
    launches: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    before: int = 0
    further: int = 0  # results of further launches, beyond those that all cases have
    repetition: int = 0
    world: int = 0

    @property
    def total(self) -> int:
        return self.plan.launches * len(self.plan.cases) + self.further

    def execute(self, done: Collection[tuple[int, str]]) -> RunResult:
        launches = list(_launches(self.plan, done))
        self.before = self.total - sum(len(cases) for _, cases in launches)
        for line in clean_dead():
            self._tell("cleaned", None, line)
        with Interrupts() as interrupts:
            if self.transport is None and self.binary and (largest := _largest(launches)):
                self.transport = self._probe(self.binary, largest, interrupts)
            self._launch_all(launches, interrupts)
            for number in range(self.plan.launches, self.plan.launches_max or 0):
                if interrupts.signal is None and (wanted := self.wanted()):
                    launches = list(_repetition(self.plan, number, done, wanted))
                    self.further += sum(len(cases) for _, cases in launches)
                    self._launch_all(launches, interrupts)
        return RunResult(
            signal=interrupts.signal,
            launches=self.launches,
            records=self.outcomes.total(),
            failed=self.outcomes["failed"],
            skipped=self.outcomes["skipped"],
        )

    def _launch_all(self, launches: list[_Launch], interrupts: Interrupts) -> None:
        for self.repetition, cases in launches:
            self.world = cases[0].world
            if interrupts.signal is None:
                self._launch(cases, interrupts)

    def _probe(self, binary: Path, largest: int, interrupts: Interrupts) -> Mapping[str, Any]:
        world = self.substrate.ranks_to_probe(largest)
        folder = self.folder / "probe"
        options = replace(_settled(self.options, world, self.substrate), probe=True)
        start = self.substrate.start(self.toolchain, world, folder, options)
        return probe(start, binary, interrupts)

    def _launch(self, cases: list[Case], interrupts: Interrupts) -> None:
        """Launch until every case has a record or retries are exhausted."""
        deaths: Counter[str] = Counter()
        barren = 0
        while cases and interrupts.signal is None:
            self._refuse_full_disk()
            program = self.programs[cases[0].program]
            callbacks = LaunchCallbacks(self.on_launch, self._record, self._start, self.sync)
            attempt = Attempt(self._spec(program, cases), program, cases, callbacks)
            self._tell("launch", None)
            ended = attempt.run(interrupts)
            if ended.reason is None:
                return
            self._tell("death", ended.current.id if ended.current else None, ended.reason)
            barren = barren + 1 if len(ended.left) == len(cases) else 0
            if ended.current:
                deaths[ended.current.benchmark] += 1
            given_up = _given_up(ended, deaths, barren)
            attempt.give_up(given_up, f"not tried again: {ended.reason}")
            cases = [case for case in ended.left if case not in given_up]

    def _spec(self, program: Program, cases: Sequence[Case]) -> LaunchSpec:
        folder = self.folder / str(self.next_launch)
        options = _settled(self.options, self.world, self.substrate, program)
        start = self.substrate.start(self.toolchain, self.world, folder, options)
        spec = replace(
            start.of(program.words(folder, cases)),
            timeout_s=self.timeout_s,
            run=self.run_id,
            plan=self.plan.hash,
            index=self.next_launch,
            repetition=self.repetition,
            user_environment=mpiexec.that_matter(os.environ),
            transport=self.transport or UNKNOWN,
        )
        self.next_launch += 1
        self.launches += 1
        return spec

    def _refuse_full_disk(self) -> None:
        """Raise an error if the disk is full, because each further launch would fail without a message."""
        self.folder.mkdir(exist_ok=True)  # does not create the parent, a run's directory that vanished
        room = os.statvfs(self.folder)
        if room.f_bavail * room.f_frsize < _LEAST_ROOM_BYTES:
            raise InputError(
                f"the disk of {self.folder.parent} is full; {_how_to_resume(self.folder.parent)}"
            )

    def _record(self, record: Record) -> None:
        if record.phase == "launch":
            self._refuse_full_disk()
        self.on_record(record)
        self.outcomes[record.outcome] += 1
        self._tell("record", record.case, record.outcome)

    def _start(self, case: Case) -> None:
        self._tell("case", case.id)

    def _tell(self, kind: str, case: str | None, text: str | None = None) -> None:
        finished = self.before + self.outcomes.total()
        self.on_progress(Progress(kind, self.repetition, self.world, case, finished, self.total, text))


def _given_up(ended: AttemptResult, deaths: Counter[str], barren: int) -> list[Case]:
    """Return the cases whose retries are exhausted."""
    if barren >= _MAX_BARREN:
        return ended.left
    return [case for case in ended.left if deaths[case.benchmark] >= _MAX_DEATHS]
