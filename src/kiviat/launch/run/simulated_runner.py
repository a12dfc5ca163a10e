"""Simulations: runs independent cases in parallel on the cores of this machine, and none of them twice.

Simulations are deterministic. So results are stored in the user's cache under a hash of everything they
depend on: platform, SMPI's options, placement of the ranks, program, case, and variables of the simulator.
Skipped cases are not stored, because this machine can be the reason, such as its memory or its libraries.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from kiviat.launch.mpi import mpiexec
from kiviat.launch.mpi.build import build
from kiviat.launch.mpi.mpiexec import LauncherOptions
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import SIMULATOR
from kiviat.launch.process.signals import Interrupted, Interrupts
from kiviat.launch.run.attempt import Attempt, LaunchCallbacks
from kiviat.launch.run.launch_record import described, now
from kiviat.launch.run.outcome import Progress, RunResult
from kiviat.launch.run.program import KiviatBench
from kiviat.launch.substrates.cores import available_cores
from kiviat.launch.substrates.launch_spec import LaunchSpec
from kiviat.launch.substrates.simulated import Simulated
from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine.modelled.machine import Machine
from kiviat.plan.case import Case
from kiviat.plan.plan import Plan
from kiviat.plan.watts import Watts
from kiviat.record import InputError, Record
from kiviat.record.cache import cache_folder
from kiviat.record.case_id import case_id
from kiviat.record.reach import least_world
from kiviat.record.scratch import scratch_folder
from kiviat.record.types import Scalar

_LOOK_S = 0.2
# Facts about the program, which are stored with a result.
_KEPT = ("mpi", "mpi_version", "library", "compiler", "flags", "world", "clock_cost_s")
# Variables that change what is simulated (docs/reference/environment.md).
_VARIABLES = ("KIVIAT_VERIFY", "KIVIAT_SOLVER")


@dataclass(frozen=True)
class SimulatedCase:
    """One case on a machine. `place`, `per_node` and `bind` are arguments of kiviat.placement.place."""

    machine: Machine
    benchmark: str
    ranks: int
    bytes: int | None = None
    axes: Mapping[str, Scalar] = field(default_factory=dict)
    place: str | None = None
    per_node: int | None = None
    bind: str | None = None

    def case(self) -> Case:
        """Return the case as in plans: one call of the benchmark, in the smallest launch that fits."""
        identity = case_id(self.benchmark, self.ranks, self.bytes, self.axes)
        controls: dict[str, Scalar] = {"mode": "once", "seed": 1}
        if power := self.machine.number("power.node"):
            controls["watts"] = Watts(power, "node").control()
        world = least_world(self.ranks, self.axes)
        return Case(identity, self.benchmark, self.ranks, self.bytes, dict(self.axes), controls, world)


def simulate(asked: Sequence[SimulatedCase], tell: Callable[[str], None] = lambda text: None) -> list[Record]:
    """Return the records, in the order of `asked`; `tell` receives a line for each completed case.

    Raise InputError if a case cannot be placed. A failed case has a record with its reason.
    """
    toolchain = find_toolchain(SIMULATOR)
    binary = build(toolchain, tell=tell)
    jobs: list[_Job] = []
    places: dict[tuple[int, str], list[int]] = {}
    for number, (first, world, indices) in enumerate(_alike(asked)):
        cases: dict[str, Case] = {}
        for index in indices:
            case = asked[index].case()
            cases[case.id] = case
            places.setdefault((number, case.id), []).append(index)
        options = LauncherOptions(place=first.place, per_node=first.per_node, bind=first.bind)
        jobs.append(_Job(number, Simulated(first.machine), options, world, tuple(cases.values())))
    records: list[Record | None] = [None] * len(asked)

    def keep(job: _Job, record: Record) -> None:
        for index in places[job.number, record.case]:
            records[index] = record
        tell(f"{job.substrate.label}: {record.case}")

    with scratch_folder() as folder, Interrupts() as interrupts:
        work = _Work(
            toolchain, binary, Path(folder), "simulate", "", None, lambda launch: None, keep, interrupts
        )
        work.run(jobs)
        if interrupts.signal is not None:
            raise Interrupted(interrupts.signal)
    return [record for record in records if record is not None]


def simulate_plan(
    plan: Plan,
    toolchain: Toolchain,
    binary: Path,
    *,
    run_id: str,
    directory: Path,
    done: Collection[tuple[int, str]],
    on_launch: Callable[[dict[str, Any]], None],
    on_record: Callable[[Record], None],
    sync: Callable[[], None],
    on_progress: Callable[[Progress], None],
    options: LauncherOptions,
    timeout_s: float | None,
    first_launch: int,
    substrate: Substrate,
) -> RunResult:
    """Like `runner.run_plan`, for a modelled machine; repetitions are omitted, because all would be equal."""
    todo = [case for case in plan.ordered(0) if (0, case.id) not in done]
    todo.sort(key=lambda case: case.world)
    jobs = [
        _Job(number, substrate, options, world, tuple(cases))
        for number, (world, cases) in enumerate(groupby(todo, key=lambda case: case.world))
    ]
    total = len(plan.cases)
    outcomes: Counter[str] = Counter()

    def keep(job: _Job, record: Record) -> None:
        on_record(record)
        sync()
        outcomes[record.outcome] += 1
        finished = total - len(todo) + outcomes.total()
        on_progress(Progress("record", 0, job.world, record.case, finished, total, record.outcome))

    with Interrupts() as interrupts:
        folder = directory.absolute() / "launches"
        work = _Work(
            toolchain,
            binary.absolute(),
            folder,
            run_id,
            plan.hash,
            timeout_s,
            on_launch,
            keep,
            interrupts,
            first_launch,
        )
        work.run(jobs)
    launches = work.next_launch - first_launch
    return RunResult(interrupts.signal, launches, outcomes.total(), outcomes["failed"], outcomes["skipped"])


@dataclass(frozen=True)
class _Job:
    """Cases that a launch of `world` ranks can run."""

    number: int
    substrate: Substrate
    options: LauncherOptions
    world: int
    cases: tuple[Case, ...]

    def size(self) -> tuple[int, float, int]:
        """Sort key that is greater for jobs estimated to take longer."""
        memory = [case.axes.get("memory") for case in self.cases]
        most = max((bytes for bytes in memory if isinstance(bytes, int)), default=0)
        return self.world, max(case.nominal_s for case in self.cases), most

    def parts(self) -> Iterator[_Job]:
        """Yield a part for each study, which takes long, and for each benchmark with all its sizes."""
        key = lambda case: (case.benchmark, case.threads, case.id if case.nominal_s else "")  # noqa: E731
        for _, cases in groupby(sorted(self.cases, key=key), key=key):
            yield replace(self, cases=tuple(cases))


@dataclass
class _Work:
    toolchain: Toolchain
    binary: Path
    folder: Path
    run_id: str
    plan_hash: str
    timeout_s: float | None
    on_launch: Callable[[dict[str, Any]], None]
    on_record: Callable[[_Job, Record], None]
    interrupts: Interrupts
    next_launch: int = 0
    processes: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, jobs: Iterable[_Job]) -> None:
        """Run the longest parts first, so that none of them remains for a single core at the end."""
        parts = [part for job in jobs for part in self._uncached(job).parts()]
        parts.sort(key=_Job.size, reverse=True)
        cores = available_cores()
        # Several processes can share a study (native/platform/work_share.hpp); many parts occupy the cores
        # anyway.
        self.processes = max(1, cores // max(1, len(parts)))
        with ThreadPoolExecutor(cores) as pool:
            waiting = [pool.submit(self._simulate, part) for part in parts]
            try:
                _wait(waiting)
            except BaseException:
                self.interrupts.signal = self.interrupts.signal or 15  # tells the other threads to end
                raise

    def _uncached(self, job: _Job) -> _Job:
        """Report the records of cached cases; return the job with the others."""
        start = self._start(job, Path("x"))
        left: list[Case] = []
        spec: LaunchSpec | None = None
        for case in job.cases:
            kept = _kept(_key(start, self.binary, case))
            if kept is None:
                left.append(case)
                continue
            if spec is None:
                spec = self._spec(job, start)
                launch = described(spec) | kept["launch"] | {"ended": now(), "outcome": "ok"}
                launch["reason"] = (
                    "cached result of an earlier simulation of the same machine, program and case"
                )
                self.on_launch(launch)
            ours = {
                "run": self.run_id,
                "plan": self.plan_hash or None,
                "launch": spec.index,
                "axes": {**kept["record"]["axes"], **case.axes},
            }
            self.on_record(job, Record.from_json({**kept["record"], **ours}))
        return replace(job, cases=tuple(left))

    def _simulate(self, part: _Job) -> None:
        """Launch until each case has a record.

        A failed simulation is not repeated, as it would fail again.
        """
        left = list(part.cases)
        said: dict[str, Any] = {}
        while left and self.interrupts.signal is None:
            with self.lock:
                spec = self._spec(part, None)
                self.on_launch(described(spec))

            def launched(launch: dict[str, Any]) -> None:
                said.update({name: launch[name] for name in _KEPT})
                with self.lock:
                    self.on_launch(launch)

            def record(found: Record, start: LaunchSpec = spec) -> None:
                with self.lock:
                    self.on_record(part, found)
                if found.outcome == "ok":
                    case = next(case for case in part.cases if case.id == found.case)
                    _keep(_key(start, self.binary, case), {"record": found.to_json(), "launch": dict(said)})

            # Each record is synced at once.
            callbacks = LaunchCallbacks(launched, record, on_start=lambda case: None, sync=lambda: None)
            attempt = Attempt(spec, KiviatBench(self.binary), left, callbacks)
            ended = attempt.run(self.interrupts)
            if ended.reason is not None and ended.current is None:
                attempt.give_up(ended.left, f"not tried again: {ended.reason}")
                return
            left = ended.left

    def _start(self, job: _Job, folder: Path) -> LaunchSpec:
        return job.substrate.start(self.toolchain, job.world, folder, job.options)

    def _spec(self, job: _Job, start: LaunchSpec | None) -> LaunchSpec:
        folder = self.folder / str(self.next_launch)
        start = start or self._start(job, folder)
        threads = any(case.threads for case in job.cases)
        spec = replace(
            start.of(mpiexec.program(self.binary, folder, threads), KIVIAT_PROCESSES=str(self.processes)),
            folder=folder,
            timeout_s=self.timeout_s,
            run=self.run_id,
            plan=self.plan_hash,
            index=self.next_launch,
        )
        self.next_launch += 1
        return spec


def _wait(futures: Sequence[Future[None]]) -> None:
    """Wait for the threads; the main thread must run now and then to receive signals."""
    left = set(futures)
    while left:
        done, left = wait(left, _LOOK_S, FIRST_EXCEPTION)
        for future in done:
            future.result()


def _alike(asked: Sequence[SimulatedCase]) -> list[tuple[SimulatedCase, int, list[int]]]:
    """Group the cases that one launch can run.

    Return for each group one case, the launch's size, and the group's positions in `asked`. Machines are
    compared by identity.
    """
    groups: dict[tuple[int, str | None, int | None, str | None, int], list[int]] = {}
    for index, one in enumerate(asked):
        key = (id(one.machine), one.place, one.per_node, one.bind, one.case().world)
        groups.setdefault(key, []).append(index)
    return [(asked[indices[0]], key[4], indices) for key, indices in groups.items()]


def _key(start: LaunchSpec, binary: Path, case: Case) -> str:
    """Return a hash of everything that the result depends on.

    The program's folder name stands for its sources and its SimGrid.
    """
    options = [word for word in start.launcher if word.startswith("--cfg")]
    environment = {**os.environ, **start.environment}
    variables = [f"{name}={environment[name]}" for name in _VARIABLES if environment.get(name)]
    facts = [*options, *variables, *(f"{name}\n{text}" for name, text in sorted(start.files.items()))]
    return hashlib.sha256("\n".join([binary.parent.name, case.line(), *facts]).encode()).hexdigest()


def _folder(key: str) -> Path:
    return cache_folder() / "simulated" / key[:2]


def _kept(key: str) -> dict[str, Any] | None:
    try:
        kept: dict[str, Any] = json.loads((_folder(key) / f"{key}.json").read_text(encoding="utf-8"))
        record = Record.from_json(kept["record"])
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return None
    return kept if record.outcome == "ok" else None  # earlier versions stored skipped cases


def _keep(key: str, result: Mapping[str, Any]) -> None:
    """Store a result in the cache; write errors are ignored."""
    with suppress(OSError):
        _folder(key).mkdir(parents=True, exist_ok=True)
        path = _folder(key) / f"{key}.json"
        draft = path.with_suffix(f".{threading.get_ident()}")
        draft.write_text(json.dumps(result, separators=(",", ":")), encoding="utf-8")
        draft.replace(path)
