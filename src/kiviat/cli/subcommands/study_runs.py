"""The runs of a study: each place and each part once, resumed if interrupted, read if complete."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kiviat.cli.options.request import PlanOptions, RunReplayRequest, RunRequest, StudyRequest, Where
from kiviat.cli.options.substrate import options_of, scheduler_to_ask, settled_shape, substrate_of
from kiviat.cli.subcommands.run_arrangements import Run
from kiviat.cli.subcommands.run_replay import replay_once
from kiviat.cli.subcommands.study_profiles import profile
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.substrates.substrate import Substrate
from kiviat.machine.host.description import host_name
from kiviat.record import InputError, NotStartedError, before_start, write_whole
from kiviat.record.plain import whole_number
from kiviat.record.scratch import scratch_folder
from kiviat.record.studies import StudyDefinition, StudyRun
from kiviat.record.units import counted
from kiviat.store import list_runs, read_run
from kiviat.store.directory import OtherPlanError
from kiviat.store.read import any_failed
from kiviat.trace import Trace, read_trace

TRACES = "traces"  # folder of recordings, in that of the study


LEAST_NODES = 2  # fewer share no network


@dataclass(frozen=True)
class StudyPlace:
    """A place where a study runs, as `kiviat run --on` takes it."""

    on: str
    substrate: Substrate

    @property
    def most(self) -> int | None:
        """The number of ranks that fit, None of a job, which is told."""
        if scheduler_to_ask(self.on):
            return None
        if self.substrate.machine:
            return self.substrate.machine.cores
        return self.substrate.default_ranks(options_of(Where(on=self.on)))

    @property
    def nodes(self) -> int | None:
        """The number of nodes, None where it is not known: of a job as seen from outside or by mpiexec."""
        if self.substrate.machine:
            return self.substrate.machine.nodes
        inside = self.substrate.is_this_machine or self.substrate.scheduler
        if scheduler_to_ask(self.on) or not inside:
            return None
        try:
            topology = self.substrate.topology()
        except InputError:  # the scheduler does not list them
            return None
        return len(topology.nodes) if topology else None

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return re.sub(r"[^A-Za-z0-9.=-]+", "-", self.on)


def places_of(study: StudyDefinition, request: StudyRequest) -> list[StudyPlace]:
    """Return the places of the command line, else the study's; none if only runs are given.

    Raise InputError for unknown places.
    """
    given = request.on or (() if request.with_runs else study.on or ("native",))
    names = [name for word in given for name in _split(word)]
    return [StudyPlace(name, substrate_of(name)) for name in dict.fromkeys(names)]


def _asked(request: StudyRequest) -> tuple[int | None, int | None]:
    """Return the most ranks and the ranks on a node of the command line; InputError for other text."""
    if request.ranks is None:
        return None, None
    text, where = settled_shape(request.ranks, Where())
    ranks = whole_number(text or "")
    if not ranks:
        raise InputError(
            f"-n {request.ranks!r}: give a number such as 64, or nodes x ranks on each such as 8x8"
        )
    return ranks, where.ppn


def _split(word: str) -> list[str]:
    """Return the modelled machines of "simulated:a,b" one by one; other places as they are."""
    kind, _, rest = word.partition(":")
    return [f"simulated:{name}" for name in rest.split(",")] if kind == "simulated" else [word]


@dataclass(frozen=True)
class Made:
    """A run of a study on a place: exit code, directories, and why results lack, "" if none does."""

    code: int = 0
    paths: tuple[Path, ...] = ()
    reason: str = ""


def ran(
    study: StudyDefinition,
    run: StudyRun,
    place: StudyPlace,
    request: StudyRequest,
    folder: Path,
    run_once: Run,
) -> Made:
    """Make one run of a study, or find it made."""
    simulated = place.substrate.machine is not None
    if run.where and simulated != (run.where == "simulated"):
        return Made()
    if request.quick and run.quick.get("run") is False:
        return Made(reason="left out by --quick")
    if simulated:
        request = replace(request, mpi=None)  # it is that of the real places; models have SimGrid's
    print(f"\n{place.on}: {run.name}", flush=True)
    ranks = _ranks(study, run, place, request)
    if ranks is None:
        apart = f" with {run.ppn} on a node" if run.ppn else ""
        given = f"; -n is {request.ranks}" if request.ranks else ""
        return _left_out(f"there is no room for {run.shape or f'several ranks{apart}'}{given}")
    where = _where(run, place, request)
    total, shaped = settled_shape(ranks, where)
    most = int(total or ranks)
    if run.traces and simulated:
        return _replayed(run, most, shaped, place, request, folder)
    cases = tuple(_room(run, None if run.shape else most))
    if not cases:
        return _left_out(f"there is no room for its numbers of ranks on {ranks}")
    text = _plan(study, replace(run, cases=cases), request)
    home = _home(folder, place, run.name, [text, ranks, where.ppn, run.place, run.bind], request)
    runs = list_runs(home)
    if there := _complete(runs):
        return _made(*there, run, shaped, request)
    asked = RunRequest(
        where=where,
        mpi=request.mpi,
        dry_run=request.dry_run,
        verbosity="normal" if request.dry_run else "quiet",
    )
    try:
        code, made = _resumed(runs[-1] if runs else None, asked, run_once) or _begun(
            text, f"{study.name}-{run.name}", ranks, home, asked, run_once
        )
    except NotStartedError as error:
        return _left_out(str(error))
    return _made(code, made, run, shaped, request)


def _left_out(reason: str) -> Made:
    print(f"left out: {reason}")
    return Made(reason=reason)


def _resumed(path: Path | None, asked: RunRequest, run_once: Run) -> tuple[int, Path | None] | None:
    """Continue the interrupted run, if any; None also if another version of Kiviat planned it."""
    if path is None:
        return None
    try:
        return run_once(replace(asked, resume=str(path)))
    except OtherPlanError as error:
        print(f"not continued: {error}")
        return None


def _begun(
    text: str, name: str, ranks: str, home: Path, asked: RunRequest, run_once: Run
) -> tuple[int, Path | None]:
    """Begin a run of the plan in `text`."""
    with scratch_folder() as draft:
        if not asked.dry_run:
            home.mkdir(parents=True, exist_ok=True)
        plan = (Path(draft) if asked.dry_run else home) / f"{name}.toml"
        write_whole(text, plan, "plan")
        what = PlanOptions(plan=str(plan), ranks=ranks)
        return run_once(replace(asked, what=what, output=str(home)))


def _complete(runs: Sequence[Path]) -> tuple[int, Path] | None:
    """Return exit code and path of the first complete run, None if all are interrupted."""
    for path in runs:
        if read_run(path).state == "complete":
            print(f"already there: {path}")
            return int(any_failed(path)), path
    return None


def _made(code: int, path: Path | None, run: StudyRun, where: Where, request: StudyRequest) -> Made:
    """Return what was made, after profiles of its programs, if the run has them."""
    if path is None:
        return Made(code)
    if not run.profile or request.dry_run:
        return Made(code, (path,))
    stored = read_run(path)
    if stored.clock == "simulated" or stored.state != "complete":
        return Made(code, (path,))
    return Made(code, (path,), profile(path, where, request.mpi))


def _where(run: StudyRun, place: StudyPlace, request: StudyRequest) -> Where:
    return Where(
        on=None if place.on == "native" else place.on,
        ppn=run.ppn or (None if run.shape else _asked(request)[1]),
        place=run.place,
        bind=_bind(run, place),
    )


def _home(folder: Path, place: StudyPlace, name: str, settings: list[Any], request: StudyRequest) -> Path:
    """Return the folder of runs that have these settings, on this machine and version of it."""
    seen = json.dumps([*settings, *_identity(place, request.mpi)])
    return folder / "runs" / place.folder / f"{name}-{hashlib.sha256(seen.encode()).hexdigest()[:8]}"


def _identity(place: StudyPlace, mpi: str | None) -> list[str | None]:
    """Return what tells machines of the same place apart.

    It is the version of a model, or else the MPI, the links of an emulated cluster, which may have been
    created again under its name, and the host, because hosts may share the folder. Jobs run on hosts of one
    machine.
    """
    substrate = place.substrate
    if substrate.machine:
        return [substrate.machine.hash, None]
    return ["", _mpi_name(mpi), substrate.label, host_name() if substrate.is_this_machine else None]


def _mpi_name(mpi: str | None) -> str | None:
    """Return name and version of the MPI; if it is missing, `mpi`, which the run then refuses."""
    try:
        return find_toolchain(mpi).name
    except InputError:
        return mpi


def _replayed(
    run: StudyRun, most: int, where: Where, place: StudyPlace, request: StudyRequest, folder: Path
) -> Made:
    """Replay the recordings of a run on up to `most` ranks, or find them replayed."""
    code, paths, reasons = 0, [], []
    for name in run.traces:
        reached, refused = 0, False
        larger: list[int] = []
        for file in sorted((folder / TRACES).glob(f"{name}-*.trace")):
            try:
                with before_start():
                    trace = read_trace(file)
                if trace.ranks > most:
                    larger.append(trace.ranks)
                    continue
                worst, path = _replayed_once(run, name, trace, where, place, request, folder)
            except NotStartedError as error:
                print(f"left out: {error}")
                reasons.append(str(error))
                refused = True
                continue
            code, reached = max(code, worst), max(reached, trace.ranks)
            paths += [path] if path else []
        if not reached and not refused and larger:
            reasons.append(f"{name} is recorded on {min(larger)} ranks or more, and the run has {most} there")
        elif not reached and not refused:
            missing = f"{TRACES}/{name}-*.trace in the study's folder"
            reasons.append(f"no recording {missing}, which `kiviat trace` makes on a real machine")
        elif 0 < reached < most:
            reasons.append(f"{name} is recorded on up to {counted(reached, 'rank')}, not beyond")
    for reason in reasons:
        print(f"cannot say: {reason}")
    return Made(code, tuple(paths), "; ".join(reasons))


def _replayed_once(
    run: StudyRun,
    name: str,
    trace: Trace,
    where: Where,
    place: StudyPlace,
    request: StudyRequest,
    folder: Path,
) -> tuple[int, Path | None]:
    settings = [trace.crc32, trace.ranks, where.ppn, run.place, run.bind]
    home = _home(folder, place, f"{name}-{trace.ranks}", settings, request)
    if there := _complete(list_runs(home)):
        return there
    if request.dry_run:
        print(f"would replay {trace.path}")
        return 0, None
    asked = RunReplayRequest(replay=str(trace.path), where=where, output=str(home), verbosity="quiet")
    return replay_once(asked, name)


def _bind(run: StudyRun, place: StudyPlace) -> str | None:
    """Return the binding; ranks of emulated nodes share the machine's cores, and are bound to none."""
    return None if place.substrate.shares_cores else run.bind


