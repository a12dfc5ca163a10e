"""The cache of builds: what is in use there, what interrupted builds left, and what is old enough to go.

A build has a name, KIND-VERSION-HASH, under that name a folder with what was built, a lock for those who
build it, and while they do a folder to work in (`.work`).
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

from kiviat.record.units import counted

WORK = ".work"
# Versions of one product for one MPI that can share a cache.
_MOST = 8
_STALE_S = 7 * 86400.0
_NAME = re.compile(r"(.+-[0-9a-f]{16})(\.\w+)?")
_used: dict[Path, int] = {}


@contextmanager
def locked(home: Path, tell: Callable[[str], None] | None = None) -> Iterator[bool]:
    """Yield True if no other process is building `home`; otherwise wait for it, and say so through `tell`.

    Some network file systems have no locks; builds then do not wait, and the last one counts.
    """
    with home.with_name(f"{home.name}.lock").open("w") as file:
        held = _flocked(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not held and tell:
            tell(f"another kiviat may be building {home.name}; waiting for it")
            held = _flocked(file.fileno(), fcntl.LOCK_EX)
        yield held


def use(home: Path) -> None:
    """Keeps what was built from being removed while this process lives."""
    with suppress(OSError):
        os.utime(home)
        if home not in _used:
            _used[home] = os.open(home, os.O_RDONLY | os.O_CLOEXEC)
            _flocked(_used[home], fcntl.LOCK_SH)


def clean(home: Path, kind: str, tell: Callable[[str], None]) -> None:
    """Removes interrupted builds, of this kind or a week old, and all but the latest builds of this kind.

    What a kiviat uses stays, and so does what belongs to `home`, whose lock the caller holds.
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
    """Its bytes."""
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
