"""The cache of builds, and removal of interrupted and old ones.

A build named KIND-VERSION-HASH has a folder of that name with its products, a lock file and, during the
build, a working folder (`.work`).
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kiviat.record import InputError
from kiviat.record.units import counted

WORK = ".work"
# Maximum number of versions of one product for one MPI in the cache.
_MOST = 8
_STALE_S = 7 * 86400.0
_NAME = re.compile(r"(.+-[0-9a-f]{16})(\.\w+)?")
_used: dict[Path, int] = {}


def refuse_torn(built: Path, by: str) -> None:
    """Raise InputError if the path of a product has a blank or colon, where `by` ends names of files."""
    if any(character.isspace() or character == ":" for character in str(built)):
        raise InputError(
            f"{built} contains a blank or colon, which {by} cannot handle; set XDG_CACHE_HOME to another "
            "folder"
        )


@contextmanager
def locked(home: Path, tell: Callable[[str], None] | None = None) -> Iterator[bool]:
    """Lock `home`, waiting for other processes with a message to `tell`; yield whether it is locked.

    Some network file systems have no locks; builds then do not wait, and the last one counts.
    """
    with home.with_name(f"{home.name}.lock").open("w") as file:
        held = _flocked(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not held and tell:
            tell(f"another kiviat may be building {home.name}; waiting for it")
            held = _flocked(file.fileno(), fcntl.LOCK_EX)
        yield held


def use(home: Path) -> None:
    """Protect a build from being removed while this process lives."""
    with suppress(OSError):
        os.utime(home)
        if home not in _used:
            _used[home] = os.open(home, os.O_RDONLY | os.O_CLOEXEC)
            _flocked(_used[home], fcntl.LOCK_SH)


def clean(home: Path, kind: str, tell: Callable[[str], None]) -> None:
    """Remove interrupted builds, of this kind or a week old, and all but the latest builds of this kind.

    Keeps builds that a kiviat uses, and everything of `home`, whose lock the caller holds.
    """
    before, freed, count = list[Path](), 0.0, 0
    for path in [path for path in home.parent.iterdir() if path.is_dir()]:
        match = _NAME.fullmatch(path.name)
        if match is None or match[1] == home.name:
            continue
        alike = path.name.startswith(kind)
        if match[2] is None:
            before += [path] if alike else []
        elif alike or _age_s(path) > _STALE_S:
            with locked(path.with_name(match[1])) as held:
                removed = _removed(path) if held else None
            freed, count = freed + (removed or 0.0), count + (removed is not None)
    for path in sorted(before, key=_age_s)[_MOST - 1 :]:
        with _unused(path) as held:
            removed = _removed(path) if held else None
        freed, count = freed + (removed or 0.0), count + (removed is not None)
    if count:
        tell(f"removed {counted(count, 'old build')}, {freed / 1e6:.0f} MB, from {home.parent}")


def _removed(folder: Path) -> float:
    """Remove a folder; return its size in bytes."""
    freed = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder, ignore_errors=True)
    return float(freed)


@contextmanager
def _unused(home: Path) -> Iterator[bool]:
    try:
        descriptor = os.open(home, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        yield _flocked(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def _flocked(descriptor: int, how: int) -> bool:
    with suppress(OSError):
        fcntl.flock(descriptor, how)
        return True
    return False


def _age_s(path: Path) -> float:
    with suppress(OSError):
        return time.time() - path.stat().st_mtime
    return 0.0