def _ranks(study: StudyDefinition, run: StudyRun, place: StudyPlace, request: StudyRequest) -> str | None:
    """Return the value of -n, or None if the machine has no room for the run.

    If the largest arrangement has too many nodes, all have as many times fewer, but at least two.
    """
    asked, _ = _asked(request)
    quick = run.quick.get("ranks", study.quick_ranks)
    if run.shape:
        nodes, per_node = map(int, run.shape.split("x"))
        if (scale := _scale(study, place)) > 1:
            nodes, rest = divmod(nodes, scale)
            if nodes < LEAST_NODES or rest:
                return None
        allowed = asked or (quick if request.quick else None)
        fits = (place.most is None or nodes * per_node <= place.most) and (
            allowed is None or nodes * per_node <= allowed
        )
        return f"{nodes}x{per_node}" if fits else None
    own = run.ranks or study.ranks
    wanted = min(asked, run.ranks or asked) if asked else min(quick, own) if request.quick else own
    # On real machines the command line may ask for more ranks than cores.
    if place.most is not None and (not asked or place.substrate.machine):
        wanted = min(wanted, place.most)
    if run.ppn:
        if nodes_there := place.nodes:
            wanted = min(wanted, nodes_there * run.ppn)
        wanted -= wanted % run.ppn
    return str(wanted) if wanted > 1 else None


