"""The folder of runs, and the names of runs."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from kiviat.record import InputError
from kiviat.store.files import RUN_FILE, read_run, read_written_run
from kiviat.store.index import Index, RunSummary
from kiviat.store.lock import has_living_writer


def runs_home() -> Path:
    """Return the default folder of runs: KIVIAT_RUNS, or `runs` in the working directory."""
    return Path(os.environ.get("KIVIAT_RUNS") or "runs")


def list_runs(home: Path | None = None) -> list[Path]:
    """Return all runs below `home`, oldest first.

    Unreadable ones are reported on stderr and omitted.
    """
    return [path for path, _ in summaries(home)]


def summaries(home: Path | None = None) -> list[tuple[Path, RunSummary]]:
    """Return the paths of `list_runs` with a summary of each run; one whose writer died is interrupted."""
    home = home or runs_home()
    try:
        names = sorted(os.listdir(home))  # noqa: PTH208 (ten thousand names)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise InputError(f"{home} cannot be read: {error.strerror}") from None
    index, found = Index(home), []
    for name in names:
        path = home / name
        if (summary := _readable(path, index)) is not None:
            found.append((path, summary))
    index.write()
    return sorted(found, key=lambda one: (one[1].created, len(one[0].name), one[0].name))


def _readable(path: Path, index: Index) -> RunSummary | None:
    """Return a run's summary; None for folders without a run, and for unreadable runs, reported on stderr."""
    try:
        summary = index.summary(path.name, path / RUN_FILE, lambda: RunSummary.of(read_written_run(path)))
        if summary is not None and summary.state == "running" and not has_living_writer(path):
            return RunSummary.of(read_run(path))  # which may have finished meanwhile
        return summary
    except (FileNotFoundError, NotADirectoryError) as error:
        if not (path / RUN_FILE).is_symlink():
            return None
        reason = f"{path / RUN_FILE} cannot be read: {error.strerror}"
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
    if not name:  # the beginning of every identifier, but often an empty variable of a script
        raise InputError("the name of a run is empty; give one of `kiviat runs`, or last")
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
        raise InputError(
            f"there is no run {name!r}: {home.absolute()} holds none; `kiviat run` makes one, KIVIAT_RUNS "
            "names another folder"
        )
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
    """Return the word by which a user refers to the run: its path if it is outside the folder of runs."""
    return shlex.quote(path.name if path.parent == runs_home() else str(path))
