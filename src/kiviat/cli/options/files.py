"""What the name of a file on the command line means."""

from __future__ import annotations

from pathlib import Path

from kiviat.record import is_replaced


def names_profile(name: str) -> bool:
    """Whether a user means a profile, and not a run."""
    from kiviat.profile import is_profile  # what else reads files of runs need not wait for it

    path = Path(name)
    if path.is_file():
        return path.suffix == ".profile" or is_profile(path)
    return path.is_dir() and is_profile(path)


def names_trace(name: str) -> bool:
    """Whether a user means a trace, and not a run."""
    from kiviat.trace import is_trace  # likewise

    path = Path(name)
    return (path.suffix == ".trace" and path.is_file()) or (path.is_file() and is_trace(path))


def print_name(output: str | Path) -> None:
    """Of the file that was written; a device or a pipe holds nothing to look for."""
    if is_replaced(Path(output)):
        print(output)