def _scale(study: StudyDefinition, place: StudyPlace) -> int:
    """Return the power of two by which the study's arrangements exceed the nodes of a place."""
    most = max((int(run.shape.split("x")[0]) for run in study.runs if run.shape), default=1)
    scale, nodes = 1, place.nodes
    while nodes is not None and most > scale * nodes:
        scale *= 2
    return scale


def _room(run: StudyRun, most: int | None) -> Iterator[Mapping[str, Any]]:
    """Yield the cases without numbers of ranks above `most`."""
    for case in run.cases:
        listed = case.get("ranks", [])
        wanted = listed if isinstance(listed, list) else [listed]
        kept = [one for one in wanted if most is None or not isinstance(one, int) or one <= most]
        if kept or not wanted:
            yield {**case, "ranks": kept} if isinstance(listed, list) and wanted else case


def _plan(study: StudyDefinition, run: StudyRun, request: StudyRequest) -> str:
    """Return the plan of a run as TOML."""
    lines = [
        "# Written by kiviat study; the study's file is what to change.",
        'schema = "kiviat.plan/1"',
        f"name = {_toml(f'{study.name}-{run.name}')}",
        f"summary = {_toml(f'{study.name}, {run.name}')}",
        f"launches = {run.launches}",
        "seed = 1",
    ]
    if run.controls:
        lines.append(f"controls = {_toml(run.controls)}")
    for case in run.cases:
        group = dict(case)
        if request.quick:
            if "bytes" in group and "bytes" in run.quick:
                group["bytes"] = run.quick["bytes"]
            if "axes" in run.quick:
                group["axes"] = {**group.get("axes", {}), **run.quick["axes"]}
        if request.problem_class and "class" in group.get("axes", {}):
            group["axes"] = {**group["axes"], "class": request.problem_class.upper()}
        lines += ["", "[[cases]]", *(f"{name} = {_toml(value)}" for name, value in group.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)  # texts, numbers, true and false are alike in TOML
