"""The folder of runs, and the names of runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kiviat.record import InputError
from kiviat.record.run import Run
from kiviat.store.files import RUN_FILE, read_run

_T = TypeVar("_T")


def runs_home() -> Path:
    """Return the default folder of runs: KIVIAT_RUNS, or `runs` in the working directory."""
    return Path(os.environ.get("KIVIAT_RUNS") or "runs")


def list_runs(home: Path | None = None) -> list[Path]:
    """Return all runs below `home`, oldest first.

    Unreadable ones are reported on stderr and omitted.
    """
    return [path for path, _ in each_run(lambda run: None, home)]


def each_run(take: Callable[[Run], _T], home: Path | None = None) -> list[tuple[Path, _T]]:
    """Return the paths of `list_runs` with `take(run)` of each.

    Each run.json is read once and not kept in memory.
    """
    home = home or runs_home()
    try:
        folders = sorted(home.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InputError(f"{home} cannot be read: {error.strerror}") from None
    found = []
    for path in folders:
        if (run := _readable(path)) is not None:
            found.append((run.created, len(path.name), path.name, path, take(run)))
    return [(path, taken) for *_, path, taken in sorted(found, key=lambda one: one[:3])]


def _readable(path: Path) -> Run | None:
    """Return a run; None for folders without a run, and for unreadable runs, which are reported on stderr."""
    try:
        (path / RUN_FILE).lstat()
        return read_run(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"{path} cannot be read: {error.strerror}"
    except InputError as error:
        reason = str(error)
    words = " ".join(reason.split()).encode("utf-8", "backslashreplace").decode()  # names may not be UTF-8
    print(f"kiviat: left out: {words}", file=sys.stderr)
    return None


def find_run(name: str, home: Path | None = None) -> Path:
    """Return the path of the run called `name`: an identifier or unique prefix, a path, or "last"."""
    home = home or runs_home()
    if (Path(name) / RUN_FILE).is_file():
        return Path(name)
    if Path(name).name == RUN_FILE and Path(name).is_file():
        return Path(name).parent
    if name != "last" and name == Path(name).name and (home / name / RUN_FILE).is_file():
        return home / name
    runs = list_runs(home)
    if not any(name == "last" or path.name.startswith(name) for path in runs) and Path(name).exists():
        raise InputError(
            f"{name} exists but is not a run: a run is a folder with {RUN_FILE}; `kiviat runs` lists them"
        )
    if not runs:
        raise InputError(f"there is no run {name!r}: {home} holds none; `kiviat run` makes one")
    if name == "last":
        return runs[-1]
    matches = [path for path in runs if path.name.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        some = ", ".join(path.name for path in matches[:4])
        raise InputError(f"run {name!r} is not unique in {home}: {some}; give more of the name")
    raise InputError(f"there is no run {name!r} in {home}; `kiviat runs` lists them")


def call_run(path: Path) -> str:
    """Return the name by which a user can refer to the run: its path if it is outside the folder of runs."""
    return path.name if path.parent == runs_home() else str(path)
