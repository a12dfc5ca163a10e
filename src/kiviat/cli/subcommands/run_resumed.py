"""Facts in the run.json of a run to be resumed.

Another user may have written them, so they are compared with this machine and the command line, and nothing
in them is executed.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from kiviat.cli.options.request import RunRequest, Where
from kiviat.cli.options.substrate import scheduler_to_ask
from kiviat.launch.mpi.toolchain import Toolchain, find_toolchain
from kiviat.launch.mpi.vendors import vendors
from kiviat.launch.programs.lammps_install import Lammps
from kiviat.launch.substrates.substrate import Substrate
from kiviat.plan import Plan, reload_plan
from kiviat.record import InputError
from kiviat.store import call_run, read_run
from kiviat.store.directory import OtherPlanError, refuse_complete
from kiviat.store.files import RUN_FILE

_TYPES = {name: get_args(hint)[0] for name, hint in get_type_hints(Where).items()}
_UNTRUSTED = "kiviat executes no command that only a run names"


def where_it_began(path: Path, given: Where) -> Where:
    """Return the substrate and placement with which a run began; it can continue nowhere else.

    Commands among them (a launcher, options of a scheduler) are used only if the command line repeats them.
    Raise InputError if it does not, or if it gives different ones.
    """
    _refuse_links(path)
    recorded = _where(path)
    for name, began in recorded.items():
        asked, option = getattr(given, name), f"--{name} {_shown(began)}"
        if asked is None and began is not None and _is_command(name, began):
            raise InputError(f"{path} began with {option}, and {_UNTRUSTED}: add {option} if you trust it")
        if asked not in (None, began):
            so = f"without --{name}" if began is None else f"with {option}"
            raise InputError(f"--resume continues as the run began, {so}; leave --{name} {_shown(asked)} out")
    return replace(given, **recorded)


def refuse_other_links(path: Path, substrate: Substrate) -> None:
    """Raise InputError if a run's emulated cluster has been created again with other nodes or links.

    Its results would be those of two networks. A run that `--machine` named does not tell what it began on.
    """
    if substrate.kind != "emulated":
        return
    began = read_run(path).machine.name
    if began.startswith("emulated:") and began != substrate.label:
        raise InputError(
            f"{path} began on {_shown(began)}, and its cluster is {substrate.label} now; create it again "
            "as it was, or start a new run"
        )


def _is_command(name: str, value: Any) -> bool:
    """True for values that may execute something.

    A scheduler's options can name a shell or libraries to load.

    Inside the scheduler's job they are not executed.
    """
    return name == "launcher" or (
        name == "on" and scheduler_to_ask(value) is not None and bool(value.partition(":")[2])
    )


def _where(path: Path) -> dict[str, Any]:
    """Return the values of the fields of `Where` in run.json, checked to have their types."""
    where = dict(read_run(path).where)
    file = path / RUN_FILE
    for name, value in where.items():
        if name not in _TYPES:
            raise InputError(f"{file}: where has {name!r}, which is none of {', '.join(_TYPES)}; take it out")
        if value is not None and type(value) is not _TYPES[name]:
            raise InputError(f"{file}: where.{name} is {value!r}, not of type {_TYPES[name].__name__}")
    return where


def _refuse_links(path: Path) -> None:
    """Raise InputError if the run's directory contains symbolic links.

    Files elsewhere would be changed through them.
    """
    for part in path.iterdir():
        if part.is_symlink():
            raise InputError(
                f"{part} is a symbolic link, but a resumed run writes in its own folder only; remove the link"
            )


def _shown(value: Any) -> str:
    """Return a value as typed on the command line, without control characters."""
    text = str(value)
    return shlex.quote(text) if text.isprintable() else repr(text)


def plan_of(path: Path, known: list[dict[str, Any]]) -> Plan:
    """Return the plan with which an interrupted run began.

    Raise OtherPlanError if this version of Kiviat does not accept it.
    """
    run = read_run(path)
    if run.plan is None:
        raise InputError(f"run {run.id} was ingested; there is nothing to resume")
    refuse_complete(run)
    try:
        return reload_plan(run.plan.definition, known, path / RUN_FILE)
    except InputError as error:
        raise OtherPlanError(str(error)) from error


def mpi_of(path: Path, mpi: str | None, lammps: Callable[[], Lammps | None]) -> str | None:
    """Return the MPI with which an interrupted run began, as `--mpi` names it; `mpi` if it had none.

    No other MPI may replace it. It must be found on this machine without the run's help, or be named by
    `mpi`. `lammps` finds the LAMMPS whose MPI it may be.
    """
    began = _toolchain_of(path)
    if began is None:
        return mpi
    name, wrapper = began
    if mpi is not None:
        found = find_toolchain(mpi)
        if found.name != name:
            raise InputError(
                f"--resume uses the MPI of the run, {_shown(name)}, but --mpi {mpi} is {found.name}; leave "
                "--mpi out"
            )
        return str(found.mpicxx)
    for found in _found_here(name, lammps):
        if found.name == name and _same_file(found.mpicxx, wrapper):
            return str(found.mpicxx)
    raise InputError(
        f"{path} began with {_shown(name)} of {_shown(wrapper)}, which kiviat does not find here, and "
        f"{_UNTRUSTED}: add --mpi {_shown(wrapper)} if you trust it"
    )


def _toolchain_of(path: Path) -> tuple[str, str] | None:
    """Return name with version, and the wrapper's path; None for a run that has not launched anything."""
    for index, launch in enumerate(read_run(path).launches):
        said = launch.toolchain
        name, wrapper = said.get("name"), said.get("mpicxx")
        if isinstance(name, str) and isinstance(wrapper, str):
            return name, wrapper
        if wrapper:
            raise InputError(
                f"{path / RUN_FILE}: launches[{index}].toolchain has no name and path of an MPI; "
                "it is damaged or kiviat did not write it"
            )
    return None


def _found_here(name: str, lammps: Callable[[], Lammps | None]) -> Iterator[Toolchain]:
    families = [family for family, vendor in vendors().items() if name.startswith(f"{vendor.title} ")]
    for mpi in (None, *families, "wheel"):
        with suppress(InputError):
            yield find_toolchain(mpi)
    with suppress(InputError):
        if found := lammps():
            yield found.toolchain


def _same_file(one: Path, other: str) -> bool:
    with suppress(OSError, ValueError):
        return str(one) == other or one.samefile(other)
    return False


def resume_command(path: Path, request: RunRequest) -> str:
    """Return the command that resumes the run, with the options that must be repeated."""
    words: list[str] = []
    given = {
        "launcher": request.where.launcher,
        "mpi": request.mpi,
        "lammps": request.lammps,
        "script": None if request.script is None else str(Path(request.script).absolute()),
        "timeout": None if request.timeout is None else f"{request.timeout:g}",
    }
    for name, value in given.items():
        words += [] if value is None else [f"--{name}", value]
    if request.where.on and _is_command("on", request.where.on):
        words += ["--on", request.where.on]
    return " ".join(["kiviat run --resume", call_run(path), *map(shlex.quote, words)])
