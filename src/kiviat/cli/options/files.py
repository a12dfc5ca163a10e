"""Recognises names of profiles and traces on the command line, and prints names of outputs."""

from __future__ import annotations

from pathlib import Path

from kiviat.record import is_replaced


def names_profile(name: str) -> bool:
    """True if the name is that of a profile, not of a run."""
    from kiviat.profile import is_profile  # imported here, because it takes time that few commands need

    path = Path(name)
    if path.is_file():
        return path.suffix == ".profile" or is_profile(path)
    return path.is_dir() and is_profile(path)


def names_trace(name: str) -> bool:
    """True if the name is that of a trace, not of a run."""
    from kiviat.trace import is_trace  # imported here for the same reason

    path = Path(name)
    return path.is_file() and (path.suffix == ".trace" or is_trace(path))


def print_name(output: str | Path) -> None:
    """Print the name of a written file, but not of a device or pipe, which keeps nothing."""
    if is_replaced(Path(output)):
        print(output)
