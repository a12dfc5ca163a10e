"""Files that are written whole, and what a name on the command line means."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kiviat.record import InputError


def names_profile(name: str) -> bool:
    """Whether a user means a profile, and not a run."""
    from kiviat.profile import is_profile  # what else reads files of runs need not wait for it

    path = Path(name)
    return (path.suffix == ".profile" and path.is_file()) or (path.exists() and is_profile(path))


def names_trace(name: str) -> bool:
    """Whether a user means a trace, and not a run."""
    from kiviat.trace import is_trace  # likewise

    path = Path(name)
    return (path.suffix == ".trace" and path.is_file()) or (path.is_file() and is_trace(path))


def write_whole(text: str, path: Path, what: str = "report") -> None:
    """Readers see the old file or the new one, never a part."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise InputError(
            f"the {what} cannot be written to {path}: {error.strerror}; name another file"
        ) from None
