"""Small files of the kernel, which may be missing or refuse to be read."""

from __future__ import annotations

from pathlib import Path


def text(path: Path) -> str | None:
    """The content without its line end; None where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def integer(word: str | None) -> int | None:
    try:
        return None if word is None else int(word)
    except ValueError:
        return None


def members(cpu_list: str | None) -> frozenset[int]:
    """The CPUs that a list such as "0-3,8" names."""
    found: set[int] = set()
    for part in (cpu_list or "").split(","):
        first, _, last = part.partition("-")
        if first.strip().isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def count(cpu_list: str | None) -> int:
    """How many CPUs a list such as "0-3,8" names."""
    return len(members(cpu_list))
