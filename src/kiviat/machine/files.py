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


def count(cpu_list: str | None) -> int:
    """How many CPUs a list such as "0-3,8" names."""
    total = 0
    for part in (cpu_list or "").split(","):
        first, _, last = part.partition("-")
        if first.strip().isdecimal():
            total += int(last or first) - int(first) + 1
    return total
