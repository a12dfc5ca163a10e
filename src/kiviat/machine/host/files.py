"""Small kernel files, which may be missing or unreadable."""

from __future__ import annotations

from pathlib import Path


def text(path: Path) -> str | None:
    """Return the stripped content; None if the file is missing, empty or unreadable."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def integer(word: str | None) -> int | None:
    """Return the integer that a word denotes; None for other words and for None."""
    try:
        return None if word is None else int(word)
    except ValueError:
        return None


def members(cpu_list: str | None) -> frozenset[int]:
    """Return the CPU numbers in a list such as "0-3,8"."""
    cpus: set[int] = set()
    for part in (cpu_list or "").split(","):
        first, _, last = part.partition("-")
        if first.strip().isdecimal():
            cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def count(cpu_list: str | None) -> int:
    """Return the number of CPUs in a list such as "0-3,8"."""
    return len(members(cpu_list))
