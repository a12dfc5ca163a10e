"""Executes a plan: one launch per repetition and number of ranks, more where a launch dies.

    run_plan(plan, toolchain, binary, *, run_id, directory, done, on_launch, on_record, …) -> Outcome

`on_launch` gets a launch as `run.json` holds it, once before its first record and once at its end; the
`index` is the same. `on_record` gets each record as its case ends. Both are called from this thread,
between two looks at the events, and may take the time to sync. `done` holds what earlier sessions of the
run have finished, as (repetition, case); `first_launch` is the number of launches they made. `transport`
is found by a small launch of its own unless it is given.

Each launch has a folder `launches/INDEX` in the run's directory: all nodes must see it, so it cannot be
a temporary one. The folders of launches that ended well are removed again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from kiviat.launch import native
from kiviat.launch.attempt import Attempt, Ended, Setting, Sinks
from kiviat.launch.cores import oversubscribes
from kiviat.launch.interrupts import Interrupts
from kiviat.launch.leftovers import clean_dead
from kiviat.launch.native import Options
from kiviat.launch.probe import probe, ranks_to_probe
from kiviat.launch.toolchain import Toolchain
from kiviat.launch.transport import UNKNOWN
from kiviat.plan.case import Case
from kiviat.plan.plan import Plan
from kiviat.record import InputError, Record

_MAX_DEATHS = 3
_MAX_BARREN = 2
_LEAST_ROOM_BYTES = 64 * 1024


@dataclass(frozen=True)
class Progress:
    """`kind` is "cleaned", "launch", "case", "record" or "death"; `finished` of `total` records are there."""

    kind: str
    repetition: int
    world: int
    case: str | None
    finished: int
    total: int
    text: str | None = None


@dataclass(frozen=True)
class Outcome:
    """`signal` is the number of the signal that interrupted the run, or None if it is complete."""

    signal: int | None
    launches: int
    records: int
    failed: int
    skipped: int


def run_plan(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path,
    *,
    run_id: str,
    directory: Path,
    done: Collection[tuple[int, str]],
    on_launch: Callable[[dict[str, Any]], None],
    on_record: Callable[[Record], None],
    on_progress: Callable[[Progress], None] | None = None,
    options: Options | None = None,
    transport: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    first_launch: int = 0,
) -> Outcome:
    """Runs what is not `done`; returns when it is complete or interrupted. InputError ends it early."""
    run = _Run(
        plan, toolchain, binary, run_id, directory, on_launch, on_record, on_progress or _silent,
        options or Options(), transport, timeout_s, first_launch,
    )  # fmt: skip
    return run.execute(done)


def dry_run(plan: Plan, toolchain: Toolchain, binary: Path, options: Options | None = None) -> list[str]:
    """The commands that a run of the plan executes, as one types them into a shell."""
    lines = []
    for index, (_, world, _) in enumerate(_groups(plan, ())):
        folder = Path("launches") / str(index)
        settled = _settled(options or Options(), world)
        variables = native.environment(toolchain, settled, os.environ)
        lines.append(
            native.shell_line(variables, native.command(toolchain, world, _program(binary, folder), settled))
        )
    return lines


def _groups(plan: Plan, done: Collection[tuple[int, str]]) -> Iterator[tuple[int, int, list[Case]]]:
    """Repetition, size of the launch and its cases, in the order in which they run."""
    for repetition in range(plan.launches):
        todo = [case for case in plan.ordered(repetition) if (repetition, case.id) not in done]
        for world, cases in groupby(todo, key=lambda case: case.world):
            yield repetition, world, list(cases)


def _settled(options: Options, world: int) -> Options:
    return replace(options, oversubscribed=options.oversubscribed or oversubscribes(world))


def _program(binary: Path, folder: Path) -> list[str | Path]:
    return [binary, "--cases", folder / "cases.txt", "--out", folder / "events.jsonl"]


def _silent(progress: Progress) -> None:
    pass


class _Run:
    def __init__(
        self,
        plan: Plan,
        toolchain: Toolchain,
        binary: Path,
        run_id: str,
        directory: Path,
        on_launch: Callable[[dict[str, Any]], None],
        on_record: Callable[[Record], None],
        on_progress: Callable[[Progress], None],
        options: Options,
        transport: Mapping[str, Any] | None,
        timeout_s: float | None,
        first_launch: int,
    ) -> None:
        self._plan = plan
        self._toolchain = toolchain
        self._binary = binary.absolute()
        self._run_id = run_id
        self._resumable = f"what is finished is kept, and `kiviat run --resume {run_id}` goes on from there"
        self._directory = directory.absolute()
        self._launches_folder = self._directory / "launches"
        self._on_launch = on_launch
        self._on_record = on_record
        self._on_progress = on_progress
        self._options = options
        self._transport = transport or UNKNOWN
        self._probe = transport is None
        self._timeout_s = timeout_s
        self._first_launch = first_launch
        self._launches = 0
        self._outcomes: Counter[str] = Counter()
        self._total = 0
        self._finished = 0
        self._repetition = 0
        self._world = 0

    def execute(self, done: Collection[tuple[int, str]]) -> Outcome:
        groups = list(_groups(self._plan, done))
        self._total = self._plan.launches * len(self._plan.cases)
        self._finished = self._total - sum(len(cases) for _, _, cases in groups)
        for line in clean_dead():
            self._tell("cleaned", None, line)
        try:
            with Interrupts() as interrupts:
                if self._probe and groups:
                    self._transport = self._seen_transport(max(world for _, world, _ in groups), interrupts)
                for self._repetition, self._world, cases in groups:
                    if interrupts.signal is None:
                        self._group(cases, interrupts)
        except OSError as error:
            where = error.filename or self._directory
            raise InputError(f"cannot write {where}: {error.strerror}; {self._resumable}") from error
        return Outcome(
            signal=interrupts.signal,
            launches=self._launches,
            records=self._outcomes.total(),
            failed=self._outcomes["failed"],
            skipped=self._outcomes["skipped"],
        )

    def _seen_transport(self, largest: int, interrupts: Interrupts) -> Mapping[str, Any]:
        world = ranks_to_probe(largest)
        options = _settled(self._options, world)
        return probe(
            self._toolchain, self._binary, world, self._launches_folder / "probe", options, interrupts
        )

    def _group(self, cases: list[Case], interrupts: Interrupts) -> None:
        """Launches until each case has a record, or launching again is in vain."""
        deaths: Counter[str] = Counter()
        barren = 0
        while cases and interrupts.signal is None:
            self._refuse_full_disk()
            attempt = Attempt(self._setting(), cases, Sinks(self._on_launch, self._record, self._start))
            self._tell("launch", None)
            ended = attempt.run(interrupts)
            if ended.reason is None:
                return
            self._tell("death", ended.victim, ended.reason)
            barren = barren + 1 if len(ended.left) == len(cases) else 0
            if ended.victim:
                deaths[ended.victim.benchmark] += 1
            given_up = _given_up(ended, deaths, barren)
            if given_up:
                attempt.give_up(given_up, f"not tried again: {ended.reason}")
            cases = [case for case in ended.left if case not in given_up]

    def _setting(self) -> Setting:
        index = self._first_launch + self._launches
        self._launches += 1
        folder = self._launches_folder / str(index)
        options = _settled(self._options, self._world)
        return Setting(
            index=index,
            repetition=self._repetition,
            world=self._world,
            folder=folder,
            command=tuple(
                native.command(self._toolchain, self._world, _program(self._binary, folder), options)
            ),
            environment=native.environment(self._toolchain, options, os.environ),
            user_environment=native.that_matter(os.environ),
            toolchain=self._toolchain,
            transport=self._transport,
            oversubscribed=options.oversubscribed,
            run=self._run_id,
            plan=self._plan.hash,
            timeout_s=self._timeout_s,
        )

    def _refuse_full_disk(self) -> None:
        """A full disk kills one launch after the other, and none of them can say so."""
        self._directory.mkdir(parents=True, exist_ok=True)
        room = os.statvfs(self._directory)
        if room.f_bavail * room.f_frsize < _LEAST_ROOM_BYTES:
            raise InputError(f"the disk of {self._directory} is full; {self._resumable}")

    def _record(self, record: Record) -> None:
        self._on_record(record)
        self._outcomes[record.outcome] += 1
        self._finished += 1
        self._on_progress(
            Progress(
                "record",
                self._repetition,
                self._world,
                record.case,
                self._finished,
                self._total,
                record.outcome,
            )
        )

    def _start(self, case: Case) -> None:
        self._tell("case", case)

    def _tell(self, kind: str, case: Case | None, text: str | None = None) -> None:
        name = case.id if case else None
        self._on_progress(
            Progress(kind, self._repetition, self._world, name, self._finished, self._total, text)
        )


def _given_up(ended: Ended, deaths: Counter[str], barren: int) -> list[Case]:
    """Cases that it would be in vain to launch again."""
    if barren >= _MAX_BARREN:
        return ended.left
    return [case for case in ended.left if deaths[case.benchmark] >= _MAX_DEATHS]
