"""Where runs live, and how users name them."""

from __future__ import annotations

import os
from pathlib import Path

from kiviat.record import InputError
from kiviat.store.files import RUN_FILE, read_run


def runs_home() -> Path:
    return Path(os.environ.get("KIVIAT_RUNS") or "runs")


def list_runs(home: Path | None = None) -> list[Path]:
    """All runs below `home`, oldest first."""
    home = home or runs_home()
    try:
        found = [path.parent for path in home.glob(f"*/{RUN_FILE}")]
    except OSError as error:
        raise InputError(f"{home} cannot be read: {error.strerror}") from None
    return sorted(found, key=_created)


def _created(path: Path) -> tuple[str, int, str]:
    try:
        created = read_run(path)["created"]
    except InputError:
        created = ""
    return created, len(path.name), path.name


def find_run(name: str, home: Path | None = None) -> Path:
    """The run called `name`: an identifier or the unique beginning of one, a path, or "last"."""
    home = home or runs_home()
    if (Path(name) / RUN_FILE).is_file():
        return Path(name)
    if Path(name).name == RUN_FILE and Path(name).is_file():
        return Path(name).parent
    runs = list_runs(home)
    if not any(name == "last" or path.name.startswith(name) for path in runs) and Path(name).exists():
        raise InputError(
            f"{name} is there but no run: a run is a folder with {RUN_FILE}; `kiviat runs` lists them"
        )
    if not runs:
        raise InputError(f"there is no run {name!r}: {home} holds none; `kiviat run` makes one")
    if name == "last":
        return runs[-1]
    exact = [path for path in runs if path.name == name]
    matches = exact or [path for path in runs if path.name.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        some = ", ".join(path.name for path in matches[:4])
        raise InputError(f"run {name!r} is not unique in {home}: {some}; give more of the name")
    raise InputError(f"there is no run {name!r} in {home}; `kiviat runs` lists them")


def call_run(path: Path) -> str:
    """What to type for the run: its name, or its path where it is not with the others."""
    return path.name if path.parent == runs_home() else str(path)
