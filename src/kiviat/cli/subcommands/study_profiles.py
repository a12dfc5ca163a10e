"""Profiles of a study's programs: how much they communicate within nodes and between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from kiviat.cli.options.native_program import built
from kiviat.cli.options.request import Where
from kiviat.cli.options.substrate import options_of, scheduler_to_ask, substrate_of
from kiviat.launch.mpi.toolchain import find_toolchain
from kiviat.launch.process.signals import interrupt
from kiviat.launch.tools.profile import TOOL, profiled
from kiviat.launch.tools.user_command import on
from kiviat.profile import Profile, read_profile
from kiviat.record import InputError, Row
from kiviat.record.run import Run
from kiviat.store.read import load

_FOLDER = "profiles"  # in the folder of a run, a file for each benchmark
_SUFFIX = ".profile"


def profile(path: Path, where: Where, mpi: str | None) -> str:
    """Profile each program of a complete run once, placed as there; return why one lacks, "" if none does.

    Programs that have a profile are not profiled again.
    """
    _, rows, _ = load(path)
    lacking = {
        row.benchmark: row
        for row in rows
        if row.outcome == "ok" and row.metric == "rate" and not _file(path, row.benchmark).exists()
    }
    if not lacking:
        return ""
    if scheduler_to_ask(where.on):
        return "programs are profiled only within a job: start `kiviat study` there"
    try:
        return "; ".join(filter(None, _each(path, lacking.values(), where, mpi)))
    except InputError as error:
        return f"no profile: {error}"


def _each(path: Path, rows: Iterable[Row], where: Where, mpi: str | None) -> list[str]:
    toolchain = find_toolchain(mpi)
    program = built(toolchain)
    library = TOOL.library(toolchain)
    reasons = []
    (path / _FOLDER).mkdir(exist_ok=True)
    with (
        substrate_of(where.on) as substrate,
        TemporaryDirectory(prefix="kiviat-", dir=path / _FOLDER) as scratch,
    ):
        cases, events = (Path(scratch, name) for name in ("cases.txt", "events.jsonl"))
        for row in rows:
            axes = "".join(f" {name}={value}" for name, value in row.axes.items())
            cases.write_text(f"{row.benchmark} {row.benchmark} ranks={row.ranks}{axes}\n")
            launcher = [str(toolchain.mpiexec), "-n", str(row.ranks)]
            words = [*launcher, str(program), "--cases", str(cases), "--out", str(events)]
            starting = on(substrate, toolchain, words, options_of(where))
            file = _file(path, row.benchmark)
            done = profiled(starting, library, file)
            if done.signal is not None or done.status != 0:
                file.unlink(missing_ok=True)  # of a program that was cut off, or that crashed
            if done.signal is not None:
                interrupt(done.signal)
            if done.status != 0 or not done.profiles:
                why = f"it ended with {done.status}" if done.status else "no MPI call of it was seen"
                reasons.append(f"no profile of {row.benchmark}: {why}")
            events.unlink(missing_ok=True)
    return reasons


def _file(path: Path, benchmark: str) -> Path:
    return path / _FOLDER / f"{benchmark}{_SUFFIX}"


def profiles_of(runs: Iterable[tuple[Run, Path]]) -> Mapping[tuple[str, str], Profile]:
    """Return the profiles in the folders of runs, by run and benchmark."""
    return {
        (run.id, file.stem): read_profile(file)
        for run, path in runs
        for file in sorted((path / _FOLDER).glob(f"*{_SUFFIX}"))
    }
